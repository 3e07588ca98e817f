"""The truth: for each rated item, the items whose users overlap most with its own."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recdemo.dataset.interactions import IntArray, Interactions
from recdemo.errors import DatasetError

Progress: TypeAlias = Callable[[int, int], None]  # done, total


def no_progress(done: int, total: int) -> None:
    """Tell nobody."""


OVERLAPS = ("jaccard", "cosine", "lift")
BLOCK_BYTES = 16 * 2**20  # of one dense (block, n_items) float64 array; a few live at once


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Truth lists of all items of a catalog; those of unrated items are empty."""

    overlap: str  # jaccard, cosine or lift
    neighbors: IntArray  # (n_items, k) rows, best first, padded with -1
    overlaps: NDArray[np.float32]  # (n_items, k) padded with 0
    rated: NDArray[np.bool_]  # (n_items,) items with an interaction: the candidates
    n_users: int

    @property
    def k(self) -> int:
        """The length of a full list."""
        return int(self.neighbors.shape[1])

    @property
    def queries(self) -> IntArray:
        """Rows of the items with a list that is not empty, ascending."""
        return np.flatnonzero(self.neighbors[:, 0] >= 0).astype(np.int32)

    @property
    def n_rated(self) -> int:
        """The number of candidates."""
        return int(self.rated.sum())

    def hash(self) -> str:
        """Return a hash of the lists, 64 hex digits."""
        return hashlib.sha256(self.neighbors.tobytes() + self.rated.tobytes()).hexdigest()

    def cut(self, k: int) -> "Truth":
        """Return the same truth with lists of at most *k*."""
        return Truth(
            self.overlap, self.neighbors[:, :k], self.overlaps[:, :k], self.rated, self.n_users
        )


def build_truth(
    interactions: Interactions,
    overlap: str,
    k: int,
    on_progress: Progress = no_progress,
) -> Truth:
    """Build the truth lists at *k* from the sets of users.

    ``jaccard`` = n_ij / (n_i + n_j - n_ij), ``cosine`` = n_ij / sqrt(n_i n_j), ``lift`` =
    n_ij N / (n_i n_j), with n_i users of item i, n_ij users of both and N users. A list has
    the k rated items j != i with the largest overlap above 0; ties go to the smaller row.
    Work goes by blocks of items, so memory does not grow with the square of the catalog.
    """
    check_k(k, len(np.unique(interactions.rows)))
    return truth_of_users(interactions.matrix(), overlap, k, on_progress)


def check_k(k: int, n_rated: int) -> None:
    """Refuse a *k* that no list can reach."""
    if n_rated < 2:
        raise DatasetError(f"{n_rated} rated items are too few for truth lists; it takes 2 or more")
    if not 1 <= k < n_rated:
        raise DatasetError(
            f"cannot use k = {k}: it must be at least 1 and below the {n_rated:,} rated items"
        )


def truth_of_users(
    matrix: sparse.csr_array, overlap: str, k: int, on_progress: Progress = no_progress
) -> Truth:
    """Build the truth lists of a user-item matrix of zeros and ones, ``(n_users, n_items)``."""
    if overlap not in OVERLAPS:
        raise DatasetError(f"unknown overlap {overlap!r}; expected one of {', '.join(OVERLAPS)}")
    n_users, n_items = matrix.shape
    counts = np.asarray(matrix.sum(axis=0), np.float64)  # (n_items,)
    rated = counts > 0
    by_item = sparse.csr_array(matrix.T)
    neighbors = np.full((n_items, k), -1, np.int32)
    overlaps = np.zeros((n_items, k), np.float32)
    rows = np.flatnonzero(rated)
    block = max(1, BLOCK_BYTES // (8 * n_items))
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        shared = (by_item[part] @ matrix).toarray().astype(np.float64)  # (b, n_items)
        shared[np.arange(len(part)), part] = 0  # an item is no neighbor of its own
        order = _order(shared, counts[part], counts, overlap)
        _best(order, k, neighbors, part)
        value = _value(order, n_users, overlap)
        taken = neighbors[part]
        found = np.take_along_axis(value, np.maximum(taken, 0), axis=1)
        overlaps[part] = np.where(taken >= 0, found, 0)
        on_progress(min(start + block, len(rows)), len(rows))
    return Truth(overlap, neighbors, overlaps, rated, n_users)


def _order(
    shared: NDArray[np.float64],
    own: NDArray[np.float64],
    counts: NDArray[np.float64],
    overlap: str,
) -> NDArray[np.float64]:
    """Return what a list is ordered by, ``(b, n_items)``; equal overlaps give equal numbers.

    Each is one correctly rounded quotient of whole numbers, so two overlaps that are equal
    as fractions are equal here: cosine is ordered by its square, lift without N.
    """
    if overlap == "jaccard":
        return np.divide(shared, own[:, None] + counts[None, :] - shared, where=shared > 0,
                         out=np.zeros_like(shared))  # fmt: skip
    product = own[:, None] * counts[None, :]
    top = shared * shared if overlap == "cosine" else shared
    return np.divide(top, product, where=shared > 0, out=np.zeros_like(shared))


def _value(order: NDArray[np.float64], n_users: int, overlap: str) -> NDArray[np.float64]:
    if overlap == "cosine":
        return np.sqrt(order)
    return order * n_users if overlap == "lift" else order


def _best(order: NDArray[np.float64], k: int, neighbors: IntArray, rows: NDArray[np.intp]) -> None:
    """Write the *k* largest positive entries of each line, ties by column, into *neighbors*."""
    n_items = order.shape[1]
    last = np.partition(order, n_items - k, axis=1)[:, n_items - k, None]  # the k-th largest
    above = order > last
    level = (order == last) & (last > 0)
    room = k - above.sum(axis=1, keepdims=True)
    taken = above | (level & (np.cumsum(level, axis=1, dtype=np.int32) <= room))
    lines, columns = np.nonzero(taken)  # columns ascending within a line
    ranked = np.lexsort((columns, -order[lines, columns], lines))
    lines, columns = lines[ranked], columns[ranked]
    starts = np.searchsorted(lines, np.arange(len(rows)))
    neighbors[rows[lines], np.arange(len(lines)) - starts[lines]] = columns
