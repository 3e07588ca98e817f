"""All items as near as the K-th, from the stored vectors, read block by block.

Where the K-th and the next distance are equal, an engine's answer does not hold all items that
share the place. They are found by reading the collection: a matrix product tells who may be
near enough, and those few are measured one by one. A distance so measured depends on nothing
but the two vectors, so equal vectors are equally far to the last bit. Blocks are small, and
neither the vectors nor the distances of a collection are ever in memory as a whole.
"""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recdemo.store import Candidates, IntArray, VectorStore

Distances: TypeAlias = NDArray[np.float32]
FloatArray: TypeAlias = NDArray[np.float64]
Near: TypeAlias = tuple[IntArray, Distances]  # rows and distances, sorted by (distance, row)

TOGETHER = 256  # queries for which the collection is read once
MOST = 4 * 2**20  # items found for all of them; if there are more, fewer queries at a time
CELLS = 2 * 2**20  # queries x points looked at at a time
PAIR_BYTES = 4 * 2**20  # of the differences of pairs of vectors at a time


def near_lists(
    store: VectorStore,
    name: str,
    queries: IntArray,
    last: Distances,
    k: int,
    candidates: Candidates | None = None,
) -> Iterator[Near]:
    """Yield for each query all other items as near as its *k*-th, by (distance, row).

    Args:
        queries: ``(q,)`` rows with a vector.
        last: ``(q,)`` the k-th distance as the engine has it.
        candidates: the rows that may be found, at least k beside each query.
    """
    vectors = _vectors_of(store, name, queries) if len(queries) else np.zeros((0, 1), np.float32)
    for start in range(0, len(queries), TOGETHER):
        part = slice(start, start + TOGETHER)
        group = _Group(queries[part], vectors[part], last[part])
        yield from _settled(store, name, group, k, candidates)


class _Group:
    """Queries that are settled together; those with the same vector are one line."""

    def __init__(self, queries: IntArray, vectors: Distances, last: Distances) -> None:
        self.queries, self._vectors, self._last = queries, vectors, last
        lines, which = np.unique(vectors, axis=0, return_inverse=True)
        self.lines: FloatArray = lines.astype(np.float64)  # (m, dimension)
        self.line_of = which.reshape(-1)  # (q,)
        self.reach = np.zeros(len(lines), np.float32)  # (m,) surely above the k-th distance
        np.maximum.at(self.reach, self.line_of, _beyond(last, lines.shape[1]))

    def part(self, which: slice) -> "_Group":
        return _Group(self.queries[which], self._vectors[which], self._last[which])

    def whole(self, i: int) -> "_Group":
        """Return one query alone, for which everything is near enough."""
        one = slice(i, i + 1)
        return _Group(self.queries[one], self._vectors[one], np.full(1, np.inf, np.float32))


def _vectors_of(store: VectorStore, name: str, rows: IntArray) -> Distances:
    """Read the vectors of some rows, ``(q, dimension)``."""
    wanted = np.unique(rows)
    found = [batch.vectors[np.isin(batch.rows, wanted)] for batch in store.read(name)]
    vectors: Distances = np.concatenate(found)[np.searchsorted(wanted, rows)]
    return vectors + np.float32(0)  # no -0.0, which would be another line than 0.0


def _beyond(last: Distances, dimension: int) -> Distances:
    """Return distances surely above the k-th, however the engine rounded its float32 sums.

    Such a sum of squares is right to within dimension x eps / 2, its root to within half of
    that (Higham 2002, section 3.1).
    """
    margin = np.float32(1 + (dimension / 2 + 8) * np.finfo(np.float32).eps)
    reach: Distances = np.nextafter(last * margin, np.float32(np.inf))
    return reach


def _settled(
    store: VectorStore, name: str, group: _Group, k: int, candidates: Candidates | None
) -> Iterator[Near]:
    near = _within(store, name, group, candidates)
    if near is None:  # too much at a time
        half = len(group.queries) // 2
        for part in (slice(half), slice(half, None)):
            yield from _settled(store, name, group.part(part), k, candidates)
        return
    for i, query in enumerate(group.queries.tolist()):
        line = group.line_of[i]
        rows, distances = near[line]
        others = rows != query  # by id, so a twin of the query stays
        rows, distances = rows[others], distances[others]
        reach = group.reach[line]
        if np.isfinite(reach) and not (len(rows) >= k and distances[k - 1] < reach):
            # an engine less exact than it should be: measure everything
            yield from _settled(store, name, group.whole(i), k, candidates)
            continue
        kept = distances <= distances[min(k, len(rows)) - 1]
        yield rows[kept], distances[kept]


def _within(
    store: VectorStore, name: str, group: _Group, candidates: Candidates | None
) -> list[Near] | None:
    """Return for each line what is nearer than its reach; None if that is too much for all."""
    empty = (np.zeros(0, np.intp), np.zeros(0, np.int32), np.zeros(0, np.float32))
    found = [empty]
    total = 0
    for rows, points in _points(store, name, len(group.lines), candidates):
        line, place = _candidates(group, points)
        distances = _distances(group.lines, points, line, place)
        near = distances < group.reach[line]
        found.append((line[near], rows[place[near]], distances[near]))
        total += int(near.sum())
        if total > MOST and len(group.queries) > 1:
            return None
    lines, rows, distances = map(np.concatenate, zip(*found, strict=True))
    order = np.lexsort((rows, distances, lines))
    ends = np.cumsum(np.bincount(lines, minlength=len(group.lines)))[:-1]
    return list(zip(np.split(rows[order], ends), np.split(distances[order], ends), strict=True))


def _points(
    store: VectorStore, name: str, n_lines: int, candidates: Candidates | None
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield the rows and vectors of the candidates in blocks."""
    step = max(1, CELLS // n_lines)
    for batch in store.read(name):
        may = slice(None) if candidates is None else np.flatnonzero(candidates.mask[batch.rows])
        rows, vectors = batch.rows[may], batch.vectors[may]
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            yield rows[part], vectors[part].astype(np.float64)


def _candidates(group: _Group, points: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs of a line and a point that may be nearer than the line's reach.

    A sum of products in float64 is right to within (dimension + 3) x eps times the sum of
    their sizes, so none that is near enough is missed.
    """
    own, other = (group.lines**2).sum(axis=1), (points**2).sum(axis=1)
    squares = own[:, None] + other - 2 * group.lines @ points.T
    largest = own.max(initial=0) + other.max(initial=0)
    error = 4 * (points.shape[1] + 8) * np.finfo(np.float64).eps * largest
    limit = group.reach.astype(np.float64) ** 2 + error
    line, place = np.nonzero(squares <= limit[:, None])
    return line, place


def _distances(
    lines: FloatArray, points: FloatArray, line: NDArray[np.intp], place: NDArray[np.intp]
) -> Distances:
    """Return the Euclidean distance of each pair, rounded to float32 as the engine's are."""
    distances = np.empty(len(line), np.float32)
    step = max(1, PAIR_BYTES // (8 * points.shape[1]))
    for start in range(0, len(line), step):
        part = slice(start, start + step)
        gaps = lines[line[part]] - points[place[part]]
        np.square(gaps, out=gaps)
        distances[part] = np.sqrt(gaps.sum(axis=1))
    return distances
