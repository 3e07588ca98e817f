"""Recall@K and nDCG@K, neutral to ties.

Where several items stand at exactly the same distance, no order among them is right. Each
then gets the mean of what the places they share are worth, which is the expected value over
random orders (McSherry and Najork, ECIR 2008). So a constant vector scores chance.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recdemo.scoring.sampling import Strata
from recdemo.truth import Truth

FloatArray: TypeAlias = NDArray[np.float64]

_NOT_RELEVANT = np.iinfo(np.int32).max
_PART_BYTES = 4 * 2**20  # of an array (queries, items of the catalog) of places


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of one model for every query item."""

    queries: NDArray[np.int32]  # (q,) rows
    ks: tuple[int, ...]
    recall: FloatArray  # (q, len(ks)) in [0, 1]
    ndcg: FloatArray  # (q, len(ks)) in [0, 1]
    strata: Strata | None = None  # where the queries are a sample

    def means(self, measure: str) -> dict[int, float]:
        """Return the mean over queries at every K; *measure* is ``recall`` or ``ndcg``."""
        values = self.recall if measure == "recall" else self.ndcg
        return dict(zip(self.ks, map(float, values.mean(axis=0)), strict=True))


class Tally:
    """Scores the neighbors of *queries* as they arrive, in parts and in order.

    Args:
        lists: ``(q, K)`` truth lists of the queries, none of them empty, padded with -1; K is
            at least the largest of *ks*.
        n_items: of the whole catalog.
        queries: ``(q,)`` their rows.
        strata: where the queries are a sample.
    """

    def __init__(
        self,
        lists: NDArray[np.int32],
        n_items: int,
        queries: NDArray[np.int32],
        ks: Sequence[int],
        strata: Strata | None = None,
    ) -> None:
        self._lists, self._n_items, self._queries = lists, n_items, queries
        self._ks, self._strata = tuple(ks), strata
        self._recall = np.zeros((len(queries), len(ks)))
        self._ndcg = np.zeros((len(queries), len(ks)))
        self._done = 0

    def add(self, rows: NDArray[np.int32], distances: NDArray[np.floating]) -> None:
        """Score the lists of the next queries.

        Args:
            rows: ``(b, w)`` padded with -1, sorted by (distance, row), without the query, and
                holding every item as near as the K-th for the largest K.
            distances: ``(b, w)`` padded with infinity.
        """
        part = slice(self._done, self._done + len(rows))
        self._done += len(rows)
        if self._done > len(self._queries):
            raise ValueError(f"{self._done} lists for {len(self._queries)} queries")
        rank = truth_rank(self._lists[part], self._n_items, rows)
        lengths = (self._lists[part] >= 0).sum(axis=1)  # (b,)
        first, last = tie_groups(distances)
        self._recall[part] = _recall(rank, lengths, first, last, self._ks)
        self._ndcg[part] = _ndcg(rank, lengths, first, last, self._ks)

    def scores(self) -> Scores:
        """Return the scores, when all lists have come."""
        if self._done != len(self._queries):
            raise ValueError(f"{self._done} lists for {len(self._queries)} queries")
        return Scores(self._queries, self._ks, self._recall, self._ndcg, self._strata)


def score_lists(
    truth: Truth,
    queries: NDArray[np.int32],
    lists: Iterable[tuple[NDArray[np.int32], NDArray[np.floating]]],
    ks: Sequence[int],
) -> Scores:
    """Score the neighbors of all *queries*; what the lists must be says `Tally`."""
    tally = Tally(truth.neighbors[queries], len(truth.rated), queries, ks)
    for rows, distances in lists:
        tally.add(rows, distances)
    return tally.scores()


def truth_rank(
    lists: NDArray[np.int32], n_items: int, rows: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the place of each found item in the truth list of its query, ``(b, w)`` from 0.

    An item that is not in the list, and padding, get a number larger than any K.

    Args:
        lists: ``(b, K)`` truth lists, padded with -1.
        rows: ``(b, w)`` what was found, padded with -1.
    """
    found = np.empty_like(rows)
    step = max(1, _PART_BYTES // (4 * n_items))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        own = lists[part]
        places = np.full((len(own), n_items + 1), _NOT_RELEVANT, np.int32)
        order = np.broadcast_to(np.arange(own.shape[1], dtype=np.int32), own.shape)
        np.put_along_axis(places, own, order, axis=1)
        places[:, -1] = _NOT_RELEVANT  # where padding, -1, points
        found[part] = np.take_along_axis(places, rows[part], axis=1)
    return found


def tie_groups(distances: NDArray[np.floating]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return for each place where its group of equal distances begins and ends, ``(b, w)``.

    Args:
        distances: ``(b, w)`` ascending.
    """
    width = distances.shape[1]
    places = np.arange(width)
    changes = np.ones((len(distances), width + 1), bool)
    changes[:, 1:-1] = distances[:, 1:] != distances[:, :-1]
    first = np.maximum.accumulate(np.where(changes[:, :-1], places, 0), axis=1)
    ends = np.where(changes[:, 1:], places + 1, width)
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    return first, last


def _recall(
    rank: NDArray[np.int32],
    lengths: NDArray[np.intp],
    first: NDArray[np.intp],
    last: NDArray[np.intp],
    ks: Sequence[int],
) -> FloatArray:
    """Recall@K: the share of the truth list at K among the K nearest.

    With m candidates strictly nearer than the K-th distance and t at exactly that distance,
    each of the t counts (K - m) / t. The divisor is the length of the truth list at K.
    """
    columns = []
    for k in ks:
        share = (np.minimum(last, k) - np.minimum(first, k)) / (last - first)
        found = np.where(rank < k, share, 0).sum(axis=1)
        columns.append(found / np.minimum(lengths, k))
    return np.stack(columns, axis=1)


def _ndcg(
    rank: NDArray[np.int32],
    lengths: NDArray[np.intp],
    first: NDArray[np.intp],
    last: NDArray[np.intp],
    ks: Sequence[int],
) -> FloatArray:
    """nDCG@K with gain 0 or 1 and log base 2.

    Place p, from 1, is worth 1 / log2(p + 1). A group of equal distances contributes the
    share of it that is relevant times the sum of what its places up to K are worth. The
    ideal is taken over the length of the truth list at K.
    """
    worth = np.concatenate([[0.0], np.cumsum(discounts(max(ks)))])  # of the first p places
    columns = []
    for k in ks:
        share = worth[np.minimum(last, k)] - worth[np.minimum(first, k)]
        gained = np.where(rank < k, share / (last - first), 0).sum(axis=1)
        columns.append(gained / worth[np.minimum(lengths, k)])
    return np.stack(columns, axis=1)


def discounts(k: int) -> FloatArray:
    """Return what each of the first *k* places is worth: 1 / log2(place + 1)."""
    worth: FloatArray = 1 / np.log2(np.arange(2, k + 2))
    return worth
