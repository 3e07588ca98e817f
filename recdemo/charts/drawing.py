"""The charts, in Altair: one description for SVG, PNG and HTML.

Nothing in them depends on chance or time: another picture means other numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import altair as alt

from recdemo.benchmark import ANY_TEXT
from recdemo.charts import (
    Reference,
    Series,
    describe,
    drawn_rows,
    measure_of,
    references_of,
    series_of,
)
from recdemo.charts.axes import HEIGHT, byte_ticks, dimension_ticks, recall_axis
from recdemo.charts.layers import (
    Across,
    axis_break,
    ceiling_band,
    levels_of,
    lines_of,
    marks_of,
    names_of,
)
from recdemo.charts.looks import Look, config, looks_of
from recdemo.runs import Run

Chart: TypeAlias = alt.LayerChart | alt.VConcatChart | alt.HConcatChart

WIDTH = 640  # pixels of a plot in a file of its own

_BYTES = "datum.value < 1024 ? datum.value + ' B' : datum.value / 1024 + ' KiB'"


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A chart without size and title, and what to write above it."""

    name: str  # dimension, bytes or cost
    title: str
    about: tuple[str, ...]  # what is drawn, and how to read it
    chart: alt.LayerChart


def recall_by_dimension(run: Run) -> alt.LayerChart:
    """Draw recall against dimension, with free baselines of one dimension as levels."""
    return _alone(_by_dimension(run))


def recall_by_bytes(run: Run) -> alt.LayerChart:
    """Draw recall against the bytes that the vector of an item takes."""
    return _alone(_by_bytes(run))


def recall_by_cost(run: Run) -> alt.LayerChart | None:
    """Draw recall against what embedding costs; None where nothing known costs anything."""
    figure = _by_cost(run)
    return None if figure is None else _alone(figure)


def figures_of(run: Run) -> list[Figure]:
    """Draw everything that the run has numbers for."""
    found = [_by_dimension(run), _by_bytes(run), _by_cost(run)]
    return [figure for figure in found if figure is not None]


def one_below_another(run: Run) -> alt.VConcatChart:
    """Draw every chart of the run into one picture."""
    chart: alt.VConcatChart = alt.vconcat(*map(_titled, figures_of(run)), spacing=40)
    chart = chart.properties(description=describe(run), background="white", padding=12)
    chart = chart.configure(**config())
    return chart


def fluid(figure: Figure) -> alt.LayerChart:
    """Return a chart as wide as the element of the page that it is put into, without a title."""
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart: alt.LayerChart = figure.chart.properties(
        width="container", autosize=fit, background="transparent"
    )
    chart = chart.configure(**config(legend_columns={"expr": "width > 480 ? 2 : 1"}))
    return chart


def _titled(figure: Figure) -> alt.LayerChart:
    title = alt.TitleParams(figure.title, subtitle=list(figure.about))
    chart: alt.LayerChart = figure.chart.properties(width=WIDTH, title=title)
    return chart


def _alone(figure: Figure) -> alt.LayerChart:
    chart: alt.LayerChart = _titled(figure).properties(background="white", padding=12)
    chart = chart.configure(**config())
    return chart


def _by_dimension(run: Run) -> Figure:
    series = series_of(run)
    marks = [s for s in series if s.is_mark]
    lines = [s for s in series if not s.is_mark]
    if not lines:  # baselines alone: points like any other
        marks, lines = [], marks
    sizes = [dimension for s in lines for dimension in s.dimensions]
    low, high = min(sizes), max(sizes)
    across = Across(
        name="dimension",
        title="dimension",
        of=lambda s: s.dimensions,
        scale=alt.Scale(type="log", base=2, domain=[low / 1.2, high * 1.2], nice=False),
        axis=alt.Axis(values=dimension_ticks(sizes), format="d", labelOverlap=True),
    )
    return _figure(run, across, lines, [], [*references_of(run), *map(_level, marks)])


def _level(mark: Series) -> Reference:
    return Reference(mark.short, mark.values[0], mark.lows[0], mark.highs[0])


