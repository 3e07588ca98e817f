"""The main screen: it owns what is shown, and asks for it in threads.

An answer says what it answers; one to a question that is no longer asked is dropped, so what is
on the screen always belongs together, however fast keys come. All that draws or waits is elsewhere:
`hits`, `sides` and `widgets` draw, `asking` waits.
"""

from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static

from recdemo.ui.asking import Asking
from recdemo.ui.cells import clean
from recdemo.ui.dialogs import NO_MODEL, Confirm, Picker
from recdemo.ui.hits import HitList, SearchLine
from recdemo.ui.results_screen import ResultsScreen
from recdemo.ui.services import Facts, Services
from recdemo.ui.sheet import HEIGHTS, WIDTHS, Sheet
from recdemo.ui.sides import SIDES, Sides
from recdemo.ui.state import KS, State
from recdemo.ui.widgets import ItemCard, ModelPane, top_line

LIMIT = 200  # hits that are shown; the count tells of more


class MainScreen(Screen[None]):
    """Search on the left, the item and two opinions about it on the right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search"),
        Binding("escape", "back", "Back"),
        Binding("f2", "pick('left')", "Left"),
        Binding("f3", "pick('right')", "Right"),
        Binding("f4", "truth", "Truth"),
        Binding("f5", "results", "Results"),
        Binding("f6", "more", "How many"),
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
        self._models: dict[str, str] = {}  # side -> model as asked for
        self._ready: dict[str, str] = {}  # side -> model as prepared
        self._truth = False  # the truth list stands on the right

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Static("recdemo", id="top", markup=False)
        yield SearchLine(id="search-line")
        with Horizontal():
            yield HitList()
            with Vertical(id="right-part"):
                yield ItemCard()
                yield Sides()
        yield Footer()

    def on_mount(self) -> None:
        """Begin to read; until that is done the field takes letters already."""
        self.query_one("#item", ItemCard).update("reading the items ...")
        self.query_one("#search").focus()
        self._asking.open()

    @property
    def sides(self) -> Sides:
        """The two opinions."""
        return self.query_one(Sides)

    def pane(self, side: str) -> ModelPane:
        """Return the pane of a side."""
        return self.sides.pane(side)

    @on(Asking.Opened)
    def _opened(self, message: Asking.Opened) -> None:
        facts, self.state = message.facts, message.state
        self.facts = facts
        if message.note:
            self.app.notify(message.note, severity="warning", markup=False)
        if self.state.theme in self.app.available_themes:
            self.app.theme = self.state.theme
        self.set_class(self.state.one, "-one")
        self.query_one("#top", Static).update(f"recdemo   {clean(top_line(facts))}")
        self.sides.name_items(facts.item_word)
        self._use("left", self.state.left or facts.left)
        right = None if self.state.one else self.state.right or facts.right
        if right is None:
            self.add_class("-one")
        else:
            self._use("right", right)
        self._search(self.query_one("#search", Input).value)

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
        self.pane(side).table.focus()

    def show(self, row: int) -> None:
        """Show an item and what the models recommend for it."""
        if row == self.row:
            return
        self.row = row
        self._asking.item(row)
        self._ask_all()

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

    # --- models ---

    def _use(self, side: str, model: str, may_pay: bool = False) -> None:
        """Show a model on a side, building its collection first where it is missing."""
        self._models[side] = model
        self._ready.pop(side, None)
        pane = self.pane(side)
        pane.empty()
        self.sides.entitle(side, model)
        pane.say("looking for its collection ...")
        self._asking.prepare(side, model, may_pay)

    @on(Asking.Progressed)
    def _progressed(self, message: Asking.Progressed) -> None:
        if self._models.get(message.side) == message.model and message.side not in self._ready:
            self.pane(message.side).progress(message.done, message.total)
            self.pane(message.side).say(f"building its collection: {message.done:,} vectors")

    @on(Asking.Ready)
    def _is_ready(self, message: Asking.Ready) -> None:
        if self._models.get(message.side) != message.asked:
            return
        self._ready[message.side] = message.model
        self.pane(message.side).progress(None)
        self.pane(message.side).say("")
        if not (self._truth and message.side == "right"):
            self.sides.entitle(message.side, message.model)
        self._remember()
        self._ask(message.side)

    @on(Asking.Failed)
    def _failed(self, message: Asking.Failed) -> None:
        side = message.side
        shown = (self._models.get(side), self._ready.get(side))  # as asked for, as prepared
        if message.model not in shown or message.row not in (None, self.row):
            return
        self.pane(side).progress(None)
        self.pane(side).empty()
        self.pane(side).say(message.reason)
        self.app.notify(clean(message.reason), severity="error", markup=False)

    @on(Asking.Costs)
    def _costs(self, message: Asking.Costs) -> None:
        if self._models.get(message.side) != message.model:
            return
        self.pane(message.side).say("not built: it costs money")

        def answered(yes: bool | None) -> None:
            if yes and self._models.get(message.side) == message.model:
                self._use(message.side, message.model, may_pay=True)

        self.app.push_screen(Confirm(message.question), answered)

    def action_pick(self, side: str) -> None:
        """Choose the model of a side."""
        if self.facts is None:
            return
        title = f"Model on the {side}"
        picker = Picker(title, self._services.choices, self._services.more_choices, side == "right")
        self.app.push_screen(picker, partial(self._picked, side))

    def _picked(self, side: str, model: str | None) -> None:
        if model is None:
            return
        if side == "right":
            self._truth = False
            self.state = replace(self.state, one=model == NO_MODEL)
            self.set_class(self.state.one, "-one")
        if model == NO_MODEL:
            self._models.pop(side, None)
            self._ready.pop(side, None)
            self._asking.forget(side)
            self.pane(side).empty()
            self.sides.turn_to("left")
            self._remember()
            self._draw()
        else:
            self._use(side, model)

    def take(self, model: str) -> None:
        """Show a model on the left."""
        self._use("left", model)

    # --- recommendations ---

    def _ask_all(self) -> None:
        for side in SIDES:
            self._ask(side)
        if self._truth and self.row is not None:
            self._asking.truth(self.row, self.state.k)

    def _ask(self, side: str) -> None:
        if self.row is not None and side in self._ready:
            self._asking.recommend(side, self._ready[side], self.row, self.state.k)

    @on(Asking.Recommended)
    def _recommended(self, message: Asking.Recommended) -> None:
        asked = (self._ready.get(message.side), self.row, self.state.k)
        if asked == (message.model, message.opinion.row, message.k):
            self._asking.keep(message)
            self._draw()

    @on(Asking.HasTruth)
    def _has_truth(self, message: Asking.HasTruth) -> None:
        if (message.truth.row, message.k) == (self.row, self.state.k):
            self._asking.truth_list = message.truth
            self._draw()

    def _draw(self) -> None:
        """Show all answers that belong to what is asked."""
        opinions = {side: self._asking.opinion(side, self.row) for side in SIDES}
        truth = self._asking.truth_list
        wanted = self._truth and truth is not None and truth.row == self.row
        self.sides.draw(opinions, truth if wanted else None)

    def action_truth(self) -> None:
        """Show the truth list on the right, or the model again."""
        if self.row is None:
            return
        self._truth = not self._truth
        self.set_class(self.state.one and not self._truth, "-one")
        if self._truth:
            self.sides.entitle("right", "truth: largest overlap of users")
            self.sides.turn_to("right")
            self._asking.truth(self.row, self.state.k)
            return
        self.sides.entitle("right", self._models.get("right", ""))
        self.pane("right").empty()
        self.pane("right").say("")
        self._draw()

    def action_more(self) -> None:
        """Show more recommendations, or few again after the most."""
        if self.facts is None:
            return
        later = [k for k in KS if k > self.state.k] or [KS[0]]
        self.state = replace(self.state, k=later[0])
        self.app.notify(f"{later[0]} recommendations", timeout=2)
        self._remember()
        self._ask_all()

    # --- focus, results, state ---

    @on(Sheet.Turned)
    def _turned(self, message: Sheet.Turned) -> None:
        if self.pane("left").table.has_focus and message.side == "left":
            self.remove_class("-reading")
            self.query_one(HitList).table.focus()
        elif self.query_one(HitList).table.has_focus:
            self._read("left")
        elif message.side == "left" or not self.has_class("-one"):
            self._read(message.side)

    def action_results(self) -> None:
        """Show the latest evaluation."""
        if self.facts is not None:
            screen = ResultsScreen(self._services, self.facts)
            self.app.push_screen(screen, lambda model: self.take(model) if model else None)

    def remember_theme(self, theme: str) -> None:
        """Keep the theme for the next time."""
        if self.facts is not None and theme != self.state.theme:
            self.state = replace(self.state, theme=theme)
            self._remember()

    def _remember(self) -> None:
        left = self._models.get("left") or self.state.left
        right = self._models.get("right") or self.state.right
        self.state = replace(self.state, left=left, right=right)
        self._asking.remember(self.state)
