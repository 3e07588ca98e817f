"""How series look: colors that color-blind people tell apart, and never a color alone.

The colors are those of Okabe and Ito. Text, axes and levels are drawn in ``currentColor``, so
that a page decides whether they are dark or light; in a file of its own they are black.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recdemo.charts import Series

INK = "currentColor"
CROSS = "M-0.7,-0.7L0.7,0.7M-0.7,0.7L0.7,-0.7"

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK)
_PENTAGON = "M0,-1L0.95,-0.31L0.59,0.81L-0.59,0.81L-0.95,-0.31Z"
_STAR = (
    "M0,-1.2L0.3,-0.4L1.14,-0.37L0.48,0.15L0.71,0.97"
    "L0,0.5L-0.71,0.97L-0.48,0.15L-1.14,-0.37L-0.3,-0.4Z"
)
_FILLED = ("circle", "square", "triangle-up", _PENTAGON, "triangle-down")
_HOLLOW = ("diamond", "cross", "triangle-right", _STAR, "triangle-left")
_DASHES = ((1, 0), (8, 3), (2, 2), (8, 3, 2, 3))
_PUBLISHED_DASH = (4, 4)


@dataclass(frozen=True, slots=True)
class Look:
    """How one series is drawn."""

    label: str
    color: str
    fill: str  # of its points
    shape: str
    dash: tuple[int, ...]  # of its line, pixels on and off


def looks_of(series: Sequence[Series]) -> list[Look]:
    """Give each model a color, and each text a shape and dash; with one text each model a shape.

    The order is that of the names, so that a model keeps its look when scores change. Published
    series are hollow, with shapes of their own.
    """
    models = sorted({s.model for s in series})
    texts = sorted({s.text for s in series if not s.published})
    looks = []
    for s in series:
        model = models.index(s.model)
        text = 0 if s.published else texts.index(s.text)
        shapes = _HOLLOW if s.published else _FILLED
        color = COLORS[model % len(COLORS)]
        lap = model // len(COLORS)  # colors repeat: then shape and dash tell
        place = text + lap if len(texts) > 1 and not s.published else model
        looks.append(
            Look(
                label=s.label,
                color=color,
                fill="transparent" if s.published else color,
                shape=shapes[place % len(shapes)],
                dash=_PUBLISHED_DASH if s.published else _DASHES[(text + 2 * lap) % len(_DASHES)],
            )
        )
    return looks


def config(legend_columns: Any = 2) -> dict[str, Any]:
    """Return the look of axes, legend and titles: thin lines, one color for all text.

    Args:
        legend_columns: a number, or an expression of Vega.
    """
    text = {"labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 12}
    return {
        "font": "sans-serif",
        "view": {"stroke": None},
        "axis": {
            **text,
            "titleFontWeight": "normal",
            "domainColor": INK,
            "domainOpacity": 0.5,
            "tickColor": INK,
            "tickOpacity": 0.5,
            "gridColor": INK,
            "gridOpacity": 0.12,
        },
        "axisX": {"grid": False},
        "legend": {
            **text,
            "orient": "bottom",
            "columns": legend_columns,
            "symbolSize": 80,
            "symbolStrokeWidth": 2,
            "labelLimit": 0,
        },
        "title": {
            "anchor": "start",
            "color": INK,
            "subtitleColor": INK,
            "fontSize": 15,
            "subtitleFontSize": 11,
            "offset": 12,
        },
        "text": {"fontSize": 11},
    }
