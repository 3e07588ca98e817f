"""The search: a line to type in, and the list of what was found."""

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import DataTable, Input, Label, Static

from recdemo.ui.services import Found, Line
from recdemo.ui.sheet import Head, Sheet


class SearchField(Input):
    """The search; arrows move in what was found, as if it had the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "screen.move_hit(1)", show=False),
        Binding("up", "screen.move_hit(-1)", show=False),
    ]
    _ACTIONS: ClassVar[dict[str, str]] = {
        key: binding.action
        for binding in [*Input.BINDINGS, *BINDINGS]
        if isinstance(binding, Binding)
        for key in binding.key.split(",")
    }

    async def on_key(self, event: events.Key) -> None:
        """Do what a key means before the next key comes.

        Bindings are looked up only after a key has found its way up to the app, so a letter that
        is typed soon after Backspace, or comes with it over a slow connection, would overtake it.
        """
        action = self._ACTIONS.get(event.key)
        if action is not None:
            event.stop()
            event.prevent_default()
            await self.run_action(action)


class SearchLine(Horizontal):
    """The field, and how much was found."""

    def compose(self) -> ComposeResult:
        """Lay out the line."""
        yield SearchField(placeholder="title, director, year or id:...", id="search")
        yield Label("", id="count", markup=False)

    def count(self, found: Found, asked: str) -> None:
        """Tell how much a query finds."""
        nearly = "" if found.exact else "no such words, nearly: "
        text = f"{nearly}{found.total:,} found" if asked.strip() else ""
        self.query_one("#count", Label).update(text)


class HitList(Vertical):
    """What was found, best first."""

    class Moved(Message):
        """The cursor is at another hit."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    def __init__(self) -> None:
        super().__init__(id="hit-list")
        self.found = Found((), 0, True)  # what is shown
        self._at = 0  # the hit under the cursor; its table tells of it after a resize, too

    def compose(self) -> ComposeResult:
        """Lay out the table, and how much it leaves out."""
        yield Sheet(id="hits")
        yield Static(id="more", markup=False)

    @property
    def table(self) -> Sheet:
        """The table of the hits."""
        return self.query_one(Sheet)

    def show(self, found: Found, item_word: str) -> None:
        """Show what a query finds, the cursor at the first."""
        self.found, self._at = found, 0
        self.table.fill(_heads(item_word), [_cells(line) for line in found.lines])
        left_out = found.total - len(found.lines)
        more = self.query_one("#more", Static)
        more.update(f"and {left_out:,} more")
        more.set_class(left_out > 0, "-shown")

    def move(self, by: int) -> None:
        """Move the cursor."""
        if by > 0:
            self.table.action_cursor_down()
        else:
            self.table.action_cursor_up()

    @on(DataTable.RowHighlighted)
    def _highlighted(self, message: DataTable.RowHighlighted) -> None:
        message.stop()
        lines = self.found.lines
        if message.cursor_row != self._at and 0 <= message.cursor_row < len(lines):
            self._at = message.cursor_row
            self.post_message(self.Moved(lines[self._at].row))


def _heads(item_word: str) -> list[Head]:
    return [
        Head(item_word, 2, grows=True),
        Head("Year", 5),
        Head("Director", 1, least=40, grows=True, names=True, wide_only=True),
    ]


def _cells(line: Line) -> tuple[str, ...]:
    return (line.title, line.year, line.directors)
