"""A sample of the query items, stratified by popularity, for catalogs too large to ask for all.

Recall depends on how popular an item is, so a plain random sample with a few blockbusters more
or less than their share moves every score. Strata take that part of the chance away (Cochran,
Sampling Techniques, 3rd ed. 1977, chapter 5): items are ordered by how many users touched them
and cut into stretches of about equally many, and each gives its share of the sample.

The share of a stratum is no whole number. It is rounded up or down at random so that on average
it is exact (Cox 1987, JASA 82, doi 10.1080/01621459.1987.10478456), by one random start for all
strata. So every item has the same chance to be drawn, n / M, and the plain mean over the sample
is an unbiased estimate of the mean over all; largest remainders would favor some strata.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset.interactions import IntArray
from recdemo.errors import DatasetError

SEED = 20250705
FEWEST = 30  # items of a sample; below it no interval means anything
_STRATA = 10  # at most
_DRAWN = 10  # items that a stratum gives, about, at the least


@dataclass(frozen=True, slots=True)
class Stratum:
    """The query items of like popularity."""

    low: int  # users who touched an item, at least
    high: int  # and at most
    items: int
    drawn: int


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """How queries were drawn, as far as intervals need it."""

    which: NDArray[np.int16]  # (n,) the stratum of each query
    population: int  # query items that they were drawn from


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Query items that were drawn."""

    queries: IntArray  # (n,) rows, ascending
    strata: Strata
    described: tuple[Stratum, ...]  # the least popular first
    seed: int


def check_size(n: int) -> None:
    """Refuse a sample that is too small to say anything."""
    if n < FEWEST:
        raise DatasetError(
            f"a sample of {n} query items says nothing; use --sample {FEWEST} or a larger number"
        )


def draw_sample(queries: IntArray, counts: IntArray, n: int, seed: int = SEED) -> Sample:
    """Draw *n* of the *queries*, each with the same probability, by strata of popularity.

    Args:
        queries: ``(m,)`` rows, ascending, m at least *n*.
        counts: ``(n_items,)`` users who touched each item of the catalog.
    """
    check_size(n)
    popularity = counts[queries]
    which = _strata(popularity, min(_STRATA, n // _DRAWN))
    random = np.random.default_rng(seed)
    shares = _shares(np.bincount(which), n, random)
    places = [
        np.sort(random.choice(np.flatnonzero(which == i), share, replace=False))
        for i, share in enumerate(shares)
    ]
    taken = np.sort(np.concatenate(places))
    return Sample(
        queries[taken],
        Strata(which[taken].astype(np.int16), len(queries)),
        tuple(_described(popularity, which, shares)),
        seed,
    )


def _strata(popularity: IntArray, most: int) -> NDArray[np.intp]:
    """Return the stratum of each item, ``(m,)``: equal popularity, equal stratum.

    From the least popular on, a stratum is closed when it has its share of the items; what
    is left in the end goes to the last one.
    """
    values, place, sizes = np.unique(popularity, return_inverse=True, return_counts=True)
    of_value, stratum, begun = np.zeros(len(values), np.intp), 0, 0
    for i, end in enumerate(np.cumsum(sizes).tolist()):
        of_value[i] = stratum
        if min(end - begun, len(popularity) - end) * most >= len(popularity):
            stratum, begun = stratum + 1, end
    found: NDArray[np.intp] = of_value[place]
    return found


def _shares(sizes: NDArray[np.intp], n: int, random: np.random.Generator) -> list[int]:
    """Return how many items each stratum gives, *n* in all, on average exactly n size / m.

    Whole numbers throughout, so that nothing depends on rounding.
    """
    total = int(sizes.sum())
    start = int(random.integers(total))
    ends = [(n * int(end) + start) // total for end in (0, *np.cumsum(sizes))]
    return [after - before for before, after in itertools.pairwise(ends)]


def _described(
    popularity: IntArray, which: NDArray[np.intp], shares: list[int]
) -> Iterator[Stratum]:
    for i, share in enumerate(shares):
        own = popularity[which == i]
        yield Stratum(int(own.min()), int(own.max()), len(own), share)
