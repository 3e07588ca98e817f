"""The two opinions: side by side, or as tabs where there is little room."""

from collections.abc import Mapping

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import DataTable, Tab, Tabs

from recdemo.ui.cells import clean
from recdemo.ui.services import Opinion, TruthList
from recdemo.ui.widgets import ModelPane

SIDES = ("left", "right")


class Sides(Vertical):
    """A pane for each side, and the tabs that stand for them on a narrow screen."""

    class Opened(Message):
        """Somebody wants to see an item of a list."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    def compose(self) -> ComposeResult:
        """Lay out the tabs and the panes."""
        yield Tabs(*(Tab(side, id=f"tab-{side}") for side in SIDES), id="tabs")
        with Horizontal(id="panes"):
            for side in SIDES:
                yield ModelPane(side)

    def on_mount(self) -> None:
        """Begin on the left; keys reach the tables and never the tabs."""
        self.pane("left").add_class("-shown")
        self.query_one("#tabs", Tabs).can_focus = False

    def pane(self, side: str) -> ModelPane:
        """Return the pane of a side."""
        return self.query_one(f"#{side}", ModelPane)

    def name_items(self, word: str) -> None:
        """Tell what an item is called: Movie."""
        for side in SIDES:
            self.pane(side).item_word = word

    def entitle(self, side: str, name: str) -> None:
        """Show the name of a model, or of what stands in for it."""
        self.pane(side).entitle(name)
        self.query_one(f"#tab-{side}", Tab).label = Content(clean(name))

    def turn_to(self, side: str) -> None:
        """Show a side where there is room for one."""
        for each in SIDES:
            self.pane(each).set_class(each == side, "-shown")
        self.query_one("#tabs", Tabs).active = f"tab-{side}"

    def draw(self, opinions: Mapping[str, Opinion | None], truth: TruthList | None) -> None:
        """Show what the models recommend; the truth list, if it is wanted, on the right."""
        for side, other in (SIDES, SIDES[::-1]):
            opinion = opinions[side]
            if opinion is not None and not (side == "right" and truth is not None):
                self.pane(side).show(opinion, opinions[other])
        if truth is not None:
            self.pane("right").show_truth(truth, opinions["left"], opinions["right"])

    @on(DataTable.RowSelected)
    def _selected(self, message: DataTable.RowSelected) -> None:
        message.stop()
        pane = next(p for p in self.query(ModelPane) if p.table is message.data_table)
        if message.cursor_row < len(pane.rows):
            self.post_message(self.Opened(pane.rows[message.cursor_row]))

    @on(Tabs.TabActivated)
    def _tab(self, message: Tabs.TabActivated) -> None:
        message.stop()
        self.turn_to((message.tab.id or "").removeprefix("tab-"))
