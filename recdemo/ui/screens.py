"""The main screen: which item is shown, how one came there, and what is remembered."""

from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import DataTable, Input, Static

from recdemo.ui.asking import Asking
from recdemo.ui.card import ItemCard
from recdemo.ui.cells import clean
from recdemo.ui.hits import HitList, SearchLine
from recdemo.ui.keys import Keys
from recdemo.ui.results_screen import ResultsScreen
from recdemo.ui.services import Facts, Services
from recdemo.ui.sheet import HEIGHTS, WIDTHS, Sheet
from recdemo.ui.sides import SIDES, Sides
from recdemo.ui.state import KS, State

LIMIT = 100  # hits that are shown, since each costs time at every key; a line tells of more


class MainScreen(Screen[None]):
    """Search on the left, the item and two opinions about it on the right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search"),
        Binding("escape", "back", "Back"),
        Binding("f2", "pick('left')", "Left"),
        Binding("f3", "pick('right')", "Right"),
        Binding("f4", "truth", "Truth"),
        Binding("f5", "results", "Results"),
        Binding("f6", "more", "More"),
        Binding("m", "pick('left')", show=False),
        Binding("v", "pick('right')", show=False),
        Binding("t", "truth", show=False),
        Binding("r", "results", show=False),
        Binding("n", "more", show=False),
        Binding("backspace", "back", show=False),
    ]
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._asking = Asking(self, services)
        self._services = services
        self.state = State()
        self.facts: Facts | None = None
        self.row: int | None = None  # the item that is shown
        self._trail: list[int] = []  # items to go back to

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Static("recdemo", id="top", markup=False)
        yield SearchLine(id="search-line")
        with Horizontal():
            yield HitList()
            with Vertical(id="right-part"):
                yield ItemCard()
                yield Sides(self._services)
        yield Keys()

    def on_mount(self) -> None:
        """Begin to read; until that is done the field takes letters already."""
        self.query_one("#item", ItemCard).update("reading the items ...")
        self.query_one("#search").focus()
        self.call_after_refresh(self._asking.open)  # a thread that imports would slow the paint

    @property
    def sides(self) -> Sides:
        """The two opinions."""
        return self.query_one(Sides)

    @on(Asking.Opened)
    def _opened(self, message: Asking.Opened) -> None:
        facts, self.state = message.facts, message.state
        self.facts = facts
        if message.note:
            self.app.notify(message.note, severity="warning", markup=False)
        if self.state.theme in self.app.available_themes:
            self.app.theme = self.state.theme
        self.query_one("#top", Static).update(f"recdemo   {clean(_top_line(facts))}")
        self.sides.name_items(facts.item_word)
        self.sides.begin("left", self.state.left or facts.left, facts.left)
        self.sides.one = self.state.one
        right = None if self.state.one else self.state.right or facts.right
        if right is None:
            self.sides.use("right", None)
        else:
            self.sides.begin("right", right, facts.right)
        self._search(self.query_one("#search", Input).value)

    @on(Asking.Shut)
    def _shut(self, message: Asking.Shut) -> None:
        self.query_one("#item", ItemCard).update(clean(message.reason))
        self.app.notify(clean(message.reason), severity="error", markup=False)

    # --- search and item ---

    @on(Input.Changed, "#search")
    def _typed(self, message: Input.Changed) -> None:
        self._search(message.value)

    def _search(self, query: str) -> None:
        if self.facts is not None:
            self._asking.search(query, LIMIT)

    @on(Asking.FoundItems)
    def _found(self, message: Asking.FoundItems) -> None:
        if self.facts is None or message.query != self.query_one("#search", Input).value:
            return
        self.query_one(HitList).show(message.found, self.facts.item_word)
        self.query_one(SearchLine).count(message.found, message.query)
        if message.found.lines:
            self.show(message.found.lines[0].row)
        elif self.row is None and not message.query.strip():
            self.query_one("#item", ItemCard).update("Type words of a title, a director or a year.")

    @on(HitList.Moved)
    def _moved(self, message: HitList.Moved) -> None:
        self.show(message.row)

    def action_move_hit(self, by: int) -> None:
        """Move in the hits."""
        self.query_one(HitList).move(by)

    @on(Input.Submitted, "#search")
    @on(DataTable.RowSelected, "#hits")
    def _enter(self) -> None:
        if self.row is not None:
            self._read("left")

    def _read(self, side: str) -> None:
        """Move the focus into the recommendations of a side."""
        self.add_class("-reading")
        self.sides.turn_to(side)
        self.sides.pane(side).table.focus()

    def show(self, row: int) -> None:
        """Show an item and what the models recommend for it."""
        if row == self.row:
            return
        self.row = row
        self._asking.item(row)
        self.sides.look(row, self.state.k)

    @on(Asking.Looked)
    def _looked(self, message: Asking.Looked) -> None:
        if message.item.line.row == self.row:
            self.query_one("#item", ItemCard).show(message.item)

    @on(Sides.Opened)
    def _go(self, message: Sides.Opened) -> None:
        if self.row is not None:
            self._trail.append(self.row)
            self.show(message.row)

    def action_back(self) -> None:
        """Go one step back: to the item before, then to the search; never out."""
        if self._trail:
            self.show(self._trail.pop())
        else:
            self.action_search()

    def action_search(self) -> None:
        """Move the focus to the search."""
        self.remove_class("-reading")
        self.query_one("#search").focus()

    # --- models and lists ---

    def action_pick(self, side: str) -> None:
        """Choose the model of a side."""
        if self.facts is not None:
            self.sides.pick(side)

    def action_truth(self) -> None:
        """Show the truth list on the right, or the model again."""
        if self.row is not None:
            self.sides.swap_truth()

    def action_more(self) -> None:
        """Show more recommendations, or few again after the most."""
        if self.facts is None:
            return
        later = [k for k in KS if k > self.state.k] or [KS[0]]
        self.state = replace(self.state, k=later[0])
        self.app.notify(f"{later[0]} recommendations", timeout=2)
        self._remember()
        self.sides.look(self.row, self.state.k)

    # --- focus, results, state ---

    @on(Sheet.Turned)
    def _turned(self, message: Sheet.Turned) -> None:
        if self.sides.pane("left").table.has_focus and message.side == "left":
            self.remove_class("-reading")
            self.query_one(HitList).table.focus()
        elif self.query_one(HitList).table.has_focus:
            self._read("left")
        elif message.side == "left" or self.sides.has_right:
            self._read(message.side)

    def action_results(self) -> None:
        """Show the latest evaluation."""
        if self.facts is not None:
            screen = ResultsScreen(self._services, self.facts)
            self.app.push_screen(screen, self._take)

    def _take(self, model: str | None) -> None:
        if model is not None:
            self.sides.choose("left", model)

    def remember_theme(self, theme: str) -> None:
        """Keep the theme for the next time."""
        if self.facts is not None and theme != self.state.theme:
            self.state = replace(self.state, theme=theme)
            self._remember()

    @on(Sides.Changed)
    def _remember(self) -> None:
        kept = (self.state.left, self.state.right)
        chosen = (self.sides.chosen(side) for side in SIDES)
        left, right = (new or old for new, old in zip(chosen, kept, strict=True))
        self.state = replace(self.state, left=left, right=right, one=self.sides.one)
        self._asking.remember(self.state)


def _top_line(facts: Facts) -> str:
    items = f"{facts.n_items:,} {facts.item_word.lower()}s"
    return " · ".join((facts.dataset, items, facts.text, facts.store))
