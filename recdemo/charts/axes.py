"""Where things stand in a chart: the recall axis, its ticks, and labels that do not overlap."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

HEIGHT = 400  # pixels of the plot, without axis titles and legend

_APART = 1.5  # the ceiling is set apart when it is this many times above all that is measured
_UPPER = 64  # pixels of the stretch that the ceiling gets then
_BREAK = 18  # pixels between it and the rest
_STEPS = (1, 2, 2.5, 5, 10)
_TICKS = 6  # at most, in the stretch of the scores
_LABEL_GAP = 13  # pixels from label to label


@dataclass(frozen=True, slots=True)
class RecallAxis:
    """A linear axis from 0, or two linear stretches where the ceiling is far above."""

    domain: tuple[float, ...]
    pixels: tuple[float, ...]  # from the top, one for each value of the domain
    ticks: tuple[float, ...]
    decimals: int

    @property
    def broken(self) -> tuple[float, float] | None:
        """The values between which the axis is shortened."""
        return (self.domain[1], self.domain[2]) if len(self.domain) == 4 else None

    def pixel(self, value: float) -> float:
        """Return where a value stands, in pixels from the top."""
        stretches = zip(pairwise(self.domain), pairwise(self.pixels), strict=True)
        for (low, high), (bottom, top) in stretches:
            if value <= high:
                return bottom + (top - bottom) * (value - low) / (high - low)
        return self.pixels[-1]


def recall_axis(values: Sequence[float], ceiling: Sequence[float]) -> RecallAxis:
    """Return the axis for scores and, where it is known, the ceiling.

    Args:
        values: everything that is to be read off exactly; at least one.
        ceiling: lower and upper, or nothing.
    """
    top = max(values) or 1.0
    apart = bool(ceiling) and min(ceiling) > _APART * top
    shown = top if apart or not ceiling else max(top, *ceiling)
    step = _step(shown)
    steps = math.ceil(round(min(shown * 1.03, 1.0) / step, 6))
    decimals = _decimals(step)
    ticks = [round(i * step, decimals) for i in range(steps + 1)]
    end = ticks[-1]
    if not apart:
        return RecallAxis((0.0, end), (HEIGHT, 0.0), tuple(ticks), decimals)
    low, high = min(ceiling), max(ceiling)
    margin = max((high - low) * 0.2, 0.01)
    ends = (0.0, end, max(low - margin, (end + low) / 2), high + margin)
    pixels = (HEIGHT, _UPPER + _BREAK, float(_UPPER), 0.0)
    return RecallAxis(ends, pixels, (*ticks, low, high), decimals)


def _step(shown: float) -> float:
    least = shown / _TICKS
    unit = 10.0 ** math.floor(math.log10(least))
    return next(unit * s for s in _STEPS if unit * s >= least * (1 - 1e-9))


def _decimals(step: float) -> int:
    return next((n for n in range(9) if math.isclose(round(step, n), step)), 9)


def spread(pixels: Sequence[float]) -> list[float]:
    """Move the labels at these places apart so that none covers another, and keep their order.

    Args:
        pixels: from the top, in any order; all within the plot.
    """
    order = sorted(range(len(pixels)), key=lambda i: pixels[i])
    placed = list(pixels)
    for above, i in pairwise(order):
        placed[i] = max(placed[i], placed[above] + _LABEL_GAP)
    floor = HEIGHT + _LABEL_GAP / 2
    for i in reversed(order):  # those pushed out at the bottom push back
        placed[i] = min(placed[i], floor)
        floor = placed[i] - _LABEL_GAP
    return placed


def dimension_ticks(dimensions: Sequence[int]) -> list[int]:
    """Return the powers of two among the dimensions, all dimensions where there is none."""
    different = sorted(set(dimensions))
    return [d for d in different if d & (d - 1) == 0] or different


def byte_ticks(low: int, high: int) -> list[int]:
    """Return the powers of four from the one at or below *low* to the one at or above *high*."""
    first = (low.bit_length() - 1) // 2
    last = ((high - 1).bit_length() + 1) // 2
    return [4**exponent for exponent in range(first, last + 1)]
