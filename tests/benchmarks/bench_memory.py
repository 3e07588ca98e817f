"""Memory of a collection that is being asked, by quantization: measured, beside the formula.

    uv run python -m tests.benchmarks.bench_memory
    uv run python -m tests.benchmarks.bench_memory --items 1000000 --dimension 256

For each quantization the same vectors are loaded into the embedded store with a graph (m = 16).
Then a process of its own asks 1,000 single questions by the graph, rescored, and looks by how much
its memory has grown: its own, which must stay, and pages of files that it has mapped and touched,
which the system may take back (full vectors that are read for rescoring, among others). The formula
is `recdemo.store.sizes.memory_per_item`, without the half more that Qdrant advises to plan for.
"""

import argparse
import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import get_args

import numpy as np
import qdrant_edge as qdrant

from recdemo.store import Layout, Quantization, Search, edge_requests
from recdemo.store.edge import EdgeStore
from recdemo.store.sizes import memory_per_item
from tests.benchmarks.bench_large_load import M, Work, batches, info, measured, write_vectors

QUESTIONS, K, EF = 1000, 100, 256
KINDS: tuple[Quantization, ...] = get_args(Quantization)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=given.folder))
    work = Work(given.items, given.dimension, QUESTIONS, True, folder)
    print(f"{work.items:,} x {work.dimension}, HNSW m = {M}, {QUESTIONS:,} questions at ef {EF}")
    print(f"{'MB':8} {'own':>9} {'files':>9} {'formula':>9}")
    try:
        measured(write_vectors, work)
        for quantization, load in zip(KINDS, (_none, _scalar, _binary, _turbo), strict=True):
            measured(load, work)
            asked = measured(ask, work)
            layout = Layout(M, quantization=quantization)
            formula = memory_per_item(layout, work.dimension, work.items) * work.items
            print(f"{quantization:8} {asked.said} {formula / 2**20:9,.0f}", flush=True)
            shutil.rmtree(work.folder / "store")
    finally:
        shutil.rmtree(folder)


def _load(work: Work, quantization: Quantization) -> tuple[float, str]:
    vectors = np.load(work.vectors, mmap_mode="r")
    layout = Layout(M, quantization=quantization)
    EdgeStore(work.folder / "store").build(info(work), batches(vectors), layout=layout)
    return 0.0, ""


def _none(work: Work) -> tuple[float, str]:
    return _load(work, "none")


def _scalar(work: Work) -> tuple[float, str]:
    return _load(work, "scalar")


def _binary(work: Work) -> tuple[float, str]:
    return _load(work, "binary")


def _turbo(work: Work) -> tuple[float, str]:
    return _load(work, "turbo")


def ask(work: Work) -> tuple[float, str]:
    """Ask the engine itself, whose memory can be looked at while the collection is open."""
    vectors = np.load(work.vectors, mmap_mode="r")
    asked = np.asarray(vectors[work.asked])
    params = edge_requests.params(Search(exact=False, hnsw_ef=EF))
    before = resident()
    with closing(qdrant.EdgeShard.load(str(work.folder / "store/x/shard"))) as shard:
        for vector in asked:
            query = qdrant.Query.Nearest(vector.tolist())
            shard.query(qdrant.QueryRequest(limit=K, query=query, params=params))
        grown = [now - then for now, then in zip(resident(), before, strict=True)]
    return 0.0, "{:9,.0f} {:9,.0f}".format(*grown)


def resident() -> tuple[float, float]:
    """Return MB of this process's own memory, and of files that it has mapped and touched."""
    lines = dict(
        line.split(":", 1) for line in Path("/proc/self/status").read_text("ascii").splitlines()
    )
    own, files = (int(lines[name].split()[0]) / 2**10 for name in ("RssAnon", "RssFile"))
    return own, files


if __name__ == "__main__":
    main()
