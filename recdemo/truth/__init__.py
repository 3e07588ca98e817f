"""The truth: for each rated item, the items whose users overlap most with its own."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recdemo.dataset.interactions import IntArray, Interactions
from recdemo.errors import DatasetError
from recdemo.truth.blocks import Touched
from recdemo.truth.spreading import all_lists

Progress: TypeAlias = Callable[[int, int], None]  # done, total


def no_progress(done: int, total: int) -> None:
    """Tell nobody."""


OVERLAPS = ("jaccard", "cosine", "lift")


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Truth lists of all items of a catalog; those of unrated items are empty."""

    overlap: str  # jaccard, cosine or lift
    neighbors: IntArray  # (n_items, k) rows, best first, padded with -1
    overlaps: NDArray[np.float32]  # (n_items, k) padded with 0
    rated: NDArray[np.bool_]  # (n_items,) items with an interaction: the candidates
    n_users: int  # 0: not known, as of lists computed elsewhere
    source: str = ""  # where imported lists come from; "": built from interactions

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
        return replace(self, neighbors=self.neighbors[:, :k], overlaps=self.overlaps[:, :k])


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
    Work goes by blocks of items, over processes where there is much of it.
    """
    check_k(k, int(np.count_nonzero(interactions.counts())))
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
    counts = np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.float64)
    touched = Touched(matrix, sparse.csr_array(matrix.T), counts)
    lists = all_lists(touched, overlap, k, on_progress)
    return Truth(overlap, lists.neighbors, lists.overlaps, counts > 0, matrix.shape[0])
