"""From scores by dimension to what people and programs read: table, Markdown, CSV, JSON."""

import csv
import io
import json
from dataclasses import replace
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from recdemo.dimensions import OPEN, SERVICE, ByDimension, Cell, Line
from recdemo.report.columns import GAP, Column, pipes, rich_table

SCHEMA = 1
BEST, AS_GOOD = "*", "="


def heading(grid: ByDimension) -> str:
    """Say what the cells are."""
    entrant = grid.field.entrants[0]
    return (
        f"{grid.field.title} by dimension, {entrant.row.queries:,} {grid.field.unit} of "
        f"{entrant.run.dataset.name}; protocol: {entrant.row.protocol}"
        + (f", truth: {entrant.row.truth}" if entrant.row.truth else "")
    )


def columns(grid: ByDimension) -> list[Column]:
    """Return the table: a row per model, a column per dimension."""
    return [
        Column("Model", False, tuple(_name(line) for line in grid.lines)),
        Column("Kind", False, tuple(line.kind for line in grid.lines)),
        *(
            Column(str(dimension), True, tuple(_cell(line, dimension) for line in grid.lines))
            for dimension in grid.dimensions
        ),
    ]


def _name(line: Line) -> str:
    return f"[{line.name}]" if line.published else line.name


def _cell(line: Line, dimension: int) -> str:
    """Return one score; marks stand at the right, so that the digits stay in line."""
    cell = line.cells.get(dimension)
    if cell is None:
        return ""
    score = f"[{cell.score:.4f}]" if line.published else f"{cell.score:.4f} "
    return score + _mark(cell)


def _mark(cell: Cell) -> str:
    if cell.best:
        return BEST
    return AS_GOOD if cell.as_good else " "


def notes(grid: ByDimension, best: str = BEST, published: str = "[ ]") -> list[str]:
    """Explain the marks, answer open against service, and name what has no place in the table."""
    lines = []
    if any(not line.published for line in grid.lines):
        lines.append(
            f"{best} best of its column; {AS_GOOD} cannot be told from it (paired test, Holm over "
            "the column, p at least 0.05)."
        )
    if grid.published_source:
        texts = ", ".join(dict.fromkeys(e.row.text for e in grid.field.entrants))
        lines.append(
            f"{published} published ({grid.published_source}): texts by gpt-4o-mini; measured: "
            f"{texts}. {best} among these: the best published one; there are no values per item "
            "to test."
        )
    lines += [_duel(grid, published) for published in (False, True)]
    if grid.references:
        shown = ", ".join(f"{name} {score:.4f}" for name, score in grid.references)
        lines.append(f"Baselines at the dimension their data give: {shown}.")
    return [line for line in lines if line]


def _duel(grid: ByDimension, published: bool) -> str:
    """Say which of the open models and the services is ahead where both have a dimension."""
    parts = []
    for dimension in grid.dimensions:
        best: dict[str, float] = {}
        for line in grid.lines:
            cell = line.cells.get(dimension)
            if cell and line.published == published and line.kind in (OPEN, SERVICE):
                best[line.kind] = max(best.get(line.kind, 0.0), cell.score)
        if len(best) == 2:
            parts.append(f"{best[OPEN]:.4f} against {best[SERVICE]:.4f} at {dimension}")
    what = "published" if published else "measured"
    return f"Best open model against best service, {what}: {', '.join(parts)}." if parts else ""


def table(grid: ByDimension, width: int) -> RenderableType:
    """Return the scores for a terminal of *width* columns, in several tables where needed."""
    first, kind, *rest = columns(grid)
    parts: list[RenderableType] = [Text(heading(grid)), Text("")]
    while rest:
        room = width - first.width - kind.width - GAP
        taken = max(1, sum(_widths(rest, i) <= room for i in range(1, len(rest) + 1)))
        parts += [rich_table(_filled([first, kind, *rest[:taken]])), Text("")]
        rest = rest[taken:]
    return Group(*parts, *map(Text, notes(grid)))


def _widths(columns: list[Column], count: int) -> int:
    return sum(column.width + GAP for column in columns[:count])


def _filled(columns: list[Column]) -> list[Column]:
    """Leave out the rows that have no score in these columns."""
    first, kind, *scores = columns
    kept = [i for i in range(len(first.cells)) if any(c.cells[i] for c in scores)]
    return [replace(c, cells=tuple(c.cells[i] for i in kept)) for c in (first, kind, *scores)]


def as_markdown(grid: ByDimension) -> str:
    """Return the scores as Markdown; published ones in italics, the best in bold."""

    def cell(line: Line, dimension: int) -> str:
        found = line.cells.get(dimension)
        if found is None:
            return ""
        score = f"_{found.score:.4f}_" if line.published else f"{found.score:.4f}"
        return f"**{score}**" if found.best else score + (f" {AS_GOOD}" if found.as_good else "")

    first, kind, *_ = columns(grid)
    cells = [
        Column(str(dimension), True, tuple(cell(line, dimension) for line in grid.lines))
        for dimension in grid.dimensions
    ]
    lines = "\n".join(f"- {line}" for line in notes(grid, "bold:", "italics:"))
    return "\n\n".join([heading(grid), pipes([first, kind, *cells]), lines]) + "\n"


def _records(grid: ByDimension) -> list[dict[str, Any]]:
    return [
        {
            "model": line.name,
            "kind": line.kind,
            "published": line.published,
            "dimension": dimension,
            "score": cell.score,
            "best": cell.best,
            "as_good": cell.as_good,
        }
        for line in grid.lines
        for dimension, cell in sorted(line.cells.items())
    ]


def as_csv(grid: ByDimension) -> str:
    """Return the scores as CSV, one line per model and dimension."""
    head = ("model", "kind", "published", "dimension", "score", "best", "as_good")
    out = io.StringIO()
    writer = csv.DictWriter(out, head, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_records(grid))
    return out.getvalue()


def as_json(grid: ByDimension) -> str:
    """Return the scores as JSON."""
    entrant = grid.field.entrants[0]
    plain = {
        "schema": SCHEMA,
        "dataset": entrant.run.dataset.name,
        "truth": entrant.row.truth,
        "protocol": entrant.row.protocol,
        "measure": grid.field.measure,
        "k": grid.field.k,
        "scores": _records(grid),
        "references": dict(grid.references),
        "published_source": grid.published_source or None,
    }
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"
