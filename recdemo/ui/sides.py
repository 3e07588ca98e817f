"""Two opinions about an item: side by side, or as tabs where there is little room.

An answer says what it answers; one to a question that is no longer asked is dropped, so what is
shown always belongs together, however fast keys come.
"""

from functools import partial
from time import monotonic

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import DataTable

from recdemo.ui.cells import clean
from recdemo.ui.dialogs import NO_MODEL, Confirm, Picker
from recdemo.ui.opinions import Opinions
from recdemo.ui.pane import ModelPane
from recdemo.ui.services import Services
from recdemo.ui.tabs import SideTab

SIDES = ("left", "right")
_PATIENCE = 0.2  # seconds that the answer about an earlier item may stay beside a new one
_FRAME = 0.02  # seconds in which the item is painted, before models are asked about it
# Asking about each of many items that pass by would slow down the keys where answers take long,
# as of 100,000 items; so there has to be a pause, about as long as an answer takes.
_HURRY = 0.5  # seconds between two items of which the first is only passed by
_LONGEST_PAUSE = 0.4  # seconds


class Sides(Vertical):
    """A pane for each side, and the tabs that stand for them on a narrow screen."""

    class Opened(Message):
        """Somebody wants to see an item of a list."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    class Changed(Message):
        """A side has another model, or there are more or fewer of them."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._opinions = Opinions(self, services)
        self._row: int | None = None  # the item that is shown
        self._k = 0
        self._looked = self._asked = 0.0  # when another item was wanted, and models asked, last
        self._took = 0.0  # seconds until the last answer
        self.soon: Timer | None = None  # after which models are asked about it
        self.one = False  # a person wants a single model, without a right side
        self._spare: dict[str, str] = {}  # side -> model for a remembered one that cannot be shown
        self._standing_in: set[str] = set()  # sides that show it
        self._away: set[str] = set()  # sides whose store could not be asked for a model
        self._told: dict[str, str] = {}  # side -> what went wrong, and has been told

    def compose(self) -> ComposeResult:
        """Lay out the tabs and the panes."""
        with Horizontal(id="tabs"):
            for side in SIDES:
                yield SideTab(side)
        with Horizontal(id="panes"):
            for side in SIDES:
                yield ModelPane(side)

    def on_mount(self) -> None:
        """Begin on the left."""
        self.turn_to("left")

    def pane(self, side: str) -> ModelPane:
        """Return the pane of a side."""
        return self.query_one(f"#{side}", ModelPane)

    def name_items(self, word: str) -> None:
        """Tell what an item is called: Movie."""
        for side in SIDES:
            self.pane(side).item_word = word

    def turn_to(self, side: str) -> None:
        """Show a side where there is room for one."""
        for each in SIDES:
            self.pane(each).set_class(each == side, "-shown")
            self.query_one(f"#tab-{each}", SideTab).shown = each == side

    @property
    def has_right(self) -> bool:
        """Whether anything stands on the right."""
        return not self.has_class("-one")

    # --- models ---

    def begin(self, side: str, model: str, spare: str | None) -> None:
        """Show the model of the last time, or the *spare* one where that cannot be shown."""
        if spare not in (None, model):
            self._spare[side] = spare
        self.use(side, model)

    def chosen(self, side: str) -> str | None:
        """Return the model that a person wants on a side; None: the one of the last time."""
        return None if side in self._standing_in else self.pane(side).asked

    def use(self, side: str, model: str | None, may_pay: bool = False) -> None:
        """Show a model on a side, building its collection first where it is missing."""
        if side == "right":
            self.set_class(model is None and not self.pane(side).covered, "-one")
        self._away.discard(side)
        self.pane(side).use(model)
        if model is not None:
            self._opinions.prepare(side, model, may_pay)
            return
        self._opinions.forget(side)
        self.turn_to("left")
        self.post_message(self.Changed())
        self._draw()

    def choose(self, side: str, model: str | None) -> None:
        """Show what a person has chosen for a side; it has no spare one."""
        self._spare.pop(side, None)
        self._standing_in.discard(side)
        self.use(side, model)

    @on(Opinions.Progressed)
    def _progressed(self, message: Opinions.Progressed) -> None:
        self.pane(message.side).building(message.model, message.done, message.total)

    @on(Opinions.Ready)
    def _ready(self, message: Opinions.Ready) -> None:
        if self.pane(message.side).prepared(message.asked, message.model):
            self.post_message(self.Changed())
            self._ask(message.side)

    @on(Opinions.Failed)
    def _failed(self, message: Opinions.Failed) -> None:
        wanted = message.row in (None, self._row)
        if not wanted or not self.pane(message.side).fail(message.model, message.reason):
            return
        if message.reason not in self._told.values():
            self.notify(clean(message.reason), severity="error", markup=False)
        self._told[message.side] = message.reason
        spare = self._spare.pop(message.side, None)
        if message.row is None and spare is not None:
            self._standing_in.add(message.side)
            self.use(message.side, spare)
        elif message.row is None and message.of_store:
            self._away.add(message.side)

    @on(Opinions.Waits)
    def _waits(self, message: Opinions.Waits) -> None:
        self.pane(message.side).hold_up(message.model, message.text)

    @on(Opinions.Costs)
    def _costs(self, message: Opinions.Costs) -> None:
        pane = self.pane(message.side)
        if not pane.fail(message.model, "not built: it costs money"):
            return

        def answered(yes: bool | None) -> None:
            if yes and pane.asked == message.model:
                self.use(message.side, message.model, may_pay=True)

        self.app.push_screen(Confirm(message.question), answered)

    def pick(self, side: str) -> None:
        """Let a person choose the model of a side."""
        sources = (self._services.choices, self._services.more_choices)
        picker = Picker(f"Model on the {side}", *sources, none=side == "right")
        self.app.push_screen(picker, partial(self._picked, side))

    def _picked(self, side: str, model: str | None) -> None:
        if model is not None:
            if side == "right":
                self.pane(side).uncover()
                self.one = model == NO_MODEL
            self.choose(side, None if model == NO_MODEL else model)

    # --- recommendations ---

    def look(self, row: int | None, k: int) -> None:
        """Show what there is to say about an item, *k* long."""
        self._row, self._k = row, k
        now = monotonic()
        hurried, self._looked = now - self._looked < _HURRY, now
        if self.soon is not None:
            self.soon.stop()
        pause = max(_FRAME, min(_LONGEST_PAUSE, 2 * self._took)) if hurried else _FRAME
        self.soon = self.set_timer(pause, self._ask_all)
        if row is not None:
            self.set_timer(_PATIENCE, partial(self._wait, row))

    def _ask_all(self) -> None:
        self.soon, self._asked = None, monotonic()
        for side in SIDES:
            self._ask(side)
        self._ask_truth()

    def _wait(self, row: int) -> None:
        if row == self._row:
            for side in SIDES:
                self.pane(side).wait(row)

    def _ask(self, side: str) -> None:
        pane = self.pane(side)
        if self._row is not None and pane.ready is not None:
            self._opinions.recommend(side, pane.ready, self._row, self._k)
        elif side in self._away:  # the store may be there again
            self.use(side, pane.asked)

    def _ask_truth(self) -> None:
        if self._row is not None and self.pane("right").covered:
            self._opinions.list_truth(self._row, self._k)

    @on(Opinions.Recommended)
    def _recommended(self, message: Opinions.Recommended) -> None:
        asked = (self.pane(message.side).ready, self._row, self._k)
        if asked == (message.model, message.opinion.row, message.k):
            self._took = monotonic() - self._asked
            self._told.pop(message.side, None)
            self._opinions.keep(message.side, message.opinion)
            self._draw()

    @on(Opinions.HasTruth)
    def _has_truth(self, message: Opinions.HasTruth) -> None:
        if (message.truth.row, message.k) == (self._row, self._k):
            self._opinions.keep_truth(message.truth)
            self._draw()

    def _draw(self) -> None:
        """Show all answers that belong to what is asked."""
        left, right = (self._opinions.of(side, self._row) for side in SIDES)
        truth = self._opinions.truth_of(self._row)
        for side, opinion, other in (("left", left, right), ("right", right, left)):
            pane = self.pane(side)
            if not pane.covered and opinion is not None:
                pane.show(opinion, other)
            elif pane.covered and truth is not None:
                pane.show_truth(truth, left, right)

    def swap_truth(self) -> None:
        """Show the truth list on the right, or the model again."""
        pane = self.pane("right")
        self.set_class(pane.asked is None and pane.covered, "-one")
        if pane.covered:
            pane.uncover()
            self._draw()
        else:
            pane.cover("truth: largest overlap of users")
            self.turn_to("right")
            self._ask_truth()

    # --- what the widgets tell ---

    @on(ModelPane.Titled)
    def _titled(self, message: ModelPane.Titled) -> None:
        message.stop()
        self.query_one(f"#tab-{message.side}", SideTab).title = clean(message.name)

    @on(DataTable.RowSelected)
    def _selected(self, message: DataTable.RowSelected) -> None:
        message.stop()
        pane = next(p for p in self.query(ModelPane) if p.table is message.data_table)
        if 0 <= message.cursor_row < len(pane.rows):
            self.post_message(self.Opened(pane.rows[message.cursor_row]))

    @on(SideTab.Clicked)
    def _tab(self, message: SideTab.Clicked) -> None:
        message.stop()
        self.turn_to(message.side)
        self.pane(message.side).table.focus()
