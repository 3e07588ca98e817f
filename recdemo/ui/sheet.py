"""A table that shows the columns it has room for, and never cuts a cell without saying so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import DataTable

from recdemo.ui.cells import cell, name_cell

_SCROLLBAR = 1

# Classes of a screen by its width and height; the style sheet says what they leave out.
WIDTHS = [(0, "-tiny"), (60, "-narrow"), (100, "-wide"), (170, "-huge")]
HEIGHTS = [(0, "-short"), (18, "-tall")]


@dataclass(frozen=True, slots=True)
class Head:
    """A column: how wide it is, and how wide the table must be to show it."""

    title: str
    width: int  # columns of the terminal with the gap; of a growing one its share of the rest
    least: int = 0  # width of the table from which on it is shown
    grows: bool = False
    right: bool = False
    names: bool = False  # of persons; of a long one the end tells most
    wide_only: bool = False  # left out where the screen is tiny


class Sheet(DataTable[Text]):
    """Rows of texts under columns that depend on the width."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("left", "turn('left')", show=False),
        Binding("right", "turn('right')", show=False),
    ]

    class Turned(Message):
        """Somebody wants to go to the side, since a row has no cells to move along."""

        def __init__(self, side: str) -> None:
            super().__init__()
            self.side = side

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, cursor_type="row", cell_padding=0, zebra_stripes=False)
        self._heads: Sequence[Head] = ()
        self._lines: Sequence[Sequence[str]] = ()
        self._laid_out_for = 0
        self._shown: list[int] = []  # heads that there is room for

    def action_turn(self, side: str) -> None:
        """Tell that somebody wants to go to a side."""
        self.post_message(self.Turned(side))

    def head_at(self, column: int) -> int:
        """Return which head stands over a column that is shown."""
        return self._shown[column]

    def fill(
        self, heads: Sequence[Head], lines: Sequence[Sequence[str]], stay: bool = False
    ) -> None:
        """Show *lines*, one text per head; *stay* leaves the cursor where it is."""
        if stay and (self._heads, self._lines) == (heads, lines) and self._shown:
            return
        self._heads, self._lines = heads, lines
        self._lay_out(max(0, self.cursor_row) if stay else 0)

    def on_resize(self, event: events.Resize) -> None:
        """Choose the columns anew."""
        if self.size.width != self._laid_out_for:
            self._lay_out(max(0, self.cursor_row))

    def _lay_out(self, cursor: int) -> None:
        width = self._laid_out_for = self.size.width
        if not width or not self._heads:
            return
        tiny = self.app.size.width < WIDTHS[1][0]
        shown = [
            i
            for i, head in enumerate(self._heads)
            if width >= head.least and not (head.wide_only and tiny)
        ]
        self._shown = shown
        room = width - _SCROLLBAR - sum(h.width for h in (self._heads[i] for i in shown)
                                        if not h.grows)  # fmt: skip
        shares = sum(self._heads[i].width for i in shown if self._heads[i].grows) or 1
        widths = {
            i: max(6, room * self._heads[i].width // shares)
            if self._heads[i].grows
            else self._heads[i].width
            for i in shown
        }
        self.clear(columns=True)
        for i in shown:
            head = self._heads[i]
            self.add_column(cell(head.title, widths[i], head.right), width=widths[i])
        self.add_rows([self._cell(i, line[i], widths[i]) for i in shown] for line in self._lines)
        if 0 < cursor < len(self._lines):
            with self.prevent(DataTable.RowHighlighted):
                self.move_cursor(row=cursor)

    def _cell(self, i: int, text: str, width: int) -> Text:
        head = self._heads[i]
        return name_cell(text, width) if head.names else cell(text, width, head.right)
