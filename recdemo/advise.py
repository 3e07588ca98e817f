"""What to choose: the smallest dimension and the cheapest model that are good enough.

Good enough is a question of "not worse", not of "equal": a row is not worse than another where
the lower end of the paired 95 % interval of its difference lies above minus a margin. The margin
is what the reader would give up for a smaller or cheaper one, so it is chosen before looking.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recdemo.dimensions import BASELINE, SERVICE, kind_of
from recdemo.entrants import Entrant, Field
from recdemo.scoring.comparing import differences
from recdemo.scoring.statistics import FEWEST, intervals

MARGIN = 0.005


@dataclass(frozen=True, slots=True)
class Gap:
    """How far one row is from another: the first minus the second."""

    difference: float
    interval: tuple[float, float] | None  # 95 %, paired

    def within(self, margin: float) -> bool:
        """Whether the first is not worse than the second by more than *margin*."""
        return self.interval is not None and self.interval[0] > -margin


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A row as something one might choose."""

    entrant: Entrant
    score: float
    gap: Gap  # to the best model; to the best baseline where no model was evaluated
    good_enough: bool
    kind: str  # baseline, open or service
    behavior: bool  # looks at behavior, which a new item has none of
    usd_per_million: float | None  # to embed a million items; 0: free; None: not known
    query_ms: float | None  # per item, exact search

    @property
    def name(self) -> str:
        """The name that no other row has."""
        return self.entrant.name

    @property
    def dimension(self) -> int:
        """Numbers per item."""
        return self.entrant.row.dimension

    @property
    def family(self) -> tuple[str, str, str]:
        """What rows share that differ in nothing but the dimension."""
        row = self.entrant.row
        return row.model, row.text, row.prefix


@dataclass(frozen=True, slots=True, eq=False)
class Shortening:
    """How far the dimension of one model can go down."""

    best: Candidate  # its best dimension
    smallest: Candidate  # the smallest not worse than that
    gap: Gap  # smallest minus best
    next_smaller: Candidate | None = None  # the one that is too small
    next_gap: Gap | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """What follows from a run for somebody who must choose."""

    field: Field
    margin: float
    candidates: tuple[Candidate, ...]  # best first
    shortenings: tuple[Shortening, ...]  # of models with several dimensions
    reason: str = ""  # why nothing can be told

    @property
    def best_model(self) -> Candidate | None:
        """The model with the highest score; None where only baselines ran."""
        return next((c for c in self.candidates if c.kind != BASELINE), None)

    @property
    def best_baseline(self) -> Candidate | None:
        """The best free baseline that does not look at behavior."""
        found = (c for c in self.candidates if c.kind == BASELINE and not c.behavior)
        return next(found, None)

    @property
    def reference(self) -> Candidate | None:
        """What the others are measured by: the best model, or baseline where there is none."""
        return self.best_model or self.best_baseline

    def smallest(self, baselines: bool) -> Candidate | None:
        """Return the good enough row of the smallest dimension, the better of equally small."""
        return min(self._good(baselines), key=lambda c: (c.dimension, -c.score), default=None)

    def cheapest(self) -> Candidate | None:
        """Return the good enough model that costs least, the smaller of equally cheap."""
        return min(
            (c for c in self._good(False) if c.usd_per_million is not None),
            key=lambda c: (c.usd_per_million, c.dimension),
            default=None,
        )

    def _good(self, baselines: bool) -> list[Candidate]:
        return [
            c
            for c in self.candidates
            if c.good_enough and not c.behavior and (c.kind == BASELINE) == baselines
        ]


def advise(field: Field, margin: float = MARGIN) -> Advice:
    """Say what can be chosen from the rows of a field without losing more than *margin*."""
    entrants = field.entrants
    reference = _reference(entrants)
    families: dict[tuple[str, str, str], list[int]] = {}
    for i, entrant in enumerate(entrants):
        families.setdefault((entrant.row.model, entrant.row.text, entrant.row.prefix), []).append(i)
    wanted = [(i, reference) for i in range(len(entrants))]
    wanted += [(i, own[0]) for own in families.values() for i in own]  # best first
    gaps = _gaps(field, wanted)
    scores = [float(e.values(field.measure, field.k).mean()) for e in entrants]
    candidates = [
        Candidate(
            entrant,
            scores[i],
            gaps[i, reference],
            i == reference or gaps[i, reference].within(margin),
            kind_of(entrant.row.model),
            entrant.looks_at_behavior,
            _usd_per_million([entrants[j] for j in families[_family(entrant)]]),
            _query_ms(entrant),
        )
        for i, entrant in enumerate(entrants)
    ]
    shortenings = [
        _shortening([candidates[i] for i in own], [gaps[i, own[0]] for i in own], margin)
        for own in families.values()
        if len({entrants[i].row.dimension for i in own}) > 1
    ]
    return Advice(field, margin, tuple(candidates), tuple(shortenings), _reason(field))


def _family(entrant: Entrant) -> tuple[str, str, str]:
    return entrant.row.model, entrant.row.text, entrant.row.prefix


def _reference(entrants: Sequence[Entrant]) -> int:
    """Return the place of the best model, else of the best baseline blind to behavior, else 0."""
    models = [i for i, e in enumerate(entrants) if kind_of(e.row.model) != BASELINE]
    blind = [i for i, e in enumerate(entrants) if not e.looks_at_behavior]
    return next(iter(models or blind), 0)


def _reason(field: Field) -> str:
    count = field.entrants[0].row.queries
    if count < FEWEST:
        return f"{count} {field.unit} are too few to tell models apart; it takes {FEWEST} or more"
    if len(field.entrants) == 1:
        return "there is only one row; evaluate other models or dimensions beside it"
    return ""


def _gaps(field: Field, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Gap]:
    values = field.values()
    different = list(dict.fromkeys(pairs))
    apart = np.column_stack([differences(values[:, a], values[:, b]) for a, b in different])
    means, found = apart.mean(axis=0), intervals(apart, strata=field.strata)
    return {
        pair: Gap(float(mean), interval)
        for pair, mean, interval in zip(different, means, found, strict=True)
    }


def _shortening(own: list[Candidate], gaps: list[Gap], margin: float) -> Shortening:
    """Find the smallest dimension of one model that is not worse than its best.

    Args:
        own: its rows, best first.
        gaps: of each to the best.
    """
    order = sorted(range(len(own)), key=lambda i: own[i].dimension)
    place = next(p for p, i in enumerate(order) if i == 0 or gaps[i].within(margin))
    smallest = order[place]
    below = order[place - 1] if place else None
    return Shortening(
        own[0],
        own[smallest],
        gaps[smallest],
        None if below is None else own[below],
        None if below is None else gaps[below],
    )


def _usd_per_million(family: Sequence[Entrant]) -> float | None:
    """Return what a million items cost to embed; 0 for what runs on one's own machine.

    Where vectors came from the cache a row has spent nothing, so the most that any dimension
    of the model has spent is taken, and nothing at all means not known.
    """
    if kind_of(family[0].row.model) != SERVICE:
        return 0.0
    spent = [(e.row.cost_usd or 0) / e.run.dataset.items for e in family]
    return max(spent) * 1e6 or None


def _query_ms(entrant: Entrant) -> float | None:
    seconds = entrant.row.seconds.query
    return None if seconds is None else 1000 * seconds / entrant.row.queries
