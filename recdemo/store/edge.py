"""The embedded store: every collection a Qdrant Edge shard in a folder, open only for a call.

A shard is built in a temporary folder and renamed into place, so a collection is there whole or
not at all, and the engine's write-ahead log, half of the disk and most of the time to open, is
not needed. The engine holds the interpreter's lock while it searches and lets two processes
open the same shard, so queries go to it in short batches, behind a lock of our own.
"""

import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.metadata import version
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as qdrant
from numpy.typing import NDArray

from recdemo.errors import StoreError
from recdemo.store import (
    EXACT,
    PLAIN,
    STUDY,
    Batch,
    Candidates,
    CollectionInfo,
    CollectionStatus,
    FloatArray,
    IntArray,
    Layout,
    Neighbors,
    Notice,
    Search,
    check_alone,
    check_vectors,
    edge_requests,
    files,
    selecting,
)
from recdemo.store.edge_faults import engine_errors
from recdemo.store.files import TEMPORARY, file_errors, look
from recdemo.store.locks import Locks
from recdemo.store.points import PointsWriter, open_points, read_points
from recdemo.store.states import State

HOLD = 0.5  # seconds that a collection is held open though others wait for it
UPSERT = 128  # points given to the engine at a time

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class EdgeStore:
    """Keeps collections in a folder; several processes and threads may use it at once.

    Args:
        folder: where the collections lie; made when the first one is built.
        on_wait: is told when another process is being waited for.
        patience: seconds to wait for a collection that another process has open.
        notice_after: seconds of waiting before *on_wait* is told.
    """

    def __init__(
        self,
        folder: Path,
        on_wait: Notice = lambda message: None,
        *,
        patience: float = 30.0,
        notice_after: float = 1.0,
    ) -> None:
        self._folder = folder
        self._on_wait = on_wait
        self._patience = patience
        self._notice_after = notice_after

    def build(
        self, info: CollectionInfo, batches: Iterable[Batch], *, layout: Layout = PLAIN
    ) -> None:
        """Write a collection whole or not at all; one that is complete stays as it is."""
        path = self._path(info.name)
        check_alone(layout)
        if files.is_built(path, info):
            return
        with file_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        with self._locks(path).building():
            files.remove_leftovers(self._folder, info.name)
            if files.is_built(path, info):  # by the one who was waited for
                return
            files.check_room(self._folder, info, layout)
            temporary = files.temporary(path)
            try:
                with file_errors(temporary):
                    temporary.mkdir()
                _fill(temporary, info, batches, layout)
                with file_errors(path):
                    if look(path).state is State.INCOMPLETE:
                        shutil.rmtree(path)
                    temporary.rename(path)
            finally:  # after Ctrl-C, too; gone by now if all went well
                shutil.rmtree(temporary, ignore_errors=True)

    def neighbors(
        self,
        name: str,
        rows: IntArray,
        k: int,
        *,
        candidates: Candidates | None = None,
        search: Search = EXACT,
    ) -> Neighbors:
        """Find the *k* nearest other items of each row."""
        path = self._path(name)
        info = files.complete(path)
        selecting.check_question(info, rows, k, candidates)
        stored, vectors = open_points(path, info)
        place = selecting.positions(stored, rows, info.n_items)
        askable = np.flatnonzero(place >= 0)
        ask = selecting.plan(stored, k, candidates)
        found = selecting.nothing(len(rows), k)
        asking = edge_requests.asking(ask, search)
        most = selecting.BATCH_FILTERED // max(1, ask.n_filtered)
        parts = list(selecting.cut(len(askable) if ask.limit else 0, info, ask.limit, most))
        locks = self._locks(path)
        while parts:
            with _opened(path, locks) as shard:
                until = time.monotonic() + HOLD
                while parts and (time.monotonic() < until or not locks.someone_waits()):
                    part = askable[parts.pop(0)]
                    answers = _ask(path, shard, vectors[place[part]], asking)
                    best = selecting.best_first(rows[part], *answers, k, search)
                    found.rows[part], found.distances[part] = best.rows, best.distances
        return found

    def seconds(
        self, name: str, rows: IntArray, k: int, *, search: Search = EXACT
    ) -> NDArray[np.float64]:
        """Ask for the neighbors of each row on its own, and return how long each took, ``(q,)``."""
        path = self._path(name)
        info = files.complete(path)
        selecting.check_question(info, rows, k, None)
        stored, vectors = open_points(path, info)
        place = selecting.positions(stored, rows, info.n_items)
        asking = edge_requests.asking(selecting.plan(stored, k, None), search)
        took = np.zeros(len(rows))
        with _opened(path, self._locks(path)) as shard:
            for i in np.flatnonzero(place >= 0):
                one = vectors[place[i : i + 1]]
                started = time.perf_counter()
                _ask(path, shard, one, asking)
                took[i] = time.perf_counter() - started
        return took

    def read(self, name: str, *, payloads: bool = False) -> Iterator[Batch]:
        """Yield all stored points in the order of their rows."""
        path = self._path(name)
        points = read_points(path, files.complete(path))
        return self._with_payloads(path, points) if payloads else points

    def status(self, name: str) -> CollectionStatus:
        """Tell bytes on disk, count, indexed vectors and state."""
        path = self._path(name)
        found = look(path)
        if found.state is State.INCOMPLETE:
            return CollectionStatus(files.bytes_on_disk(path), 0, 0, found.state.value)
        info = files.complete(path)
        with _opened(path, self._locks(path)) as shard, engine_errors(path, reading=True):
            indexed = shard.info().indexed_vectors_count
            return CollectionStatus(
                files.bytes_on_disk(path), info.count, indexed, found.state.value
            )

    def collections(self) -> list[CollectionInfo]:
        """List the collections that recdemo wrote, complete or not, by name.

        Left out are those that nobody can tell about: damaged, or made by a newer recdemo.
        """
        with file_errors(self._folder):
            paths = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        found = [look(path).info for path in paths if path.is_dir() and TEMPORARY not in path.name]
        return [info for info in found if info is not None]

    def delete(self, name: str) -> None:
        """Remove a collection of recdemo's; what is not recdemo's is an error."""
        path = self._path(name)
        files.check_ours(path)
        locks = self._locks(path)
        with locks.building(), locks.using():
            files.check_ours(path)  # another process may have been faster
            temporary = files.temporary(path)
            with file_errors(path):
                path.rename(temporary)  # gone at once, even if what follows is cut short
                shutil.rmtree(temporary)
        if STUDY in name:  # which never comes again, and which nobody else waits for
            locks.remove()

    def versions(self) -> dict[str, str]:
        """Tell the version of the engine."""
        return {"qdrant-edge-py": version("qdrant-edge-py")}

    def close(self) -> None:
        """Release what the store holds, which is nothing between two calls."""

    def _with_payloads(self, path: Path, points: Iterator[Batch]) -> Iterator[Batch]:
        locks = self._locks(path)
        for batch in points:
            rows = batch.rows.tolist()
            with _opened(path, locks) as shard, engine_errors(path, reading=True):
                found = {each.id: each.payload for each in shard.retrieve(rows, True, False)}
            yield replace(batch, payloads=tuple(found[row] or {} for row in rows))

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name) or TEMPORARY in name or name.endswith(".lock"):
            raise StoreError(f"no collection can have the name {name!r}")
        return self._folder / name

    def _locks(self, path: Path) -> Locks:
        return Locks(path, self._on_wait, patience=self._patience, notice_after=self._notice_after)


