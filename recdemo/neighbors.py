"""The nearest other items, with ties at the last place settled; the one place where that is done.

A store returns the k nearest; which of several items at exactly the k-th distance those are is
the engine's choice. Scores must not depend on it, and a list shown to a person must not change
from run to run. So one more is asked for, and where the k-th and the next distance are equal,
that query is answered anew from the stored vectors, with every item at the k-th distance.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from recdemo.store import Candidates, FloatArray, IntArray, Neighbors, VectorStore
from recdemo.ties import Near, near_lists

QUERIES = 16_384  # asked of a store at a time
PART = 256  # queries in a part of the answer, at most
CELLS = 2**20  # queries x width of a part with ties, where it holds more than one query


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
    for start in range(0, len(rows), QUERIES):
        queries = rows[start : start + QUERIES]
        first = store.neighbors(name, queries, k + 1, candidates=candidates)
        last, beyond = first.distances[:, k - 1], first.distances[:, k]
        tied = (last == beyond) & (first.rows[:, k] >= 0)
        lists = near_lists(store, name, queries[tied], last[tied], k, candidates)
        for begin in range(0, len(queries), PART):
            part = slice(begin, begin + PART)
            found = Neighbors(first.rows[part, :k], first.distances[part, :k])
            if tied[part].any():
                yield from _with_lists(found, tied[part], lists)
            else:
                yield found


def _with_lists(
    found: Neighbors, tied: NDArray[np.bool_], lists: Iterator[Near]
) -> Iterator[Neighbors]:
    """Replace the tied queries by their lists, cutting the part where those are long."""
    held: list[Near] = []
    width = 0
    for i, is_tied in enumerate(tied.tolist()):
        near = next(lists) if is_tied else (found.rows[i], found.distances[i])
        if held and (len(held) + 1) * max(width, len(near[0])) > CELLS:
            yield _padded(held, width)
            held, width = [], 0
        held.append(near)
        width = max(width, len(near[0]))
    yield _padded(held, width)


def _padded(lists: Sequence[Near], width: int) -> Neighbors:
    rows = np.full((len(lists), width), -1, np.int32)
    distances: FloatArray = np.full((len(lists), width), np.inf, np.float32)
    for i, (own_rows, own_distances) in enumerate(lists):
        rows[i, : len(own_rows)], distances[i, : len(own_rows)] = own_rows, own_distances
    return Neighbors(rows, distances)
