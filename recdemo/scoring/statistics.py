"""Intervals of means over queries."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

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

    None for fewer than 30 queries.

    Args:
        values: ``(n, m)``.
    """
    if len(values) < FEWEST:
        return [None] * values.shape[1]
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(bootstrap_means(values, resamples, seed), [tail, 1 - tail], axis=0)
    means = values.mean(axis=0)
    low, high = np.minimum(low, means), np.maximum(high, means)  # not outside by rounding
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
