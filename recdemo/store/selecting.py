"""From a question about rows to what an engine is asked, and from its answers to lists.

Every store asks its engine the same way: for one more than k, since a query finds itself, and
with a filter on whichever is the smaller set, the rows that may be found or those that may not.
So no question has to be asked twice, and it is known beforehand how many answers must come.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recdemo.store import (
    EXACT,
    Candidates,
    CollectionInfo,
    FloatArray,
    IntArray,
    Neighbors,
    Search,
)

Positions: TypeAlias = NDArray[np.intp]

BATCH = 128  # queries at a time; more are no faster
BATCH_WORK = 10**9  # points x dimension x queries of a batch, about 0.1 s
BATCH_ANSWERS = 100_000  # points found by a batch, each an object of its own
BATCH_FILTERED = 4_000_000  # rows named by the filters of a batch in this process, 150 bytes each


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """What to ask an engine for, the same for every query of a call."""

    limit: int  # answers per query, 0 where nothing can be found
    only: frozenset[int] | None = None  # the rows that may be found
    without: frozenset[int] | None = None  # the rows that may not

    @property
    def n_filtered(self) -> int:
        """How many rows the filter names, which every query has along."""
        return len(self.only or self.without or ())


def check_question(
    info: CollectionInfo, rows: IntArray, k: int, candidates: Candidates | None
) -> None:
    """Refuse a question that no catalog of this size could be asked."""
    if k < 1:
        raise ValueError(f"k is {k}, expected at least 1")
    outside = rows[(rows < 0) | (rows >= info.n_items)]
    if len(outside):
        raise ValueError(f"row {outside[0]} is beyond the {info.n_items} items of {info.dataset}")
    if candidates is not None and candidates.mask.shape != (info.n_items,):
        raise ValueError(
            f"the mask of candidates has shape {candidates.mask.shape}, not ({info.n_items},)"
        )


def plan(stored: IntArray, k: int, candidates: Candidates | None) -> Ask:
    """Settle how many answers to ask for, and which rows to let through.

    Args:
        stored: ``(count,)`` rows of the collection.
    """
    if candidates is None:
        return Ask(min(k + 1, len(stored)))
    may = candidates.mask[stored]
    limit = min(k + 1, int(may.sum()))
    if may.all() or limit == 0:
        return Ask(limit)
    if 2 * int(may.sum()) <= len(stored):
        return Ask(limit, only=frozenset(stored[may].tolist()))
    return Ask(limit, without=frozenset(stored[~may].tolist()))


def positions(stored: IntArray, rows: IntArray, n_items: int) -> Positions:
    """Return where each row stands among the stored ones, -1 where it has no vector."""
    place = np.full(n_items, -1, np.intp)
    place[stored] = np.arange(len(stored))
    found: Positions = place[rows]
    return found


def cut(total: int, info: CollectionInfo, limit: int, most: int = BATCH) -> Iterator[slice]:
    """Cut *total* queries so that none of the batches keeps others waiting for long.

    Args:
        most: queries in a batch, where fewer than usual fit.
    """
    work = max(1, info.count * info.dimension)
    step = max(1, min(most, BATCH, BATCH_WORK // work, BATCH_ANSWERS // max(1, limit)))
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))


def nothing(n_queries: int, k: int) -> Neighbors:
    """Return lists in which nothing has been found yet."""
    return Neighbors(
        np.full((n_queries, k), -1, np.int32), np.full((n_queries, k), np.inf, np.float32)
    )


def best_first(
    queries: IntArray,
    lengths: Positions,
    rows: IntArray,
    distances: FloatArray,
    k: int,
    search: Search = EXACT,
) -> Neighbors:
    """Turn answers into lists: without the query, sorted by (distance, row), cut and padded.

    The query is dropped by its id. Dropping the first answer instead would go wrong for two
    items with the same vector.

    Args:
        queries: ``(q,)`` rows that were asked for.
        lengths: ``(q,)`` answers that came for each.
        rows: ``(sum of lengths,)`` all answers, one query after the other.
        distances: of the same shape; where nothing is measured again they are what the engine
            made of its smaller copies, and the order is the engine's.
    """
    owner = np.repeat(np.arange(len(queries)), lengths)
    other = rows != queries[owner]
    owner, rows, distances = owner[other], rows[other], distances[other]
    measured = search.exact or search.rescore  # else they may be similarities, best last
    wrong = _unsorted(owner, rows, distances) if measured else np.zeros(0, np.intp)
    if len(wrong):
        right = wrong[np.lexsort((rows[wrong], distances[wrong], owner[wrong]))]
        rows[wrong], distances[wrong] = rows[right], distances[right]
    counts = np.bincount(owner, minlength=len(queries))
    place = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]  # within the own list
    kept = place < k
    owner, place = owner[kept], place[kept]
    found = nothing(len(queries), k)
    found.rows[owner, place] = rows[kept]
    found.distances[owner, place] = distances[kept]
    return found


def _unsorted(owner: Positions, rows: IntArray, distances: FloatArray) -> Positions:
    """Return the positions of all answers of the queries whose answers are not in order.

    Engines sort by distance, so these are the few with ties; to sort all takes ten times longer.
    """
    before, after = distances[:-1], distances[1:]
    wrong = (after < before) | ((after == before) & (rows[1:] < rows[:-1]))
    wrong &= owner[1:] == owner[:-1]
    return np.flatnonzero(np.isin(owner, owner[1:][wrong])) if wrong.any() else wrong.nonzero()[0]
