"""How far apart two models are, on the same queries: test, correction, sizes, overlap of lists.

The test is the sign-flip randomization: where two models are equally good, it is chance which
of them got which of the two scores of a query, so every difference may as well have the other
sign. It holds its level at the sizes of catalogs and needs no assumption about the shape of
the scores, unlike Wilcoxon's and the sign test (Ihemelandu and Ekstrand, SIGIR 2023).
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recdemo.scoring.statistics import RESAMPLES, SEED

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int32]

LEVEL = 0.05  # an adjusted p below it tells two models apart
PERSISTENCE = 0.9  # of rank-biased overlap: the first 10 places have 86 % of the weight
_CHUNK = 250  # flips at a time
_PART_BYTES = 8 * 2**20  # of one array of places of items
_ROUNDING = 1e-12


def differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return first minus second; what is only rounding is 0, so that ties are ties.

    Args:
        first: scores in [0, 1], a line per query.
        second: those of the same queries.
    """
    difference = first - second
    difference[np.abs(difference) < _ROUNDING] = 0
    return difference


def sign_flip_test(
    differences: FloatArray, resamples: int = RESAMPLES, seed: int = SEED
) -> FloatArray:
    """Return the two-sided p of the mean of each column of paired differences, ``(m,)``.

    p = (1 + number of random sign flips whose mean is at least as far from 0) / (flips + 1),
    so it is never 0, and 1 where all differences are 0. All columns share the flips.

    Args:
        differences: ``(n, m)``, a line per query, a column per pair of models.
    """
    n, m = differences.shape
    total = differences.sum(axis=0)
    reach = np.abs(total) - _ROUNDING * np.abs(differences).sum(axis=0)
    random = np.random.default_rng([seed, 1])  # not the stream of the bootstrap
    as_far = np.zeros(m, np.int64)
    for start in range(0, resamples, _CHUNK):
        lines = min(_CHUNK, resamples - start)
        drawn = np.frombuffer(random.bytes(lines * -(-n // 8)), np.uint8)
        kept = np.unpackbits(drawn.reshape(lines, -1), axis=1, count=n).astype(np.float64)
        flipped = 2 * kept @ differences - total  # (lines, m) sums with random signs
        as_far += (np.abs(flipped) >= reach).sum(axis=0)
    p: FloatArray = (1 + as_far) / (resamples + 1)
    return p


def holm(p: FloatArray) -> FloatArray:
    """Return p values adjusted for all of them being looked at, ``(m,)`` (Holm 1979).

    With the p sorted: adjusted_(i) = max over j <= i of min(1, (m - j + 1) p_(j)).
    """
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1, np.arange(len(p), 0, -1) * p[order])
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


def wins_ties_losses(difference: FloatArray) -> tuple[int, int, int]:
    """Return on how many queries the first of two models is better, equal and worse."""
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    return wins, len(difference) - wins - losses, losses


def share_of_range(difference: float, best: float, chance: float) -> float | None:
    """Return a mean difference as a share of what the best model is above chance.

    None where the best is not above chance.
    """
    return difference / (best - chance) if best > chance else None


def rank_biased_overlap(first: IntArray, second: IntArray, p: float = PERSISTENCE) -> FloatArray:
    """Return the extrapolated rank-biased overlap of each two ranked lists, ``(q,)`` in [0, 1].

    Webber, Moffat and Zobel (2010): with X_d items among the first d of both lists of length
    k, RBO = X_k / k p^k + (1 - p) / p sum over d = 1..k of X_d / d p^d. It asks how much a
    reader who goes on from each place to the next with probability p = 0.9 finds in both.
    Lists of different length are compared to the depth of the shorter; one empty list
    overlaps with nothing, and two empty lists are the same.

    Args:
        first: ``(q, k)`` rows of items, best first, padded with -1 at the end.
        second: ``(q, k)`` likewise.
    """
    largest = max(int(first.max(initial=0)), int(second.max(initial=0)))
    step = max(1, _PART_BYTES // (4 * (largest + 2)))
    parts = [
        _overlap(first[start : start + step], second[start : start + step], p, largest)
        for start in range(0, len(first), step)
    ]
    return np.concatenate([np.zeros(0), *parts])


def _overlap(first: IntArray, second: IntArray, p: float, largest: int) -> FloatArray:
    lines, k = first.shape
    lengths = np.minimum((first >= 0).sum(axis=1), (second >= 0).sum(axis=1))  # (b,)
    place = np.full((lines, largest + 2), k, np.int32)  # of an item in `second`; k: not there
    ranks = np.broadcast_to(np.arange(k, dtype=np.int32), (lines, k))
    np.put_along_axis(place, second, ranks, axis=1)
    place[:, -1] = k  # where padding, -1, points
    met = np.maximum(ranks, np.take_along_axis(place, first, axis=1))  # depth, from 0
    line, column = np.nonzero(met < lengths[:, None])
    counts = np.bincount(line * k + met[line, column], minlength=lines * k)
    depth = np.arange(1, k + 1)
    agreement = np.cumsum(counts.reshape(lines, k), axis=1) / depth  # X_d / d
    within = depth <= lengths[:, None]
    summed = (1 - p) / p * np.where(within, agreement * p**depth, 0).sum(axis=1)
    last = np.take_along_axis(agreement, np.maximum(lengths, 1)[:, None] - 1, axis=1)[:, 0]
    both_empty = ((first < 0) & (second < 0)).all(axis=1)
    overlap: FloatArray = np.where(lengths > 0, summed + last * p**lengths, both_empty)
    return overlap


def kendall_tau(first: FloatArray, second: FloatArray) -> float:
    """Return Kendall's tau-b of two scores of the same models; NaN where one is constant.

    Args:
        first: ``(m,)``.
        second: ``(m,)``.
    """
    a, b = (np.sign(values[:, None] - values[None, :]) for values in (first, second))
    pairs = np.sqrt((a * a).sum() * (b * b).sum())  # not tied in the one, and in the other
    return float((a * b).sum() / pairs) if pairs else float("nan")
