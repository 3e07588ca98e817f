"""The frontier of an index study: dimension and quantization against recall, bytes and speed."""

from collections.abc import Sequence
from pathlib import Path

import altair as alt

from recdemo.charts.axes import byte_ticks
from recdemo.charts.looks import COLORS, INK, config
from recdemo.charts.saving import save
from recdemo.index_study import StudyRow

WIDTH, HEIGHT = 300, 300  # pixels of each of the two plots
KINDS = {
    "exact": "square",
    "HNSW": "circle",
    "scalar": "triangle-up",
    "turbo": "diamond",
    "binary": "cross",
}
_BYTES = "datum.value < 1024 ? datum.value + ' B' : datum.value / 1024 + ' KiB'"


def draw(rows: Sequence[StudyRow], dataset: str, path: Path) -> None:
    """Draw a study into a file: SVG, PNG or HTML, by the ending of its name."""
    save(frontier(rows, dataset), path)


def frontier(rows: Sequence[StudyRow], dataset: str) -> alt.HConcatChart:
    """Return recall against bytes per item, and beside it against queries per second."""
    k, first = rows[0].k, rows[0]
    sizes = [row.bytes_per_item for row in rows]
    ticks = byte_ticks(round(min(sizes)), round(max(sizes)))
    by_bytes = alt.X(
        "bytes:Q",
        title="bytes per item in memory",
        scale=alt.Scale(
            type="log", base=2, domain=[min(sizes) / 1.3, max(sizes) * 1.3], nice=False
        ),
        axis=alt.Axis(values=ticks, labelExpr=_BYTES, labelOverlap=True),
    )
    by_speed = alt.X("speed:Q", title="queries per second", scale=alt.Scale(zero=False))
    title = alt.TitleParams(
        f"Recall@{k} of approximate search",
        subtitle=[
            f"{dataset}, {first.queries:,} query items; hollow: not rescored",
            "up and left is better in the left plot, up and right in the right one",
        ],
    )
    chart: alt.HConcatChart = alt.hconcat(
        _plot(rows, by_bytes, f"Recall@{k}"), _plot(rows, by_speed, ""), spacing=24
    )
    chart = chart.properties(title=title, description=words(rows), background="white", padding=12)
    chart = chart.configure(**config())
    return chart


def words(rows: Sequence[StudyRow]) -> str:
    """Say in words what the chart shows, for those who cannot see it."""
    return "; ".join(
        f"{_series(row, rows)} {row.way}: recall {row.recall:.4f}, {row.bytes_per_item:,.0f} "
        f"bytes, {row.per_second:,.0f} queries per second"
        for row in rows
    )


def _plot(rows: Sequence[StudyRow], x: alt.X, title: str) -> alt.LayerChart:
    series = list(dict.fromkeys(_series(row, rows) for row in rows))
    values = [
        {
            "recall": row.recall,
            "bytes": row.bytes_per_item,
            "speed": row.per_second,
            "series": _series(row, rows),
            "kind": _kind(row),
            "way": row.way,
            "hollow": row.rescored is False,
        }
        for row in rows
    ]
    colors = alt.Scale(domain=series, range=[COLORS[i % len(COLORS)] for i in range(len(series))])
    kinds = [kind for kind in KINDS if any(value["kind"] == kind for value in values)]
    shapes = alt.Scale(domain=kinds, range=[KINDS[kind] for kind in kinds])
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=x,
        y=alt.Y("recall:Q", title=title, scale=alt.Scale(zero=False)),
        color=alt.Color("series:N", scale=colors, title="vectors"),
        tooltip=["series:N", "way:N", "recall:Q", "bytes:Q", "speed:Q"],
    )
    shape = alt.Shape(
        "kind:N", scale=shapes, title="search", legend=alt.Legend(symbolFillColor=INK)
    )
    levels = base.transform_filter("datum.kind == 'exact'").mark_rule(
        strokeDash=[4, 4], opacity=0.6
    )
    levels = levels.encode(x=alt.value(0), x2=alt.value(WIDTH))
    filled = base.transform_filter("!datum.hollow").mark_point(filled=True, size=80)
    hollow = base.transform_filter("datum.hollow").mark_point(filled=False, size=80, strokeWidth=2)
    layers = [levels, filled.encode(shape=shape), hollow.encode(shape=shape)]
    chart = alt.LayerChart(layer=layers).properties(width=WIDTH, height=HEIGHT)
    return chart


def _series(row: StudyRow, rows: Sequence[StudyRow]) -> str:
    """Name the vectors of a row: by dimension alone where all are of one model."""
    one = len({each.model for each in rows}) == 1
    return f"{row.dimension}" if one else f"{row.model}@{row.dimension}"


def _kind(row: StudyRow) -> str:
    if row.m is None:
        return "exact"
    return "HNSW" if row.quantization == "none" else row.quantization
