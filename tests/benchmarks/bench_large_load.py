"""Loading and asking a large collection: seconds, peak memory, disk, beside the bare engine.

    uv run python -m tests.benchmarks.bench_large_load
    uv run python -m tests.benchmarks.bench_large_load --items 1000000 --dimension 256

Every job runs in a process of its own, one after the other, on the same vectors, which lie in a
file. They are as those of models are: of length 1, in 200 groups, about 48 directions and some
noise (over vectors without any structure a graph takes twice as long to build). Memory is the
most that was resident, mapped pages of files included. The bare engine is called as its
documentation shows, with one shard that stays open, and asked for as many neighbors as recdemo
asks for, without a filter. ``--folder`` needs room for the vectors four times and the graph
twice; ``--plain`` builds no graph.
"""

import argparse
import multiprocessing
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import TypeAlias

import numpy as np
import qdrant_edge as qdrant
from numpy.typing import NDArray

from recdemo.embedding import shorten
from recdemo.protocols import Overlap
from recdemo.scoring.sampling import draw_sample
from recdemo.store import PLAIN, Batch, CollectionInfo, Layout
from recdemo.store.edge import EdgeStore
from recdemo.store.files import bytes_on_disk
from recdemo.truth import Truth

KS = (10, 20, 50, 100)
BLOCK = 1024  # vectors at a time
UPSERT, QUERIES = 512, 128  # at a time, for the bare engine
M = 16
GROUPS, DIRECTIONS = 200, 48
RATED = 0.95  # of the items


Answers: TypeAlias = "SimpleQueue[tuple[float, float, int, str]]"


@dataclass(frozen=True)
class Work:
    items: int
    dimension: int
    queries: int
    indexed: bool
    folder: Path

    @property
    def vectors(self) -> Path:
        return self.folder / "vectors.npy"

    @property
    def asked(self) -> NDArray[np.int32]:
        sample = draw_sample(np.flatnonzero(self.rated).astype(np.int32), self.users, self.queries)
        return sample.queries

    @property
    def users(self) -> NDArray[np.int32]:
        """How many users touched each item: a long tail, and some without any."""
        random = np.random.default_rng(1)
        counts = np.minimum(random.zipf(1.6, self.items), 100_000).astype(np.int32)
        counts[random.random(self.items) > RATED] = 0
        return counts

    @property
    def rated(self) -> NDArray[np.bool_]:
        return self.users > 0


@dataclass(frozen=True)
class Measured:
    seconds: float
    busy: float  # seconds of processors, of the whole process
    peak: int  # bytes
    said: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--plain", action="store_true", help="build no graph")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=given.folder))
    work = Work(given.items, given.dimension, given.queries, not given.plain, folder)
    try:
        report(work)
    finally:
        shutil.rmtree(folder)


def report(work: Work) -> None:
    graph = f"HNSW m = {M}" if work.indexed else "no graph"
    print(f"{work.items:,} x {work.dimension}, {graph}; {work.queries:,} queries, k = {max(KS)}")
    show("writing the vectors", measured(write_vectors, work))
    bare = show("bare engine: load", measured(bare_load, work))
    show("recdemo: load", measured(load, work), bare, 60 if work.indexed else None)
    bare = show("bare engine: exact queries", measured(bare_queries, work))
    show("recdemo: query and score", measured(query_and_score, work), bare)


def show(
    name: str, found: Measured, bare: Measured | None = None, budget: float | None = None
) -> Measured:
    line = f"{name:28} {found.seconds:7.1f} s  {found.busy:7.1f} s of CPU"
    line += f"  {found.peak / 2**20:7,.0f} MB"
    if bare is not None:
        line += f"  {found.seconds / bare.seconds:5.2f} x the bare engine"
    print(line + (f" (budget {budget:.0f} s, 2,500 MB)" if budget else "") + found.said, flush=True)
    return found


def measured(job: Callable[[Work], tuple[float, str]], work: Work) -> Measured:
    """Run a job in a fresh process."""
    context = multiprocessing.get_context("spawn")
    answers: Answers = context.SimpleQueue()
    process = context.Process(target=_run, args=(job, work, answers))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"{job.__name__} ended with {process.exitcode}")
    return Measured(*answers.get())


def _run(job: Callable[[Work], tuple[float, str]], work: Work, answers: Answers) -> None:
    seconds, said = job(work)
    used = resource.getrusage(resource.RUSAGE_SELF)
    answers.put((seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, said))


