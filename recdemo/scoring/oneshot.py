"""One-shot: from what a user touched before, how near is what the user touched next?

The second protocol. For each user the newest item is the target and the one before it (or the
next few) the history (`recdemo.scoring.split`). The target is ranked among other rated items
by its distance from the history, and its place is worth nDCG@10: 1 / log2(place + 1) up to
place 10, else 0. The other items are 99 drawn at random (`recdemo.scoring.negatives`), or all
rated items; in both cases without those that the user touched, so the two differ by nothing
but the sample.

A sample makes the task easier and can mislead. Krichene and Rendle (KDD 2020; CACM 2022,
doi 10.1145/3535335): sampled metrics are inconsistent, the order of two models can flip even
in expectation, and with few samples they all come close to AUC. Cañamares and Castells (RecSys
2020): the size of the sample changes the order of systems and the number of ties. Dallmann,
Zoller and Hotho (RecSys 2021, arXiv 2107.13045): 100 negatives, drawn evenly or by popularity,
do not give the order of the full ranking. Therefore the full ranking is always at hand. To
both applies that what a user did not touch need not be irrelevant (Tian and Ekstrand 2020,
arXiv 2001.09455).
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset.interactions import IntArray
from recdemo.errors import EmbeddingError
from recdemo.scoring.negatives import Negatives
from recdemo.scoring.recall import Scores, discounts
from recdemo.scoring.split import Split

FloatArray: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.intp]
Ties: TypeAlias = Literal["expected", "pessimistic", "optimistic"]

K = 10
PAIR_BYTES = 2 * 2**20  # of the differences at a time: small enough for a processor's cache
BLOCK_BYTES = 32 * 2**20  # of one (users, vectors) float64 array of distances; a few live at once


@dataclass(frozen=True, slots=True, eq=False)
class OneShotScores:
    """The scores of one model for every user that can be scored, with what was left out."""

    users: IntArray  # (u,) users counted, ascending
    k: int
    ndcg: FloatArray  # (u,) in [0, 1]
    hit: FloatArray  # (u,) in [0, 1]: the target is among the k nearest
    chance: dict[str, float]  # "ndcg" and "hit" of a model that knows nothing, on these users
    n_few: int  # users left out, with fewer than two interactions
    n_no_history: int  # users left out, whose history has no vector
    n_no_target: int  # users counted as a miss, whose target has no vector
    tie_share: float  # of users with a target, whose target is decided by equal timestamps

    def scores(self) -> Scores:
        """Return the values per user as `Scores`; with one target, hit rate is recall."""
        return Scores(self.users, (self.k,), self.hit[:, None], self.ndcg[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Each different vector once, and where the vector of each item stands among them."""

    vectors: NDArray[np.float32]  # (m, dimension)
    place: Places  # (n_items + 1,) -1 for an item without vector; the last is for padding


