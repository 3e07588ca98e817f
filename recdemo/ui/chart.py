"""Scores against dimensions, drawn with letters: nothing to install, and readable without color."""

import math
from collections.abc import Sequence

from rich.text import Text

from recdemo.ui.cells import clean, fit
from recdemo.ui.services import Curve, Level

MEASURED = "●■▲◆★"
PUBLISHED = "○□△◇☆"
_LINE, _LEVEL, _INTERVAL, _BREAK = "·", "┈", "│", "≈"
_TICKS = 5  # numbers at the side, about
_PUBLISHED = ", published"  # what hollow marks say already
_LEFT = 7  # columns of the numbers at the side
_FEWEST = 9  # lines of a chart that is worth its room
_AIR = 1.04  # above the best score
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

    def __init__(
        self, curves: Sequence[Curve], width: int, first: int, last: int, top: float
    ) -> None:
        points = [point for curve in curves for point in curve.points]
        lines = [curve for curve in curves if len(curve.points) > 1] or curves
        # A mark of fewer dimensions than any line, popularity has one, stands at the left edge.
        self._low = math.log2(min(curve.points[0].dimension for curve in lines))
        high = math.log2(max(point.dimension for point in points))
        self._span = (high - self._low) or 1.0
        self.top = top or 1.0
        self._width, self._first, self._height = width, first, last - first

    def x(self, dimension: float) -> int:
        share = (math.log2(dimension) - self._low) / self._span
        return _LEFT + 1 + round(max(0, share) * (self._width - _LEFT - 3))

    def y(self, value: float) -> int:
        return self._first + round((1 - value / self.top) * (self._height - 1))


def draw(curves: Sequence[Curve], levels: Sequence[Level], width: int, height: int) -> Text:
    """Return a chart with its legend, at most *width* x *height*; without room only the legend.

    Levels far above all scores, as ceilings are, stand above a break of the axis: drawn to
    scale, they would press everything else together.
    """
    legend = _legend(curves, width)
    if len(legend) > height - _FEWEST - 1:
        legend = _short_legend(curves, width)
    top = max((p.high or p.value for curve in curves for p in curve.points), default=0) * _AIR
    above = sorted((each for each in levels if each.value > top), key=lambda each: -each.value)
    if height - len(legend) - 1 < len(above) + _FEWEST - 1:  # no room for them
        told = "  ".join(f"{each.label} {each.value:.3f}" for each in above)
        legend += [Text(fit(f"{_LEVEL} {told}", width))] if above else []
        above = []
    rows = height - len(legend) - 1  # the dimensions stand below
    if not curves or width < 24 or rows < 4:
        return Text("\n").join(legend)
    first = len(above) + 1 if above else 0  # line below the break
    canvas, scale = _Canvas(width, rows + 1), _Scale(curves, width, first, rows, top)
    _axes(canvas, scale, curves, rows)
    for y, level in enumerate(above):
        _level(canvas, y, level)
    if above:
        canvas.write(_LEFT, len(above), _BREAK)
    for level in levels:
        if level.value <= top:
            _level(canvas, scale.y(level.value), level)
    for i, curve in enumerate(curves):
        _lines(canvas, scale, curve, _style(i))
    for i, curve in enumerate(curves):
        for point in curve.points:
            canvas.put(scale.x(point.dimension), scale.y(point.value), _mark(curves, i), _style(i))
    return Text("\n").join([canvas.text(), *legend])


def _axes(canvas: _Canvas, scale: _Scale, curves: Sequence[Curve], rows: int) -> None:
    for y in range(rows):
        canvas.put(_LEFT, y, "│")
    step = _step(scale.top)
    decimals = len(f"{step:g}".partition(".")[2])
    for i in range(int(scale.top / step) + 1):
        canvas.write(0, scale.y(i * step), f"{i * step:.{decimals}f}".rjust(_LEFT - 1))
        canvas.put(_LEFT, scale.y(i * step), "┤")
    free = 0
    lines = [curve for curve in curves if len(curve.points) > 1] or curves
    for dimension in sorted({point.dimension for curve in lines for point in curve.points}):
        label = str(dimension)
        x = min(scale.x(dimension) - len(label) // 2, canvas.width - len(label))
        if x >= free:  # a label that would touch the one before is left out
            canvas.write(x, rows, label)
            free = x + len(label) + 1


def _step(top: float) -> float:
    """Return a round distance between the numbers at the side."""
    rough = top / _TICKS
    power: float = 10 ** math.floor(math.log10(rough))
    return next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough)


def _level(canvas: _Canvas, y: int, level: Level) -> None:
    canvas.write(0, y, f"{level.value:.3f}".rjust(_LEFT - 1))
    for x in range(_LEFT, canvas.width):
        canvas.put(x, y, _LEVEL)
    label = f" {clean(level.label)} "
    canvas.write(max(_LEFT + 1, canvas.width - len(label) - 2), y, label)


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


def _legend(curves: Sequence[Curve], width: int) -> list[Text]:
    lines = []
    for i, curve in enumerate(curves):
        best = max(curve.points, key=lambda point: point.value)
        text = f" {clean(curve.label)}  best {best.value:.4f} at {best.dimension}"
        lines.append(
            Text(_mark(curves, i), style=_style(i)).append(fit(text, width - 1), "default")
        )
    return lines


def _short_legend(curves: Sequence[Curve], width: int) -> list[Text]:
    """Return the names alone, as many on a line as fit."""
    lines: list[Text] = []
    for i, curve in enumerate(curves):
        name = clean(curve.label).removesuffix(_PUBLISHED).rpartition(":")[2]
        part = Text(_mark(curves, i), style=_style(i)).append(f" {fit(name, width - 2)}", "default")
        if lines and lines[-1].cell_len + 2 + part.cell_len <= width:
            lines[-1].append("  ").append(part)
        else:
            lines.append(part)
    return lines
