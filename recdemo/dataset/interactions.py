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
        """Return who touched what as zeros and ones, ``(n_users, n_items)`` float32."""
        ones = np.ones(len(self.rows), np.float32)
        shape = (self.n_users, self.n_items)
        return sparse.csr_array(sparse.coo_array((ones, (self.users, self.rows)), shape=shape))
