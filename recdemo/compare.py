"""Models held against each other on the same queries: who is better, by how much, how surely."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recdemo.entrants import Entrant, Field
from recdemo.scoring.comparing import (
    LEVEL,
    FloatArray,
    IntArray,
    differences,
    holm,
    kendall_tau,
    rank_biased_overlap,
    share_of_range,
    sign_flip_test,
    wins_ties_losses,
)
from recdemo.scoring.statistics import intervals


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two rows on the same queries: the first minus the second."""

    first: int  # places in the field
    second: int
    difference: float
    interval: tuple[float, float] | None  # 95 %, paired; None: too few queries
    p: float  # sign-flip randomization, two-sided
    adjusted: float  # by Holm, over all comparisons made
    share: float | None  # difference as a share of (best - chance)
    wins: int  # queries on which the first is better
    ties: int
    losses: int
    overlap: float | None  # mean rank-biased overlap of the lists; None: no lists at hand

    @property
    def identical(self) -> bool:
        """Whether both score the same on every query."""
        return not self.wins and not self.losses

    @property
    def told_apart(self) -> bool:
        """Whether the adjusted p is below 5 %."""
        return self.adjusted < LEVEL


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """All that is known about the rows of a field."""

    field: Field  # best first
    scores: tuple[float, ...]  # mean of each row
    comparisons: tuple[Comparison, ...]
    all_pairs: bool  # else each against the best
    tau: Mapping[int, float]  # other K -> Kendall's tau-b of the order of the rows with this one

    @property
    def chance(self) -> float | None:
        """What a model that knows nothing scores."""
        return self.field.entrants[0].chance(self.field.measure, self.field.k)

    @property
    def group(self) -> tuple[Entrant, ...]:
        """The best row and those that cannot be told from it."""
        apart = {i for pair in self.with_best if pair.told_apart for i in (pair.first, pair.second)}
        return tuple(e for i, e in enumerate(self.field.entrants) if i == 0 or i not in apart)

    @property
    def with_best(self) -> tuple[Comparison, ...]:
        """The comparisons that the best row is part of."""
        return tuple(pair for pair in self.comparisons if 0 in (pair.first, pair.second))


def compare(
    field: Field, all_pairs: bool = False, lists: Mapping[int, IntArray] | None = None
) -> Compared:
    """Compare each row of a field with the best, or all with all.

    Args:
        field: two rows or more.
        lists: what rows recommend, by place in the field, ``(q, k)`` padded with -1.
    """
    count = len(field.entrants)
    values = field.values()  # (q, rows)
    pairs = list(combinations(range(count), 2)) if all_pairs else [(i, 0) for i in range(1, count)]
    apart = np.column_stack([differences(values[:, a], values[:, b]) for a, b in pairs])
    p = sign_flip_test(apart)
    return Compared(
        field=field,
        scores=tuple(map(float, values.mean(axis=0))),
        comparisons=_comparisons(field, pairs, apart, p, lists or {}),
        all_pairs=all_pairs,
        tau=_tau(field),
    )


def _comparisons(
    field: Field,
    pairs: list[tuple[int, int]],
    apart: FloatArray,
    p: FloatArray,
    lists: Mapping[int, IntArray],
) -> tuple[Comparison, ...]:
    best = field.entrants[0]
    top = float(best.values(field.measure, field.k).mean())
    chance = best.chance(field.measure, field.k)
    ends, adjusted = intervals(apart, strata=field.strata), holm(p)
    result = []
    for i, (a, b) in enumerate(pairs):
        mean = float(apart[:, i].mean())
        overlap = rank_biased_overlap(lists[a], lists[b]) if a in lists and b in lists else None
        result.append(
            Comparison(
                a,
                b,
                mean,
                ends[i],
                float(p[i]),
                float(adjusted[i]),
                None if chance is None else share_of_range(mean, top, chance),
                *wins_ties_losses(apart[:, i]),
                None if overlap is None else float(overlap.mean()),
            )
        )
    return tuple(result)


def _tau(field: Field) -> dict[int, float]:
    """Return how well the order of the rows agrees with that at each other K they all have."""
    if len(field.entrants) < 3:
        return {}  # two rows have no order to speak of
    shared = set.intersection(*(set(e.row.recall) for e in field.entrants))
    means = {
        k: np.array([e.values(field.measure, k).mean() for e in field.entrants]) for k in shared
    }
    found = {k: kendall_tau(means[field.k], means[k]) for k in sorted(shared - {field.k})}
    return {k: tau for k, tau in found.items() if not np.isnan(tau)}
