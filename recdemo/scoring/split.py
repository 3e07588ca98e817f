"""Leave the newest item of every user out: the split of the one-shot protocol.

Many people rate a page of items at once, so equal timestamps within a user are common and the
order among them is partly that of a web page (Woolridge, Wilner and Glick 2021, Sequence or
Pseudo-Sequence?, CEUR-WS 2955). The later line of the file then counts as newer, and the
share of users whose target hangs on that is reported.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recdemo.dataset.interactions import IntArray, Interactions
from recdemo.errors import DatasetError


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The newest item of each user, and what came just before it."""

    users: IntArray  # (u,) those with at least two interactions, ascending
    targets: IntArray  # (u,) row of the newest item
    histories: IntArray  # (u, shots) rows of the next newest, newest first, padded with -1
    tied: NDArray[np.bool_]  # (u,) the newest item shares its timestamp with the next
    touched: sparse.csr_array  # (u, n_items) 1 where the user touched the item, columns sorted
    rated: NDArray[np.bool_]  # (n_items,) items that anybody touched: the candidates
    n_few: int  # users left out, with fewer than two interactions

    @property
    def tie_share(self) -> float:
        """The share of users whose target is decided by the order of the file."""
        return float(self.tied.mean())

    def n_free(self) -> IntArray:
        """Return how many rated items each user has not touched, ``(u,)``."""
        free: IntArray = (self.rated.sum() - np.diff(self.touched.indptr)).astype(np.int32)
        return free


def split(interactions: Interactions, shots: int = 1) -> Split:
    """Take the newest item of each user as target, and the next *shots* as history.

    Newest first; of equal timestamps the later line of the file is the newer.
    """
    if shots < 1:
        raise ValueError(f"expected at least 1 shot, got {shots}")
    users, times = interactions.users, interactions.timestamps
    if times is None:
        raise DatasetError(
            "the one-shot protocol needs a timestamp for every interaction, and these have none; "
            "name the column that holds it, or use the protocol 'overlap'"
        )
    counts = np.bincount(users, minlength=interactions.n_users)
    chosen = np.flatnonzero(counts >= 2)
    if not len(chosen):
        raise DatasetError(
            "the one-shot protocol needs users with two interactions or more, and there are none; "
            "use the protocol 'overlap'"
        )
    order = np.lexsort((times, users))  # stable, so of equal timestamps the later line is last
    ends = np.cumsum(counts)[chosen]  # (u,) where the entries of each user end in this order
    shot = np.arange(min(shots, int(counts.max()) - 1))
    there = shot < counts[chosen, None] - 1  # (u, shots)
    entries = order[np.where(there, ends[:, None] - 2 - shot, 0)]
    touched = interactions.matrix()[chosen]
    touched.sort_indices()
    return Split(
        users=chosen.astype(np.int32),
        targets=interactions.rows[order[ends - 1]],
        histories=np.where(there, interactions.rows[entries], np.int32(-1)),
        tied=times[order[ends - 1]] == times[order[ends - 2]],
        touched=touched,
        rated=interactions.counts() > 0,
        n_few=interactions.n_users - len(chosen),
    )
