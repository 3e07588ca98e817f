"""Scores by dimension: which model is best where all have equally many numbers per item."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recdemo.entrants import Entrant, Field
from recdemo.runs import Published
from recdemo.scoring.comparing import LEVEL, differences, holm, sign_flip_test

# Baselines whose dimension follows from the data, so that it says nothing to compare them at it.
GIVEN = ("baseline:genre", "baseline:genre-year", "baseline:popularity")
BASELINE, OPEN = "baseline", "open"  # open: runs here, so embedding is free
SERVICE = "service"  # runs at somebody else's and costs money
KINDS = {"baseline": BASELINE, "bundled": OPEN, "local": OPEN, "ollama": OPEN}


@dataclass(frozen=True, slots=True)
class Cell:
    """The score of a model at one dimension."""

    score: float
    best: bool  # of two or more in its column, among the measured or the published ones
    as_good: bool = False  # cannot be told from the best of its column


@dataclass(frozen=True, slots=True)
class Line:
    """One model at all its dimensions."""

    name: str
    kind: str  # baseline, open or service
    published: bool
    cells: dict[int, Cell]  # by dimension


@dataclass(frozen=True, slots=True, eq=False)
class ByDimension:
    """Models by dimension."""

    field: Field
    dimensions: tuple[int, ...]
    lines: tuple[Line, ...]  # measured first, then published
    references: tuple[tuple[str, float], ...]  # of `GIVEN`, with scores
    published_source: str = ""


def by_dimension(field: Field, published: Sequence[Published] = ()) -> ByDimension:
    """Set models side by side at equal dimension.

    Within a column each row is tested against the best one, Holm over the column. Published
    rows have no values per query, so they are never tested.
    """
    measured = _measured([e for e in field.entrants if e.row.model not in GIVEN], field)
    shown = [row for row in published if field.measure == "recall" and field.k in row.recall]
    lines = [*measured, *_published(shown, field.k)]
    return ByDimension(
        field=field,
        dimensions=tuple(sorted({dimension for line in lines for dimension in line.cells})),
        lines=tuple(lines),
        references=tuple(
            (e.name, float(e.values(field.measure, field.k).mean()))
            for e in field.entrants
            if e.row.model in GIVEN
        ),
        published_source=shown[0].source if shown else "",
    )


def kind_of(model: str) -> str:
    """Return whether a model is a baseline, open (its weights are free), or a service."""
    return KINDS.get(model.partition(":")[0], SERVICE)


def _measured(entrants: Sequence[Entrant], field: Field) -> list[Line]:
    lines: dict[str, Line] = {}
    for dimension in sorted({e.row.dimension for e in entrants}):
        column = [e for e in entrants if e.row.dimension == dimension]
        for entrant, cell in zip(column, _column(column, field), strict=True):
            name = entrant.name.replace(f"@{dimension}", "", 1)
            kind = kind_of(entrant.row.model)
            lines.setdefault(name, Line(name, kind, False, {})).cells[dimension] = cell
    return sorted(lines.values(), key=_highest)


def _column(entrants: Sequence[Entrant], field: Field) -> list[Cell]:
    values = np.column_stack([e.values(field.measure, field.k) for e in entrants])
    means = values.mean(axis=0)
    best = int(means.argmax())
    others = [i for i in range(len(entrants)) if i != best]
    as_good = set()
    if others:
        apart = [differences(values[:, best], values[:, i]) for i in others]
        adjusted = holm(sign_flip_test(np.column_stack(apart)))
        as_good = {i for i, p in zip(others, adjusted, strict=True) if p >= LEVEL}
    return [
        Cell(float(mean), bool(others) and i == best, i in as_good) for i, mean in enumerate(means)
    ]


def _published(rows: Sequence[Published], k: int) -> list[Line]:
    columns: dict[int, list[float]] = {}
    for row in rows:
        columns.setdefault(row.dimension, []).append(row.recall[k])
    lines: dict[str, Line] = {}
    for row in rows:
        line = lines.setdefault(row.model, Line(row.model, kind_of(row.model), True, {}))
        others, score = columns[row.dimension], row.recall[k]
        line.cells[row.dimension] = Cell(score, len(others) > 1 and score == max(others))
    return sorted(lines.values(), key=_highest)


def _highest(line: Line) -> float:
    return -max(cell.score for cell in line.cells.values())
