"""Small screens over the main one: choose a model, answer a question, help."""

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from recdemo.errors import RecdemoError
from recdemo.ui.cells import clean
from recdemo.ui.pane import MARKS
from recdemo.ui.services import Choice

NO_MODEL = ""  # what the picker returns for "no second model"

HELP = f"""\
Search        letters in the field; the first hit is shown at once
              words of a title, a director, a year, or id:260
up, down      move in a list; in the field they move in what was found
Enter         from the field into the recommendations; there: go to that item
Escape        one step back; it never quits
left, right   from list to list; Tab as well

F2, F3        choose the left model, the right model
F4            truth list instead of the right model, and back
F5            results of the latest evaluation; there: F7 runs one, s sorts by the next
              column, S turns the order around, Enter takes a model to the left side
F6            how many are shown
Ctrl+P        all commands, themes among them
Ctrl+Q        quit

Outside the field also: / search, m and v models, t truth, r results, n how many, ? help, q quit

{MARKS}
dist  Euclidean distance; L, R beside a truth list: ranks in the lists of the two sides
recall: the share of this item's truth list among the model's nearest, as an evaluation has it
"""


class Help(ModalScreen[None]):
    """What the keys do and the marks mean."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q,enter", "dismiss", "Back")]

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        with VerticalScroll(classes="dialog"):
            yield Static(HELP, markup=False)


class Confirm(ModalScreen[bool]):
    """A question with yes or no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape", "answer(False)", "No"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Lay out the question."""
        with Vertical(classes="dialog"):
            yield Static(clean(self._question), markup=False)
            yield Label("y yes   n no", markup=False)

    def action_answer(self, yes: bool) -> None:
        """Close with the answer."""
        self.dismiss(yes)


class Picker(ModalScreen[str | None]):
    """Choose a model: type to search, Enter to take it.

    Args:
        choices: answers at once; *more* may take seconds, and its answer is added.
        none: offer to show no second model.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back"),
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
    ]

    class Known(Message):
        """Models that can be chosen."""

        def __init__(self, choices: tuple[Choice, ...]) -> None:
            super().__init__()
            self.choices = choices

    def __init__(
        self,
        title: str,
        choices: Callable[[], tuple[Choice, ...]],
        more: Callable[[], tuple[Choice, ...]],
        none: bool,
    ) -> None:
        super().__init__()
        self._title, self._sources, self._none = title, (choices, more), none
        self._choices: list[Choice] = []

    def compose(self) -> ComposeResult:
        """Lay out the field and the list."""
        with Vertical(classes="dialog"):
            yield Label(self._title, markup=False)
            yield Input(placeholder="part of a name, or provider:name@dimension")
            yield OptionList(markup=False)

    def on_mount(self) -> None:
        """Ask which models there are."""
        self._fill("")
        self._ask()

    @work(thread=True, exclusive=True, group="choices")
    def _ask(self) -> None:
        worker = get_current_worker()
        for source in self._sources:
            try:
                found = source()
            except RecdemoError as error:
                self.notify(str(error), severity="error", markup=False)
                continue
            if worker.is_cancelled:
                return
            self.post_message(self.Known(found))

    @on(Known)
    def _add(self, message: Known) -> None:
        known = {choice.model for choice in self._choices}
        self._choices += [choice for choice in message.choices if choice.model not in known]
        self._fill(self.query_one(Input).value)

    @on(Input.Changed)
    def _search(self, message: Input.Changed) -> None:
        self._fill(message.value)

    def _fill(self, query: str) -> None:
        words = query.lower().split()
        found = [c for c in self._choices if all(word in c.model.lower() for word in words)]
        options = [Option(_prompt(choice), id=choice.model) for choice in found]
        typed = query.strip()
        if ":" in typed and typed not in {choice.model for choice in found}:
            options.append(Option(Text(f"{clean(typed)}  as typed"), id=typed))
        if self._none and not words:
            options.append(Option(Text("no second model"), id="none"))
        shown = self.query_one(OptionList)
        shown.set_options(options)
        shown.highlighted = 0 if options else None

    def action_move(self, by: int) -> None:
        """Move in the list while the field has the focus."""
        shown = self.query_one(OptionList)
        if by > 0:
            shown.action_cursor_down()
        else:
            shown.action_cursor_up()

    @on(Input.Submitted)
    def _take(self) -> None:
        self.query_one(OptionList).action_select()

    @on(OptionList.OptionSelected)
    def _chosen(self, message: OptionList.OptionSelected) -> None:
        model = message.option_id or ""
        choice = next((c for c in self._choices if c.model == model), None)
        if choice is not None and not choice.usable:
            self.notify(choice.state, severity="warning", markup=False)
            return
        self.dismiss(NO_MODEL if model == "none" else model)


def _prompt(choice: Choice) -> Text:
    text = Text(clean(choice.model), no_wrap=True, overflow="ellipsis")
    style = "" if choice.usable else "dim"
    return text.append(f"  {clean(choice.state)}", style=style or "italic")
