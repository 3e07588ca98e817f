"""How much the embedded store adds to the bare engine, and how it compares with NumPy.

    uv run python tests/benchmarks/bench_store.py

Everything is timed in one run, the best of some rounds, since machines differ and only the
ratios count. The bare engine is called as its documentation shows: points and queries hold rows
of a NumPy array, 512 points or 128 queries at a time, one shard that stays open.
"""

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import qdrant_edge as qdrant
from numpy.typing import NDArray

from recdemo.protocols import score_collection
from recdemo.store import Batch, Candidates, CollectionInfo
from recdemo.store.edge import EdgeStore
from recdemo.truth import Truth

N_ITEMS, DIMENSION, K, ROUNDS = 3706, 1024, 101, 5

Vectors = NDArray[np.float32]


def main() -> None:
    vectors = np.random.default_rng(0).standard_normal((N_ITEMS, DIMENSION), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare"
        bare_upsert(bare, vectors)
        with closing(qdrant.EdgeShard.load(str(bare))) as shard:
            report(best(jobs(vectors, shard, Path(folder))))


def jobs(
    vectors: Vectors, shard: qdrant.EdgeShard, folder: Path
) -> dict[str, Callable[[], object]]:
    store, fresh = EdgeStore(folder / "store"), itertools.count()
    store.build(info("x"), batches(vectors))
    rows = np.arange(N_ITEMS, dtype=np.int32)
    truth = some_truth()

    def neighbors(may: NDArray[np.bool_] | None) -> object:
        return store.neighbors("x", rows, K, candidates=None if may is None else Candidates(may))

    return {
        "bare upsert": lambda: bare_upsert(folder / f"bare-{next(fresh)}", vectors),
        "build": lambda: store.build(info(f"x{next(fresh)}"), batches(vectors)),
        "bare queries": lambda: bare_query(shard, vectors),
        "NumPy": lambda: numpy_neighbors(vectors),
        "query and score": lambda: score_collection(store, "x", truth, (10, 20, 50, 100)),
        "neighbors": lambda: neighbors(None),
        "neighbors, 95 % candidates": lambda: neighbors(rows % 22 > 0),  # as in MovieLens 1M
        "neighbors, 5 % candidates": lambda: neighbors(rows % 22 == 0),
    }


def best(jobs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time all jobs in turn, so that a busy moment of the machine meets all of them."""
    seconds = dict.fromkeys(jobs, float("inf"))
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            started = time.perf_counter()
            job()
            seconds[name] = min(seconds[name], time.perf_counter() - started)
    return seconds


def report(seconds: dict[str, float]) -> None:
    print(f"{N_ITEMS} x {DIMENSION}, k = {K}, best of {ROUNDS}")
    for name, took in seconds.items():
        line = f"{name:27} {took:6.3f} s"
        if name == "build":
            line += f"   {took / seconds['bare upsert']:.2f} x the bare upsert (budget 2)"
        if name.startswith(("neighbors", "query and score")):
            line += f"   {took / seconds['bare queries']:.2f} x the bare queries (budget 1.3)"
            line += f", {took / seconds['NumPy']:.2f} x NumPy (budget 4)"
        print(line)


def some_truth() -> Truth:
    """Return truth lists of random items."""
    random = np.random.default_rng(1)
    lists = [random.choice(N_ITEMS - 1, 100, replace=False) for _ in range(N_ITEMS)]
    neighbors = np.array(lists, np.int32)
    neighbors += neighbors >= np.arange(N_ITEMS)[:, None]  # not the item itself
    overlaps = np.ones((N_ITEMS, 100), np.float32)
    return Truth("jaccard", neighbors, overlaps, np.ones(N_ITEMS, bool), 6040)


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
