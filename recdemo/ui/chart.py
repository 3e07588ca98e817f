"""Scores against dimensions, drawn with letters: nothing to install, and readable without color."""

import math
from collections.abc import Sequence

from rich.text import Text

from recdemo.ui.cells import clean, fit
from recdemo.ui.services import Curve, Level

MEASURED = "●■▲◆★"
PUBLISHED = "○□△◇☆"
_LINE, _LEVEL, _INTERVAL = "·", "┈", "│"
_LEFT = 7  # columns of the numbers at the side
_STYLES = ("cyan", "yellow", "green", "magenta", "blue", "red")


class _Canvas:
    """Cells that are written to; what is written later covers what was there."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._cells = [[(" ", "") for _ in range(width)] for _ in range(height)]

    def put(self, x: int, y: int, letter: str, style: str = "") -> None:
        """Write a letter at column *x* and line *y* from the top, if that is on the canvas."""
        if 0 <= x < self.width and 0 <= y < self.height:
            self._cells[y][x] = (letter, style)

    def write(self, x: int, y: int, text: str, style: str = "") -> None:
        """Write a text from column *x* on."""
        for i, letter in enumerate(text):
            self.put(x + i, y, letter, style)

    def text(self) -> Text:
        """Return all lines."""
        result = Text(no_wrap=True)
        for y, line in enumerate(self._cells):
            for letter, style in line:
                result.append(letter, style=style)
            result.append("\n" if y < self.height - 1 else "")
        return result


class _Scale:
    """Where dimensions, by their logarithm, and scores lie on a canvas."""

    def __init__(self, curves: Sequence[Curve], width: int, height: int) -> None:
        points = [point for curve in curves for point in curve.points]
        lines = [curve for curve in curves if len(curve.points) > 1] or curves
        # A mark of fewer dimensions than any line, popularity has one, stands at the left edge.
        self._low = math.log2(min(curve.points[0].dimension for curve in lines))
        high = math.log2(max(point.dimension for point in points))
        self._span = (high - self._low) or 1.0
        self.top = max(point.high or point.value for point in points) * 1.08 or 1.0
        self._width, self._height = width, height

    def x(self, dimension: float) -> int:
        share = (math.log2(dimension) - self._low) / self._span
        return _LEFT + 1 + round(max(0, share) * (self._width - _LEFT - 3))

    def y(self, value: float) -> int:
        return round((1 - value / self.top) * (self._height - 1))


def draw(curves: Sequence[Curve], levels: Sequence[Level], width: int, height: int) -> Text:
    """Return a chart with its legend, at most *width* x *height*; empty where there is no room.

    Levels above all scores, as ceilings are, stand in the legend: drawn, they would press
    everything else together.
    """
    legend = _legend(curves, levels, width)
    below = min(len(legend), max(0, height - 10))
    rows = height - below - 2  # the dimensions stand below
    if not curves or width < 24 or rows < 4:
        return Text("\n").join(legend)
    canvas, scale = _Canvas(width, rows + 1), _Scale(curves, width, rows)
    _axes(canvas, scale, curves, rows)
    for level in levels:
        if level.value <= scale.top:
            for x in range(_LEFT + 1, width):
                canvas.put(x, scale.y(level.value), _LEVEL)
            canvas.write(_LEFT + 2, scale.y(level.value), f" {level.label} ")
    for i, curve in enumerate(curves):
        _lines(canvas, scale, curve, _style(i))
    for i, curve in enumerate(curves):
        for point in curve.points:
            canvas.put(scale.x(point.dimension), scale.y(point.value), _mark(curves, i), _style(i))
    return Text("\n").join([canvas.text(), *legend[:below]])


def _axes(canvas: _Canvas, scale: _Scale, curves: Sequence[Curve], rows: int) -> None:
    for y in range(rows):
        canvas.put(_LEFT, y, "│")
    for share in (0, 0.25, 0.5, 0.75, 1):
        value = scale.top * share / 1.08
        canvas.write(0, scale.y(value), f"{value:.3f}".rjust(_LEFT - 1))
        canvas.put(_LEFT, scale.y(value), "┤")
    free = 0
    lines = [curve for curve in curves if len(curve.points) > 1] or curves
    for dimension in sorted({point.dimension for curve in lines for point in curve.points}):
        label = str(dimension)
        x = min(scale.x(dimension) - len(label) // 2, canvas.width - len(label))
        if x >= free:  # a label that would touch the one before is left out
            canvas.write(x, rows, label)
            free = x + len(label) + 1


def _lines(canvas: _Canvas, scale: _Scale, curve: Curve, style: str) -> None:
    for first, second in zip(curve.points, curve.points[1:], strict=False):
        start, end = scale.x(first.dimension), scale.x(second.dimension)
        for x in range(start + 1, end):
            share = (x - start) / (end - start)
            value = first.value + share * (second.value - first.value)
            canvas.put(x, scale.y(value), _LINE, style)
    for point in curve.points:
        if point.low is not None and point.high is not None:
            for y in range(scale.y(point.high), scale.y(point.low) + 1):
                canvas.put(scale.x(point.dimension), y, _INTERVAL, style)


def _mark(curves: Sequence[Curve], i: int) -> str:
    marks = PUBLISHED if curves[i].published else MEASURED
    before = sum(curve.published == curves[i].published for curve in curves[:i])
    return marks[before] if before < len(marks) else chr(ord("a") + (before - len(marks)) % 26)


def _style(i: int) -> str:
    return _STYLES[i % len(_STYLES)]


def _legend(curves: Sequence[Curve], levels: Sequence[Level], width: int) -> list[Text]:
    lines = []
    for i, curve in enumerate(curves):
        best = max(curve.points, key=lambda point: point.value)
        text = f" {clean(curve.label)}  best {best.value:.4f} at {best.dimension}"
        lines.append(
            Text(_mark(curves, i), style=_style(i)).append(fit(text, width - 1), "default")
        )
    if levels:
        known = "  ".join(f"{level.label} {level.value:.3f}" for level in levels)
        lines.append(Text(fit(f"{_LEVEL} {known}", width)))
    return lines