def score_one_shot(
    vectors: NDArray[np.float32],
    has_vector: NDArray[np.bool_],
    split: Split,
    negatives: Negatives | None,
    ties: Ties = "expected",
    k: int = K,
) -> OneShotScores:
    """Rank the target of each user by the sum of Euclidean distances to the history items.

    With *nearer* other candidates strictly nearer than the target and *equal* at exactly its
    distance, the value is the mean of what the places nearer + 1 to nearer + equal + 1 are
    worth, which is the expected value over random orders; pessimistic takes the last of these
    places, optimistic the first. Candidates and history items without a vector are passed
    over. A user none of whose history items has one is left out and counted; a target without
    one is a miss.

    Args:
        vectors: ``(n_items, dimension)``; what stands where there is no vector does not matter.
        has_vector: ``(n_items,)``.
        negatives: of the same users; None ranks among all rated items.
    """
    if negatives is not None and not np.array_equal(negatives.users, split.users):
        raise ValueError("the negatives belong to other users than the split")
    points = _points(vectors, has_vector)
    histories = points.place[split.histories]  # (u, shots)
    counted = (histories >= 0).any(axis=1)
    if not counted.any():
        raise EmbeddingError("no history item of any user has a vector, so nothing can be scored")
    targets = points.place[split.targets]
    ranked = np.flatnonzero(counted & (targets >= 0))
    nearer, equal = np.full(len(targets), np.iinfo(np.int32).max // 2), np.zeros(len(targets), int)
    if negatives is None:
        found = _among_all(points, split, ranked)
    else:
        found = _among_some(points, histories[ranked], targets[ranked], negatives.rows[ranked])
    nearer[ranked], equal[ranked] = found
    ndcg, hit = _worth(nearer[counted], equal[counted], ties, k)
    n_others = split.n_free() if negatives is None else (negatives.rows >= 0).sum(axis=1)
    by_chance = _worth(np.zeros(counted.sum(), int), n_others[counted], "expected", k)
    return OneShotScores(
        users=split.users[counted],
        k=k,
        ndcg=ndcg,
        hit=hit,
        chance={"ndcg": float(by_chance[0].mean()), "hit": float(by_chance[1].mean())},
        n_few=split.n_few,
        n_no_history=int((~counted).sum()),
        n_no_target=int(counted.sum()) - len(ranked),
        tie_share=split.tie_share,
    )


def _worth(
    nearer: NDArray[np.integer], equal: NDArray[np.integer], ties: Ties, k: int
) -> tuple[FloatArray, FloatArray]:
    """Return nDCG@k and hit rate of targets behind *nearer* and among *equal* others."""
    if ties == "expected":
        before, last = nearer, nearer + equal + 1
    elif ties == "pessimistic":
        before, last = nearer + equal, nearer + equal + 1
    elif ties == "optimistic":
        before, last = nearer, nearer + 1
    else:
        raise ValueError(f"unknown ties {ties!r}; expected expected, pessimistic or optimistic")
    worth = np.concatenate([[0.0], np.cumsum(discounts(k))])  # of the first p places
    shared = last - before
    first, end = np.minimum(before, k), np.minimum(last, k)
    return (worth[end] - worth[first]) / shared, (end - first) / shared


def _points(vectors: NDArray[np.float32], has_vector: NDArray[np.bool_]) -> _Points:
    own = vectors[has_vector] + np.float32(0)  # no -0.0
    different, which = np.unique(own, axis=0, return_inverse=True)
    place = np.full(len(vectors) + 1, -1, np.intp)
    place[:-1][has_vector] = which.reshape(-1)
    return _Points(different, place)


def _away(points: _Points, histories: Places, places: Places) -> FloatArray:
    """Return the summed distances ``(b, c)`` from histories ``(b, shots)`` to places ``(b, c)``.

    Computed pair by pair from differences, so that it depends on nothing but the two vectors,
    and equal vectors are equally far to the last bit. The shots are added smallest first, so
    that their order does not matter either. Where a place is -1 it means nothing.
    """
    total = np.zeros(places.shape)
    step = max(1, PAIR_BYTES // (8 * max(1, points.vectors.shape[1] * places.shape[1])))
    for start in range(0, len(places), step):
        part = slice(start, start + step)
        ends = points.vectors[places[part]].astype(np.float64)  # (b, c, dimension)
        each = np.zeros((histories.shape[1], *ends.shape[:2]))
        for i, shot in enumerate(histories[part].T):
            gaps = ends - points.vectors[shot][:, None, :]
            np.square(gaps, out=gaps)
            each[i] = np.where(shot[:, None] >= 0, np.sqrt(gaps.sum(axis=2)), 0)
        each.sort(axis=0)
        total[part] = each.sum(axis=0)
    return total


def _among_some(
    points: _Points, histories: Places, targets: Places, rows: IntArray
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count the rows ``(u, n)`` nearer than the target and at its distance, ``(u,)`` each."""
    places = points.place[rows]
    own = _away(points, histories, targets[:, None])
    away = np.where(places >= 0, _away(points, histories, places), np.inf)
    return (away < own).sum(axis=1), (away == own).sum(axis=1)


def _among_all(
    points: _Points, split: Split, ranked: Places
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count the rated items nearer than the target and at its distance, ``(u,)`` each.

    Only different vectors are compared, and by a matrix product; the few whose distance is
    too close to the target's for its rounding are compared again, pair by pair.
    """
    nearer, equal = np.zeros(len(ranked), np.intp), np.zeros(len(ranked), np.intp)
    rows = np.flatnonzero(split.rated & (points.place[:-1] >= 0))
    column = np.full(len(split.rated), -1)
    column[rows] = np.arange(len(rows))
    product = _Product.of(points)
    histories, targets = points.place[split.histories[ranked]], points.place[split.targets[ranked]]
    order = np.argsort(histories[:, 0], kind="stable")  # equal histories are computed once
    step = max(1, BLOCK_BYTES // (8 * max(len(points.vectors), len(rows))))
    for start in range(0, len(order), step):
        part = order[start : start + step]
        near, level = _compare(points, product, histories[part], targets[part])  # (b, m) each
        others = np.ones((len(part), len(rows)), bool)
        touched = split.touched[ranked[part]].tocoo()  # the target is among them
        at = column[touched.col]
        others[touched.row[at >= 0], at[at >= 0]] = False
        nearer[part] = (near[:, points.place[rows]] & others).sum(axis=1)
        equal[part] = (level[:, points.place[rows]] & others).sum(axis=1)
    return nearer, equal


@dataclass(frozen=True, slots=True, eq=False)
class _Product:
    """Distances by a matrix product: fast, and right to within `error`."""

    vectors: FloatArray  # (m, dimension) around their mean, where rounding is smallest
    squares: FloatArray  # (m,)
    error: float

    @classmethod
    def of(cls, points: _Points) -> "_Product":
        vectors = points.vectors - points.vectors.mean(axis=0, dtype=np.float64)
        squares = (vectors**2).sum(axis=1)
        # Four sums of `dimension` products, none above the largest square (Higham 2002,
        # section 3.1), and some for the mean; the root of it bounds the error of the root.
        bound = 4 * (vectors.shape[1] + 8) * np.finfo(np.float64).eps * squares.max()
        return cls(vectors, squares, float(np.sqrt(bound)))

    def away(self, histories: Places) -> FloatArray:
        """Return the summed distances of histories ``(b, shots)`` to all vectors, ``(b, m)``."""
        total = np.zeros((len(histories), len(self.vectors)))
        for shot in histories.T:
            asked, which = np.unique(shot, return_inverse=True)
            product = self.vectors[asked] @ self.vectors.T
            squares = self.squares[asked, None] + self.squares - 2 * product
            distances = np.sqrt(np.maximum(squares, 0, out=squares), out=squares)
            distances[asked < 0] = 0
            total += distances[which]
        return total


def _compare(
    points: _Points, product: _Product, histories: Places, targets: Places
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which vectors are nearer than the target and which as far, ``(b, m)`` each."""
    away = product.away(histories)
    away -= np.take_along_axis(away, targets[:, None], axis=1)
    doubt = 2 * histories.shape[1] * product.error
    near, level = away < -doubt, np.abs(away) <= doubt
    lines, places = np.nonzero(level)
    exact = _away(points, histories[lines], places[:, None])[:, 0]
    own = _away(points, histories, targets[:, None])[lines, 0]
    near[lines, places] = exact < own
    level[lines, places] = exact == own
    return near, level
