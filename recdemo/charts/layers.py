"""The layers a chart is made of, in Altair."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import altair as alt

from recdemo.charts import Reference, Series
from recdemo.charts.axes import RecallAxis, spread
from recdemo.charts.looks import CROSS, INK, Look

Record: TypeAlias = dict[str, Any]

_DOTTED = [2, 3]  # pixels on and off


@dataclass(frozen=True, slots=True, eq=False)
class Across:
    """What recall is drawn against."""

    name: str  # of the field
    title: str
    of: Callable[[Series], Sequence[float | None]]
    scale: alt.Scale
    axis: alt.Axis

    @property
    def x(self) -> alt.X:
        """The encoding of all that stands at a place of its own."""
        return alt.X(f"{self.name}:Q", title=self.title, scale=self.scale, axis=self.axis)


def ceiling_band(ceiling: Sequence[float], y: alt.Y) -> list[alt.Chart]:
    """Shade what lies between the lower and the upper ceiling."""
    if not ceiling:
        return []
    band = _chart([{"score": min(ceiling), "high": max(ceiling)}])
    return [band.mark_rect(color=INK, opacity=0.07).encode(y=y, y2="high:Q")]


def axis_break(axis: RecallAxis, y: alt.Y) -> list[alt.Chart]:
    """Show where the axis is shortened: an empty stretch between two lines, and words."""
    if axis.broken is None:
        return []
    low, high = axis.broken
    ends = _chart([{"score": low}, {"score": high}])
    words = _chart([{"score": (low + high) / 2, "words": "axis shortened here"}])
    return [
        ends.mark_rule(color=INK, opacity=0.35).encode(y=y),
        words.mark_text(color=INK, opacity=0.75, fontSize=10, fontStyle="italic").encode(
            y=y, text="words:N"
        ),
    ]


def levels_of(levels: Sequence[Reference], y: alt.Y) -> list[alt.Chart]:
    """Draw levels that hold everywhere as dotted lines, with their intervals as bands."""
    if not levels:
        return []
    lines = [{"score": level.value, "words": _words(level)} for level in levels]
    bands = [{"score": v.low, "high": v.high} for v in levels if v.low is not None]
    layers = []
    if bands:
        layers.append(_chart(bands).mark_rect(color=INK, opacity=0.1).encode(y=y, y2="high:Q"))
    rule = _chart(lines).mark_rule(color=INK, strokeDash=_DOTTED)
    return [*layers, rule.encode(y=y, tooltip="words:N")]


def marks_of(marks: Sequence[Series], across: Across, y: alt.Y) -> list[alt.Chart]:
    """Draw free baselines as crosses, each with a dotted line from there to its name."""
    found = [record for mark in marks for record in _records(mark, across)]
    if not found:
        return []
    base = _chart(found).encode(x=across.x, y=y)
    return [
        base.mark_rule(color=INK, strokeDash=_DOTTED, opacity=0.6).encode(x2=alt.value("width")),
        *_intervals(found, across, y, INK),
        base.mark_point(color=INK, shape=CROSS, size=70, strokeWidth=2).encode(
            tooltip=_tooltips(across)
        ),
    ]


def names_of(levels: Sequence[Reference], axis: RecallAxis) -> list[alt.Chart]:
    """Write the names of levels into the right margin, none over another."""
    if not levels:
        return []
    places = spread([axis.pixel(level.value) for level in levels])
    names = [
        {"place": place, "words": _words(level)}
        for level, place in zip(levels, places, strict=True)
    ]
    text = _chart(names).mark_text(color=INK, align="left", dx=6)
    place = alt.Y("place:Q", scale=None)
    return [text.encode(x=alt.value("width"), y=place, text="words:N")]


def _words(level: Reference) -> str:
    return f"{level.label} {level.value:.4f}"


def lines_of(
    lines: Sequence[Series], looks: Sequence[Look], across: Across, y: alt.Y
) -> list[alt.Chart]:
    """Draw the series: intervals, lines and points.

    Lines have a ``color`` and points a ``stroke`` and ``fill``, two scales, so that the legend
    shows the points alone, without the dashes of the lines around them.
    """
    if not lines:
        return []
    legend = alt.Legend(title=None)
    color = alt.Color(**_scaled(looks, "color"))
    picked = alt.selection_point(name=f"picked_{across.name}", fields=["series"], bind="legend")
    faded = alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.12))
    records = [record for series in lines for record in _records(series, across)]
    base = _chart(records).encode(x=across.x, y=y)
    dash = alt.StrokeDash(**_scaled(looks, "dash"))
    points = base.mark_point(size=50, strokeWidth=1.5, fillOpacity=1).encode(
        stroke=alt.Stroke(**_scaled(looks, "color", legend)),
        fill=alt.Fill(**_scaled(looks, "fill", legend)),
        shape=alt.Shape(**_scaled(looks, "shape", legend)),
        opacity=faded,
        tooltip=_tooltips(across),
    )
    return [
        *_intervals(records, across, y, color),
        base.mark_line(strokeWidth=1.5).encode(color=color, strokeDash=dash, opacity=faded),
        points.properties(name=f"points_{across.name}").add_params(picked),
    ]


def _intervals(
    records: Sequence[Record], across: Across, y: alt.Y, color: alt.Color | str
) -> list[alt.Chart]:
    """Draw the 95 % intervals as bars, joined by a band where they belong to one series."""
    known = [{**r, "score": r["low"]} for r in records if r["low"] is not None]
    if not known:
        return []
    base = _chart(known).encode(x=across.x, y=y, y2="high:Q")
    if isinstance(color, str):
        return [base.mark_rule(strokeWidth=1.5, color=color)]
    colored = base.encode(color=color)
    return [colored.mark_area(opacity=0.2), colored.mark_rule(strokeWidth=1.5)]


def _scaled(looks: Sequence[Look], part: str, legend: alt.Legend | None = None) -> dict[str, Any]:
    """Return an encoding of the series by one part of its look."""
    shown = [getattr(look, part) for look in looks]
    scale = alt.Scale(domain=[look.label for look in looks], range=shown)
    return {"shorthand": "series:N", "scale": scale, "legend": legend}


def _chart(values: Sequence[Record]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=list(values)))


def _records(series: Series, across: Across) -> list[Record]:
    records = []
    for i, at in enumerate(across.of(series)):
        if at is None:
            continue
        low, high = series.lows[i], series.highs[i]
        record: Record = {
            "series": series.label,
            "size": series.dimensions[i],
            "how": series.hows[i],
            "score": series.values[i],
            "low": low,
            "high": high,
            "interval": "none" if low is None else f"{low:.4f} to {high:.4f}",
        }
        records.append(record | {across.name: at})
    return records


def _tooltips(across: Across) -> list[alt.Tooltip]:
    shown = [
        alt.Tooltip("series:N", title="model"),
        alt.Tooltip("size:Q", title="dimension", format="d"),
        alt.Tooltip("how:N"),
        alt.Tooltip("score:Q", format=".4f"),
        alt.Tooltip("interval:N", title="95 %"),
    ]
    if across.name != "dimension":
        shown.append(alt.Tooltip(f"{across.name}:Q", title=across.title, format=",~r"))
    return shown