def _by_bytes(run: Run) -> Figure:
    series = series_of(run)
    sizes = [size for s in series for size in s.bytes_per_item]
    low, high = min(sizes), max(sizes)
    across = Across(
        name="bytes",
        title="bytes per item",
        of=lambda s: s.bytes_per_item,
        scale=alt.Scale(type="log", base=2, domain=[low / 1.3, high * 1.3], nice=False),
        axis=alt.Axis(
            values=byte_ticks(low, high), labelExpr=_BYTES, labelOverlap=True, labelSeparation=6
        ),
    )
    return _with_marks(run, across, series)


def _by_cost(run: Run) -> Figure | None:
    series = [s for s in series_of(run) if any(cost is not None for cost in s.costs)]
    high = max((cost for s in series for cost in s.costs if cost is not None), default=0.0)
    if high <= 0:
        return None
    across = Across(
        name="cost",
        title="USD to embed a million items",
        of=lambda s: s.costs,
        scale=alt.Scale(domain=[-0.03 * high, 1.05 * high], nice=False, zero=False),
        axis=alt.Axis(format=",~f", tickCount=5),
    )
    return _with_marks(run, across, series)


def _with_marks(run: Run, across: Across, series: Sequence[Series]) -> Figure:
    marks = [s for s in series if s.is_mark]
    lines = [s for s in series if not s.is_mark]
    return _figure(run, across, lines, marks, references_of(run))


def _figure(
    run: Run,
    across: Across,
    lines: Sequence[Series],
    marks: Sequence[Series],
    levels: Sequence[Reference],
) -> Figure:
    ceiling = [level.value for level in levels if level.is_ceiling]
    axis = recall_axis(_values([*lines, *marks], levels), ceiling)
    measure = measure_of(run).title
    y = alt.Y(
        "score:Q",
        title=measure,
        scale=alt.Scale(domain=list(axis.domain), range=list(axis.pixels), nice=False, zero=False),
        axis=alt.Axis(values=list(axis.ticks), format=f".{axis.decimals}f"),
    )
    layers = [
        *ceiling_band(ceiling, y),
        *axis_break(axis, y),
        *levels_of(levels, y),
        *names_of([*levels, *map(_level, marks)], axis),
        *marks_of(marks, across, y),
        *lines_of(lines, _looks(run, lines), across, y),
    ]
    chart = alt.LayerChart(layer=layers).properties(height=HEIGHT, description=describe(run))
    # Lines have no legend; without this they would take that of the points with them.
    chart = chart.resolve_legend(color="independent", strokeDash="independent")
    return Figure(across.name, f"{measure} by {across.title}", _about(run), chart)


def _looks(run: Run, lines: Sequence[Series]) -> list[Look]:
    """Return how these series look: the same in every chart of the run."""
    series = series_of(run)
    looks = looks_of([s for s in series if not s.is_mark] or series)
    labels = {s.label for s in lines}
    return [look for look in looks if look.label in labels]


def _values(series: Sequence[Series], levels: Sequence[Reference]) -> list[float]:
    """Return all that the stretch of the scores must show."""
    found: list[float | None] = [v for s in series for v in (*s.values, *s.highs)]
    found += [v for level in levels if not level.is_ceiling for v in (level.value, level.high)]
    return [v for v in found if v is not None]


def _about(run: Run) -> tuple[str, ...]:
    rows = drawn_rows(run)
    row = rows[0]
    texts = ", ".join(dict.fromkeys(r.text for r in rows if r.text != ANY_TEXT)) or ANY_TEXT
    asked = "users" if run.one_shot else f"items, {row.truth} truth"
    about = f"{run.dataset.name}, text {texts[:80]}, {row.queries:,} {asked}"
    parts = ["bars and bands: 95 % intervals"] if any(row.interval.values()) else []
    parts += ["hollow: published, on texts of its own"] if run.published else []
    return (about, "; ".join(parts)) if parts else (about,)