def _fill(path: Path, info: CollectionInfo, batches: Iterable[Batch], layout: Layout) -> None:
    """Write a collection into the empty folder *path*; ``complete`` comes last."""
    files.write_info(path, replace(info, complete=False))
    with engine_errors(path):
        config = edge_requests.config(info, layout)
        shard = qdrant.EdgeShard.create(str(path / files.SHARD), config)
    with closing(shard), PointsWriter(path, info) as writer:
        for batch in batches:
            check_vectors(batch, info)
            writer.add(batch)
            with engine_errors(path):
                _upsert(shard, batch)
        writer.finish()
        with engine_errors(path):
            if layout.is_optimized:
                shard.optimize()
            shard.flush()
            count = shard.count(qdrant.CountRequest(exact=True))
    if count != info.count:
        raise StoreError(f"{info.name}: the engine kept {count} of {info.count} points; load again")
    files.write_info(path, replace(info, complete=True))


def _upsert(shard: qdrant.EdgeShard, batch: Batch) -> None:
    payloads = batch.payloads or ({},) * len(batch.rows)
    for start in range(0, len(batch.rows), UPSERT):
        part = slice(start, start + UPSERT)
        points = [
            qdrant.Point(row, vector, dict(payload))
            for row, vector, payload in zip(
                batch.rows[part].tolist(),
                batch.vectors[part].tolist(),
                payloads[part],
                strict=True,
            )
        ]
        shard.update(qdrant.UpdateOperation.upsert_points(points))


@contextmanager
def _opened(path: Path, locks: Locks) -> Iterator[qdrant.EdgeShard]:
    with locks.using():
        info = files.complete(path)  # it may have gone since the last time
        with engine_errors(path, reading=True):
            shard = qdrant.EdgeShard.load(str(path / files.SHARD))
        with closing(shard):
            with engine_errors(path, reading=True):
                count = shard.count(qdrant.CountRequest(exact=True))
            if count != info.count:  # the engine passes over segments that it cannot read
                raise files.damaged(path)
            yield shard


def _ask(
    path: Path, shard: qdrant.EdgeShard, vectors: FloatArray, asking: edge_requests.Asking
) -> tuple[NDArray[np.intp], IntArray, FloatArray]:
    """Return how many answers came for each vector, their rows and their distances."""
    asked: list[Any] = [memoryview(vector) for vector in vectors]  # as good as lists, and faster
    requests = [
        qdrant.QueryRequest(
            asking.limit,
            query=qdrant.Query.Nearest(vector),
            filter=asking.rows_filter,
            params=asking.params,
        )
        for vector in asked
    ]
    with engine_errors(path, reading=True):
        answers = shard.query_batch(qdrant.QueryBatchRequest(requests))
    lengths = np.fromiter(map(len, answers), np.intp, len(answers))
    if asking.exact and (lengths != asking.limit).any():
        raise files.damaged(path)
    rows = np.fromiter(map(attrgetter("id"), chain(*answers)), np.int32, lengths.sum())
    distances = np.fromiter(map(attrgetter("score"), chain(*answers)), np.float32, lengths.sum())
    return lengths, rows, distances
