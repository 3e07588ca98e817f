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

from recdemo.truth import Truth

FloatArray: TypeAlias = NDArray[np.float64]

_NOT_RELEVANT = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of one model for every query item."""

    queries: NDArray[np.int32]  # (q,) rows
    ks: tuple[int, ...]
    recall: FloatArray  # (q, len(ks)) in [0, 1]
    ndcg: FloatArray  # (q, len(ks)) in [0, 1]

    def means(self, measure: str) -> dict[int, float]:
        """Return the mean over queries at every K; *measure* is ``recall`` or ``ndcg``."""
        values = self.recall if measure == "recall" else self.ndcg
        return dict(zip(self.ks, map(float, values.mean(axis=0)), strict=True))


def score_lists(
    truth: Truth,
    queries: NDArray[np.int32],
    lists: Iterable[tuple[NDArray[np.int32], NDArray[np.floating]]],
    ks: Sequence[int],
) -> Scores:
    """Score the neighbors of all *queries*, which arrive in parts and in order.

    Args:
        truth: lists at least as long as the largest of *ks*.
        queries: ``(q,)`` rows that have a truth list.
        lists: rows ``(b, w)`` padded with -1 and distances ``(b, w)`` padded with infinity,
            sorted by (distance, row), without the query, and holding every item as near as
            the K-th for the largest K; all b together are the q queries.
    """
    recall, ndcg = [], []
    start = 0
    for rows, distances in lists:
        part = queries[start : start + len(rows)]
        start += len(rows)
        rank = truth_rank(truth, part, rows)
        lengths = (truth.neighbors[part] >= 0).sum(axis=1)  # (b,)
        first, last = tie_groups(distances)
        recall.append(_recall(rank, lengths, first, last, ks))
        ndcg.append(_ndcg(rank, lengths, first, last, ks))
    if start != len(queries):
        raise ValueError(f"{start} lists for {len(queries)} queries")
    empty = [np.zeros((0, len(ks)))]
    return Scores(
        queries, tuple(ks), np.concatenate(recall or empty), np.concatenate(ndcg or empty)
    )


def truth_rank(
    truth: Truth, queries: NDArray[np.int32], rows: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the place of each found item in the query's truth list, ``(b, w)`` from 0.

    An item that is not in the list, and padding, get a number larger than any K.
    """
    places = np.full((len(queries), len(truth.rated) + 1), _NOT_RELEVANT, np.int32)
    order = np.broadcast_to(np.arange(truth.k, dtype=np.int32), (len(queries), truth.k))
    np.put_along_axis(places, truth.neighbors[queries], order, axis=1)
    places[:, -1] = _NOT_RELEVANT  # where padding, -1, points
    return np.take_along_axis(places, rows, axis=1)


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
