"""Tables as columns of text, and the two ways they are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

GAP = 3  # columns of the terminal between two columns of a table


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the result table."""

    title: str
    numeric: bool
    cells: tuple[str, ...]
    rank: int = 0  # on a narrow terminal the columns with the largest are left out first

    @property
    def width(self) -> int:
        """Columns of the terminal that it takes."""
        return max(map(len, (self.title, *self.cells)))


def span(ends: tuple[float, float] | None) -> str:
    """Return the interval of a score as text, ``-`` where there are too few queries for one."""
    return "-" if ends is None else f"{ends[0]:.4f}-{ends[1]:.4f}"


def fitting(shown: list[Column], width: int) -> list[Column]:
    """Leave out the least important columns until the rest fits into *width*."""
    while sum(column.width + GAP for column in shown) > width + GAP:
        least = max(column.rank for column in shown)
        if least == 0:
            break
        shown = [column for column in shown if column.rank < least]
    return shown


def rich_table(shown: Sequence[Column]) -> Table:
    """Return a table for the terminal."""
    result = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for column in shown:
        result.add_column(
            column.title, justify="right" if column.numeric else "left", no_wrap=column.numeric
        )
    for cells in zip(*(column.cells for column in shown), strict=True):
        result.add_row(*(Text(cell) for cell in cells))  # Text: a name is never markup
    return result


def _pipe_cell(text: str) -> str:
    return " ".join(text.splitlines()).replace("|", "\\|")  # either would end the cell


def pipes(shown: Sequence[Column]) -> str:
    """Return a table as Markdown."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(_pipe_cell, cells)) + " |"

    rule = ["---:" if column.numeric else "---" for column in shown]
    body = zip(*(column.cells for column in shown), strict=True)
    return "\n".join([line([c.title for c in shown]), line(rule), *(line(cells) for cells in body)])
