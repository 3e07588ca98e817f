"""The nearest other items, with ties at the last place settled; the one place where that is done.

A store returns the k nearest; which of several items at exactly the k-th distance those are is
the engine's choice. Scores must not depend on it, and a list shown to a person must not change
from run to run. So one more is asked for, and where the k-th and the next distance are equal,
that query is answered anew from the stored vectors, with every item at the k-th distance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recdemo.store import Candidates, IntArray, Neighbors, VectorStore

FloatArray: TypeAlias = NDArray[np.float64]

PART = 256  # queries at a time when ties are settled
PART_BYTES = 64 * 2**20  # of one (queries, points) float64 array of distances


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """The stored vectors that may be found, each different one once.

    Distances are computed per different vector and then spread, so that equal vectors get
    equal distances to the last bit, whatever the order of a matrix product.
    """

    rows: IntArray  # (n,) candidates, ascending
    which: NDArray[np.intp]  # (n,) position in `vectors`
    vectors: FloatArray  # (m, dimension) different vectors
    place: NDArray[np.intp]  # (n_items,) position of a row in `vectors`


def nearest(
    store: VectorStore, name: str, rows: IntArray, k: int, candidates: Candidates | None = None
) -> Neighbors:
    """Return exactly the *k* nearest of each row; ties at the end go to the smaller row.

    Args:
        rows: ``(q,)`` queries.
        candidates: the rows that may be found, all by default.
    """
    found, distances = [np.zeros((0, k), np.int32)], [np.zeros((0, k), np.float32)]
    for part in nearest_with_ties(store, name, rows, k, candidates):
        found.append(part.rows[:, :k])
        distances.append(part.distances[:, :k])
    return Neighbors(np.concatenate(found), np.concatenate(distances))


def nearest_with_ties(
    store: VectorStore, name: str, rows: IntArray, k: int, candidates: Candidates | None = None
) -> Iterator[Neighbors]:
    """Yield the neighbors of all rows in parts, each with all items at its k-th distance.

    A part is at least k wide, as wide as its largest group of ties needs; padded with -1 and
    infinity.
    """
    first = store.neighbors(name, rows, k + 1, candidates=candidates)
    last, beyond = first.distances[:, k - 1], first.distances[:, k]
    tied = (last == beyond) & (first.rows[:, k] >= 0)
    points = _read(store, name, candidates) if tied.any() else None
    for start in range(0, len(rows), PART):
        part = slice(start, start + PART)
        found, distances = first.rows[part, :k], first.distances[part, :k]
        if points is None or not tied[part].any():
            yield Neighbors(found, distances)
            continue
        yield _settled(points, rows[part], tied[part], Neighbors(found, distances), k)


def _read(store: VectorStore, name: str, candidates: Candidates | None) -> _Points:
    batches = list(store.read(name))
    rows = np.concatenate([batch.rows for batch in batches])
    stored = np.concatenate([batch.vectors for batch in batches]) + np.float32(0)  # no -0.0
    vectors, which = np.unique(stored, axis=0, return_inverse=True)
    which = which.reshape(-1)
    place = np.full(int(rows.max()) + 1, -1, np.intp)
    place[rows] = which
    may = np.ones(len(rows), bool) if candidates is None else candidates.mask[rows]
    return _Points(rows[may], which[may], vectors.astype(np.float64), place)


def _settled(
    points: _Points, queries: IntArray, tied: NDArray[np.bool_], found: Neighbors, k: int
) -> Neighbors:
    """Replace the lists of the tied queries by ones with all items at the k-th distance."""
    lists = dict(_lists(points, np.flatnonzero(tied), queries, k))
    width = max(k, *(len(rows) for rows, _ in lists.values()))
    rows = np.full((len(queries), width), -1, np.int32)
    distances = np.full((len(queries), width), np.inf, np.float32)
    rows[:, :k], distances[:, :k] = found.rows, found.distances
    for i, (own_rows, own_distances) in lists.items():
        rows[i, : len(own_rows)], distances[i, : len(own_rows)] = own_rows, own_distances
    return Neighbors(rows, distances)


def _lists(
    points: _Points, positions: NDArray[np.intp], queries: IntArray, k: int
) -> Iterator[tuple[int, tuple[IntArray, NDArray[np.float32]]]]:
    """Yield the list of each tied query; queries with the same vector are worked out once."""
    asked = points.place[queries[positions]]
    different = np.unique(asked)
    step = max(1, PART_BYTES // (8 * len(points.rows)))
    for start in range(0, len(different), step):
        part = different[start : start + step]
        for place, line in zip(part, _distances(points, part), strict=True):
            near = _nearest(line, k + 1)  # one more, since the query itself may be among them
            rows, distances = points.rows[near], line[near]
            for i in positions[asked == place]:
                others = rows != queries[i]  # by id, so a twin of the query stays
                own = distances[others]
                kept = own <= own[min(k, len(own)) - 1]
                yield int(i), (rows[others][kept], own[kept])


def _nearest(line: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Return the places of all distances up to the k-th, sorted by (distance, place)."""
    limit = np.partition(line, k - 1)[k - 1] if k <= len(line) else np.inf
    near = np.flatnonzero(line <= limit)
    return near[np.argsort(line[near], kind="stable")]


def _distances(points: _Points, places: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return Euclidean distances ``(b, n)``, rounded to float32 as the engine's are."""
    asked = points.vectors[places]  # (b, dimension)
    squares = (
        (asked**2).sum(axis=1)[:, None]
        + (points.vectors**2).sum(axis=1)[None, :]
        - 2 * asked @ points.vectors.T
    )
    squares[np.arange(len(places)), places] = 0  # twins, without rounding
    distances: NDArray[np.float32] = np.sqrt(np.maximum(squares, 0)).astype(np.float32)
    spread: NDArray[np.float32] = distances[:, points.which]
    return spread
