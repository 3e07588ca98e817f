"""How much the embedded store adds to the bare engine, and how it compares with NumPy.

    uv run python tests/benchmarks/bench_store.py

Everything is timed in one run, the best of some rounds, since machines differ and only the
ratios count. The bare engine is called as its documentation shows: points and queries hold rows
of a NumPy array, 512 points or 128 queries at a time, one shard that stays open.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import qdrant_edge as qdrant
from numpy.typing import NDArray

from recdemo.store import Batch, Candidates, CollectionInfo
from recdemo.store.edge import EdgeStore

N_ITEMS, DIMENSION, K, ROUNDS = 3706, 1024, 101, 3

Vectors = NDArray[np.float32]


def main() -> None:
    vectors = np.random.default_rng(0).standard_normal((N_ITEMS, DIMENSION), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        measure(vectors, Path(folder))


def measure(vectors: Vectors, folder: Path) -> None:
    store = EdgeStore(folder / "store")
    rows = np.arange(N_ITEMS, dtype=np.int32)
    names = iter(range(10 * ROUNDS))
    some = Candidates(rows % 22 > 0)  # 95 % may be found, as in MovieLens 1M
    few = Candidates(rows % 22 == 0)

    bare_load = best(lambda: bare_upsert(folder / f"bare-{next(names)}", vectors))
    load = best(lambda: store.build(info(f"x{next(names)}"), batches(vectors)))
    print(f"{N_ITEMS} x {DIMENSION}, k = {K}, best of {ROUNDS}")
    print(f"bare upsert       {bare_load:6.3f} s")
    print(f"build             {load:6.3f} s   {load / bare_load:.2f} x the bare upsert (budget 2)")

    store.build(info("x"), batches(vectors))
    gemm = best(lambda: numpy_neighbors(vectors))
    with closing(qdrant.EdgeShard.load(str(folder / "bare-0"))) as shard:
        bare = best(lambda: bare_query(shard, vectors))
    print(f"bare queries      {bare:6.3f} s")
    print(f"NumPy             {gemm:6.3f} s")
    for label, candidates in (("all", None), ("95 %", some), ("5 %", few)):

        def ask(candidates: Candidates | None = candidates) -> None:
            store.neighbors("x", rows, K, candidates=candidates)

        took = best(ask)
        print(
            f"neighbors, {label:5}  {took:6.3f} s   {took / bare:.2f} x the bare queries "
            f"(budget 1.3), {took / gemm:.2f} x NumPy (budget 4)"
        )


def best(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def info(name: str) -> CollectionInfo:
    return CollectionInfo(
        name=name,
        dataset="random",
        text="none",
        model="baseline:random",
        prefix="",
        dimension=DIMENSION,
        how="native",
        count=N_ITEMS,
        n_items=N_ITEMS,
        fingerprint="0" * 64,
        texts_hash="0" * 64,
    )


def batches(vectors: Vectors) -> Iterator[Batch]:
    for start in range(0, N_ITEMS, 1024):
        rows = np.arange(start, min(start + 1024, N_ITEMS), dtype=np.int32)
        payloads = tuple({"item_id": str(row)} for row in rows.tolist())
        yield Batch(rows, vectors[start : start + 1024], payloads)


def bare_upsert(path: Path, vectors: Vectors) -> None:
    size = qdrant.EdgeVectorParams(size=DIMENSION, distance=qdrant.Distance.Euclid)
    config = qdrant.EdgeConfig(vectors=size, wal_enabled=False)
    with closing(qdrant.EdgeShard.create(str(path), config)) as shard:
        for start in range(0, N_ITEMS, 512):
            points = [
                qdrant.Point(row, vectors[row], {"item_id": str(row)})
                for row in range(start, min(start + 512, N_ITEMS))
            ]
            shard.update(qdrant.UpdateOperation.upsert_points(points))
        shard.flush()


def bare_query(shard: qdrant.EdgeShard, vectors: Vectors) -> list[list[qdrant.ScoredPoint]]:
    params = qdrant.SearchParams(exact=True)
    found = []
    for start in range(0, N_ITEMS, 128):
        requests = [
            qdrant.QueryRequest(
                limit=K + 1,
                query=qdrant.Query.Nearest(vector),
                params=params,
            )
            for vector in vectors[start : start + 128]
        ]
        found += shard.query_batch(qdrant.QueryBatchRequest(requests))
    return found


def numpy_neighbors(vectors: Vectors) -> NDArray[np.intp]:
    squares = (vectors**2).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * vectors @ vectors.T
    np.fill_diagonal(distances, np.inf)
    return np.argpartition(distances, K, axis=1)[:, :K]


if __name__ == "__main__":
    main()
