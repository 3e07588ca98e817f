"""Intervals of means over queries: of scores, and of the paired differences of two models."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

FloatArray: TypeAlias = NDArray[np.float64]

RESAMPLES = 10_000
SEED = 20250705
LEVEL = 0.95
FEWEST = 30  # below this many queries a bootstrap interval means nothing
_CHUNK = 250  # resamples at a time


def bootstrap_means(values: FloatArray, resamples: int = RESAMPLES, seed: int = SEED) -> FloatArray:
    """Return the means of bootstrap resamples, ``(resamples, m)``; all columns share them.

    Args:
        values: ``(n, m)``, a column per model and measure, a line per query.
    """
    return np.concatenate(
        [w @ values / len(values) for w in _weights(len(values), resamples, seed)]
    )


def _weights(n: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """Yield how often each of *n* queries was drawn, ``(chunk, n)``, chunk by chunk."""
    random = np.random.default_rng(seed)
    for start in range(0, resamples, _CHUNK):
        lines = min(_CHUNK, resamples - start)
        drawn = random.integers(0, n, (lines, n), dtype=np.int32)
        drawn += np.arange(lines, dtype=np.int32)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=lines * n).reshape(lines, n).astype(np.float64)


def intervals(
    values: FloatArray, resamples: int = RESAMPLES, seed: int = SEED
) -> list[tuple[float, float] | None]:
    """Return the 95 % percentile bootstrap interval of the mean of each column.

    None for fewer than 30 queries. Given paired differences, the scores of one model minus
    those of another on the same queries, it is the interval of the mean difference. Resamples
    depend on the number of queries and the seed only, so all scores and differences of the
    same queries share them.

    Args:
        values: ``(n, m)``.
    """
    if len(values) < FEWEST:
        return [None] * values.shape[1]
    tail = _tail(len(values))
    low, high = np.quantile(bootstrap_means(values, resamples, seed), [tail, 1 - tail], axis=0)
    means = values.mean(axis=0)
    low, high = np.minimum(low, means), np.maximum(high, means)  # not outside by rounding
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def _tail(n: int) -> float:
    """Return the share of resamples to cut off at each end.

    A resample varies less than the mean of n queries does, by (n - 1) / n, and by as much as
    the normal distribution is narrower than Student's. So a little less than 2.5 % is cut
    (the expanded percentile interval, Hesterberg 2015): 1.9 % for 30 queries, 2.4 % for 200.
    """
    reach = np.sqrt(n / (n - 1)) * special.stdtrit(n - 1, (1 + LEVEL) / 2)
    return float(special.ndtr(-reach))
