"""Truth lists of some items at a time: one sparse product, then the best of each of its lines.

Only pairs of items with a user in common are ever looked at, and a block has no more of them
than fit a fixed room. So memory grows neither with the square of the catalog nor with the
number of its interactions.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

IntArray: TypeAlias = NDArray[np.int32]
Ordering: TypeAlias = NDArray[np.float64]

PAIRS = 2**19  # of items with users in common, looked at at once: about 50 bytes each
LEAST_LINES = 4  # the product of a block clears arrays of n_items, which must not outweigh it


@dataclass(frozen=True, slots=True, eq=False)
class Touched:
    """Who touched what, as whole zeros and ones, both ways round."""

    by_user: sparse.csr_array  # (n_users, n_items)
    by_item: sparse.csr_array  # (n_items, n_users)
    counts: NDArray[np.float64]  # (n_items,) users of each item


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Truth lists of consecutive items."""

    neighbors: IntArray  # (b, k) rows, best first, padded with -1
    overlaps: NDArray[np.float32]  # (b, k) padded with 0


def work_of(touched: Touched) -> NDArray[np.float64]:
    """Return how many additions the line of each item takes, ``(n_items,)``."""
    items_per_user = np.diff(touched.by_user.indptr).astype(np.float64)
    work: NDArray[np.float64] = touched.by_item @ items_per_user
    return work


def blocks_of(work: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the blocks, start and stop row each, of lines that take so many additions.

    A line has no more pairs than additions, and no more than items.
    """
    n_items = len(work)
    room = max(PAIRS, LEAST_LINES * n_items)
    ends = np.cumsum(np.minimum(work, n_items))
    blocks, start, done = [], 0, 0.0
    while start < n_items:
        stop = max(start + 1, int(np.searchsorted(ends, done + room, side="right")))
        blocks.append((start, stop))
        start, done = stop, float(ends[stop - 1])
    return blocks


def lists_of(touched: Touched, overlap: str, k: int, start: int, stop: int) -> Lists:
    """Return the lists of the items from *start* up to *stop*, both rows."""
    shared = touched.by_item[start:stop] @ touched.by_user  # (b, n_items) users in common
    lengths = np.diff(shared.indptr)
    item = np.repeat(np.arange(start, stop), lengths)
    other = shared.indices
    order = _order(
        shared.data.astype(np.float64), touched.counts[item], touched.counts[other], overlap
    )
    order[other == item] = 0  # an item is no neighbor of its own
    lists = Lists(np.full((stop - start, k), -1, np.int32), np.zeros((stop - start, k), np.float32))
    n_users = touched.by_user.shape[0]
    for line, (first, last) in enumerate(zip(shared.indptr, shared.indptr[1:], strict=False)):
        best = _best(order[first:last], other[first:last], k) + first
        lists.neighbors[line, : len(best)] = other[best]
        lists.overlaps[line, : len(best)] = _value(order[best], n_users, overlap)
    return lists


def _order(shared: Ordering, own: Ordering, other: Ordering, overlap: str) -> Ordering:
    """Return what a list is ordered by; equal overlaps give equal numbers.

    Each is one correctly rounded quotient of whole numbers, so two overlaps that are equal
    as fractions are equal here: cosine is ordered by its square, lift without N.
    """
    if overlap == "jaccard":
        return shared / (own + other - shared)
    return (shared * shared if overlap == "cosine" else shared) / (own * other)


def _value(order: Ordering, n_users: int, overlap: str) -> Ordering:
    if overlap == "cosine":
        return np.sqrt(order)
    return order * n_users if overlap == "lift" else order


def _best(order: Ordering, columns: IntArray, k: int) -> NDArray[np.intp]:
    """Return where the *k* largest positive entries are, best first, ties by column."""
    least = np.partition(order, len(order) - k)[len(order) - k] if len(order) > k else 0.0
    candidates = np.flatnonzero(order >= least if least > 0 else order)
    ranked = np.lexsort((columns[candidates], -order[candidates]))
    return candidates[ranked[:k]]
