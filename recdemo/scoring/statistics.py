"""Intervals of means over queries: of scores, and of the paired differences of two models."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from recdemo.scoring.sampling import Strata

FloatArray: TypeAlias = NDArray[np.float64]

RESAMPLES = 10_000
SEED = 20250705
LEVEL = 0.95
FEWEST = 30  # below this many queries a bootstrap interval means nothing
_CHUNK = 250  # resamples at a time
_CELLS = 4 * 2**20  # resamples x queries at a time


def bootstrap_means(
    values: FloatArray,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    strata: Strata | None = None,
) -> FloatArray:
    """Return the means of bootstrap resamples, ``(resamples, m)``; all columns share them.

    Of a stratified sample a resample is drawn in two steps, as the sample was: how many items
    of each stratum another catalog of this size would have, then as many queries within each
    stratum as the sample has. So the means vary as those of samples of other catalogs do, and
    where the sample is the whole catalog as those of plain resamples. No correction is made
    for a finite catalog: the interval is about items like these, as that of a whole run is.

    Args:
        values: ``(n, m)``, a column per model and measure, a line per query.
    """
    if strata is None:
        weights = _weights(len(values), resamples, seed)
    else:
        values = values[np.argsort(strata.which, kind="stable")]
        weights = _stratified(strata, resamples, seed)
    return np.concatenate([w @ values / len(values) for w in weights])


def _lines(n: int, resamples: int) -> Iterator[int]:
    """Yield how many resamples of *n* queries to draw at a time."""
    step = max(1, min(_CHUNK, _CELLS // n))
    for start in range(0, resamples, step):
        yield min(step, resamples - start)


def _weights(n: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """Yield how often each of *n* queries was drawn, ``(chunk, n)``, chunk by chunk."""
    random = np.random.default_rng(seed)
    for lines in _lines(n, resamples):
        yield _counted(random.integers(0, n, (lines, n), dtype=np.int32))


def _stratified(strata: Strata, resamples: int, seed: int) -> Iterator[FloatArray]:
    """Yield the weights of the queries in the order of their strata, ``(chunk, n)``, sum n."""
    random = np.random.default_rng(seed)
    sizes = np.bincount(strata.which)
    sizes = sizes[sizes > 0]
    n, own = int(sizes.sum()), np.repeat(np.arange(len(sizes)), sizes)  # stratum of each place
    first = (np.cumsum(sizes) - sizes)[own].astype(np.int32)
    for lines in _lines(n, resamples):
        catalogs = random.multinomial(strata.population, sizes / n, lines) / strata.population
        drawn = random.integers(0, sizes[own], (lines, n), dtype=np.int32)
        yield _counted(drawn + first) * (n * catalogs / sizes)[:, own]


def _counted(drawn: NDArray[np.int32]) -> FloatArray:
    """Return how often each place of each line was drawn, ``(lines, n)``."""
    lines, n = drawn.shape
    drawn += np.arange(lines, dtype=np.int32)[:, None] * n
    counts = np.bincount(drawn.ravel(), minlength=lines * n).reshape(lines, n)
    return counts.astype(np.float64)


def intervals(
    values: FloatArray,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    strata: Strata | None = None,
) -> list[tuple[float, float] | None]:
    """Return the 95 % percentile bootstrap interval of the mean of each column.

    None for fewer than 30 queries. Given paired differences, the scores of one model minus
    those of another on the same queries, it is the interval of the mean difference. Resamples
    depend on the number of queries and the seed only, so all scores and differences of the
    same queries share them.

    Args:
        values: ``(n, m)``.
        strata: where the queries are a sample; None: they are all.
    """
    if len(values) < FEWEST:
        return [None] * values.shape[1]
    tail = _tail(len(values), 1 if strata is None else len(np.unique(strata.which)))
    means = bootstrap_means(values, resamples, seed, strata)
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    means = values.mean(axis=0)
    low, high = np.minimum(low, means), np.maximum(high, means)  # not outside by rounding
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def _tail(n: int, n_strata: int = 1) -> float:
    """Return the share of resamples to cut off at each end.

    A resample varies less than the mean of n queries does, by (n - 1) / n, or by (n - h) / n
    where they come from h strata, and by as much as the normal distribution is narrower than
    Student's. So a little less than 2.5 % is cut (the expanded percentile interval, Hesterberg
    2015): 1.9 % for 30 queries, 2.4 % for 200.
    """
    free = n - n_strata
    reach = np.sqrt(n / free) * special.stdtrit(free, (1 + LEVEL) / 2)
    return float(special.ndtr(-reach))
