"""Who touched what: the behavior that the truth is built from."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

IntArray: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Interactions:
    """One entry per pair of a user and an item; a pair that repeats counts once.

    Entries stand in the order of the file, which decides between equal timestamps.
    """

    users: IntArray  # (n,) 0 .. n_users - 1
    rows: IntArray  # (n,) rows of the catalog
    timestamps: NDArray[np.int64] | None  # (n,) seconds; None where the source has none
    n_users: int
    n_items: int  # of the whole catalog, items without interactions included

    def __len__(self) -> int:
        return len(self.rows)

    def counts(self) -> IntArray:
        """Return the number of users who touched each item, ``(n_items,)``."""
        return np.bincount(self.rows, minlength=self.n_items).astype(np.int32)

    def matrix(self) -> sparse.csr_array:
        """Return who touched what as zeros and ones, ``(n_users, n_items)`` int32.

        Rows ascend within a user. Whole numbers, since products of it count users, and
        float32 counts no further than 2^24.
        """
        ones = np.ones(len(self.rows), np.int32)
        shape = (self.n_users, self.n_items)
        return sparse.csr_array(sparse.coo_array((ones, (self.users, self.rows)), shape=shape))


def latest(
    users: IntArray, rows: IntArray, timestamps: NDArray[np.int64] | None, n_items: int
) -> NDArray[np.bool_]:
    """Mark the entry that counts of each pair of a user and an item, ``(n,)``.

    It is the one with the latest timestamp, the last one where they are equal or missing.
    """
    stays = np.ones(len(rows), np.bool_)
    pairs = users * np.int64(n_items) + rows
    ordered = np.sort(pairs)  # much faster than the argsort that only repeats need
    if not (ordered[1:] == ordered[:-1]).any():
        return stays
    order = np.argsort(pairs, kind="stable")
    np.take(pairs, order, out=ordered)
    del pairs  # 8 bytes an entry
    repeats = np.zeros(len(order), np.bool_)
    np.equal(ordered[1:], ordered[:-1], out=repeats[1:])
    repeats[:-1] |= repeats[1:]  # all entries of a pair that repeats, its first one too
    places, pairs = order[repeats], ordered[repeats]
    if timestamps is not None:
        by_time = np.lexsort((timestamps[places], pairs))  # stable, the last key leads
        places = places[by_time]  # the pairs stand in the same order as before
    stays[places[:-1][pairs[:-1] == pairs[1:]]] = False
    return stays


def in_order_of_appearance(codes: IntArray, n_codes: int) -> tuple[IntArray, int]:
    """Renumber codes from 0 as they first appear; also return how many appear.

    Args:
        codes: ``(n,)`` each at least 0 and below *n_codes*.
    """
    first = np.full(n_codes, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last to be assigned is the first
    present = np.flatnonzero(first < len(codes))
    renumbered = np.zeros(n_codes, np.int32)
    renumbered[present[np.argsort(first[present])]] = np.arange(len(present))
    return renumbered[codes], len(present)