def write_vectors(work: Work) -> tuple[float, str]:
    started = time.perf_counter()
    random = np.random.default_rng(0)
    spread = random.standard_normal((DIRECTIONS, work.dimension), np.float32)
    centers = random.standard_normal((GROUPS, DIRECTIONS), np.float32)
    header = {"descr": "<f4", "fortran_order": False, "shape": (work.items, work.dimension)}
    with work.vectors.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, work.items, BLOCK):
            lines = min(BLOCK, work.items - start)
            own = centers[random.integers(0, GROUPS, lines)]
            own = own + 0.7 * random.standard_normal((lines, DIRECTIONS), np.float32)
            noise = 1.5 * random.standard_normal((lines, work.dimension), np.float32)
            shorten(own @ spread + noise, work.dimension).tofile(file)
    return time.perf_counter() - started, ""


def bare_load(work: Work) -> tuple[float, str]:
    vectors = np.load(work.vectors, mmap_mode="r")
    started = time.perf_counter()
    size = qdrant.EdgeVectorParams(size=work.dimension, distance=qdrant.Distance.Euclid)
    config = qdrant.EdgeConfig(vectors=size, wal_enabled=False)
    path = work.folder / "bare"
    with closing(qdrant.EdgeShard.create(str(path), config)) as shard:
        for start in range(0, work.items, UPSERT):
            points = [
                qdrant.Point(start + i, vector, {"item_id": str(start + i)})
                for i, vector in enumerate(np.asarray(vectors[start : start + UPSERT]))
            ]
            shard.update(qdrant.UpdateOperation.upsert_points(points))
        if work.indexed:
            shard.optimize()
        shard.flush()
        indexed = shard.info().indexed_vectors_count
    took = time.perf_counter() - started
    return took, f"; {indexed:,} indexed, {bytes_on_disk(path) / 2**20:,.0f} MB on disk"


def load(work: Work) -> tuple[float, str]:
    vectors = np.load(work.vectors, mmap_mode="r")
    store = EdgeStore(work.folder / "store")
    started = time.perf_counter()
    store.build(info(work), batches(vectors), layout=Layout(m=M) if work.indexed else PLAIN)
    took = time.perf_counter() - started
    status = store.status("x")
    disk = f"{status.bytes_on_disk / 2**20:,.0f} MB on disk"
    return took, f"; {status.indexed_vectors:,} indexed, {disk}"


def info(work: Work) -> CollectionInfo:
    return CollectionInfo(
        name="x",
        dataset="random",
        text="none",
        model="baseline:random",
        prefix="",
        dimension=work.dimension,
        how="native",
        count=work.items,
        n_items=work.items,
        fingerprint="0" * 64,
        texts_hash="0" * 64,
    )


def batches(vectors: NDArray[np.float32]) -> Iterator[Batch]:
    for start in range(0, len(vectors), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(vectors)), dtype=np.int32)
        payloads = tuple({"item_id": str(row)} for row in rows.tolist())
        yield Batch(rows, np.asarray(vectors[start : start + BLOCK]), payloads)


def bare_queries(work: Work) -> tuple[float, str]:
    vectors, rows = np.load(work.vectors, mmap_mode="r"), work.asked
    params = qdrant.SearchParams(exact=True)
    with closing(qdrant.EdgeShard.load(str(work.folder / "bare"))) as shard:
        started = time.perf_counter()
        for start in range(0, len(rows), QUERIES):
            requests = [
                qdrant.QueryRequest(
                    limit=max(KS) + 2, query=qdrant.Query.Nearest(vector), params=params
                )
                for vector in np.asarray(vectors[rows[start : start + QUERIES]])
            ]
            shard.query_batch(qdrant.QueryBatchRequest(requests))
        took = time.perf_counter() - started
    return took, per_query(took, work)


def query_and_score(work: Work) -> tuple[float, str]:
    store = EdgeStore(work.folder / "store")
    rated = np.flatnonzero(work.rated).astype(np.int32)
    sample = draw_sample(rated, work.users, work.queries)
    judge = Overlap((some_truth(work),), KS, sample).light()
    started = time.perf_counter()
    judge.judge(store, "x")
    took = time.perf_counter() - started
    return took, per_query(took, work)


def some_truth(work: Work) -> Truth:
    """Return truth lists of random rated items, one and the same for all."""
    rated = work.rated
    one = np.random.default_rng(2).choice(np.flatnonzero(rated), max(KS), replace=False)
    lists = np.where(rated[:, None], one.astype(np.int32), np.int32(-1))
    return Truth("jaccard", lists, np.ones((1, 1), np.float32), rated, 1)


def per_query(seconds: float, work: Work) -> str:
    return f"; {1000 * seconds / work.queries:.1f} ms a query"


if __name__ == "__main__":
    main()
