"""The results: the table of the latest evaluation, its chart, and running another one."""

import math
import re
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, ProgressBar, Static
from textual.worker import Worker, get_current_worker

from recdemo.errors import RecdemoError
from recdemo.ui.cells import clean
from recdemo.ui.chart import draw
from recdemo.ui.keys import Keys
from recdemo.ui.services import Facts, Results, Services, Stopped
from recdemo.ui.sheet import HEIGHTS, WIDTHS, Head, Sheet

_EMPTY = "No evaluation yet. F7 runs the offline suite: free models, no key, no network."
_NUMBER = re.compile(r"-?[0-9][0-9,]*\.?[0-9]*")


class Chart(Static):
    """Scores against dimensions, drawn anew for every size."""

    def __init__(self) -> None:
        super().__init__(id="chart", markup=False)
        self._results: Results | None = None

    def show(self, results: Results | None) -> None:
        """Show the chart of an evaluation."""
        self._results = results
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Draw it for the new size."""
        self._draw()

    def _draw(self) -> None:
        size, results = self.content_size, self._results
        if results is None or not size.width:
            self.update("")
            return
        head = Text(f"{results.measure} by dimension\n")
        self.update(head + draw(results.curves, results.levels, size.width, size.height - 1))


class ResultsScreen(Screen[str | None]):
    """The latest evaluation; closes with a model that the main screen is to show."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("f7", "evaluate", "Evaluate"),
        Binding("s", "sort(1)", "Sort by the next column"),
        Binding("S", "reverse", "Reverse"),
        Binding("f5", "back", show=False),
    ]
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    @dataclass
    class Read(Message):
        """The latest evaluation, None where there is none."""

        results: Results | None

    @dataclass
    class Stepped(Message):
        """An evaluation is so far."""

        step: str
        done: int
        total: int

    @dataclass
    class Ended(Message):
        """An evaluation has ended."""

        reason: str = ""  # "": it is done

    def __init__(self, services: Services, facts: Facts) -> None:
        super().__init__()
        self._services, self._facts = services, facts
        self._results: Results | None = None
        self._order: list[int] = []  # rows of the results as they are shown
        self._column: int | None = None  # None: as the evaluation has them, best first
        self._descending = True
        self._evaluation: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Static("reading ...", id="results-title", markup=False)
        with Horizontal(id="results-body"):
            yield Sheet(id="results")
            yield Chart()
        with Horizontal(id="evaluation"):
            yield ProgressBar(show_eta=False)
            yield Static(markup=False)
        yield Keys()

    def on_mount(self) -> None:
        """Read the latest evaluation."""
        self.query_one("#results", Sheet).focus()
        self._read()

    def _read(self) -> None:
        def read() -> None:
            worker = get_current_worker()
            try:
                results = self._services.results()
            except RecdemoError as error:
                self.notify(clean(str(error)), severity="error", markup=False)
                results = None
            if not worker.is_cancelled:
                self.post_message(self.Read(results))

        self.run_worker(read, thread=True, exclusive=True, group="read")

    @on(Read)
    def _show(self, message: Read) -> None:
        self._results = results = message.results
        title = _EMPTY if results is None else clean(results.title)
        self.query_one("#results-title", Static).update(title)
        self.query_one(Chart).show(results)
        self._fill()

    def _fill(self) -> None:
        results = self._results
        if results is None:
            return
        self._order = list(range(len(results.rows)))
        if self._column is not None:
            column = self._column
            numbers = results.numeric[column]
            self._order.sort(
                key=lambda i: _sort_key(results.rows[i][column], numbers), reverse=self._descending
            )
        heads = _heads(results, self._column, self._descending)
        self.query_one("#results", Sheet).fill(heads, [results.rows[i] for i in self._order])

    def action_sort(self, by: int) -> None:
        """Sort by the next column."""
        if self._results is not None:
            column = -1 if self._column is None else self._column
            self._sort_by((column + by) % len(self._results.heads))

    def action_reverse(self) -> None:
        """Turn the order around."""
        self._descending = not self._descending
        self._fill()

    @on(DataTable.HeaderSelected, "#results")
    def _clicked(self, message: DataTable.HeaderSelected) -> None:
        column = self.query_one("#results", Sheet).head_at(message.column_index)
        if column == self._column:
            self.action_reverse()
        else:
            self._sort_by(column)

    def _sort_by(self, column: int) -> None:
        if self._results is not None:
            self._column, self._descending = column, self._results.numeric[column]
            self._fill()

    @on(DataTable.RowSelected, "#results")
    def _take(self, message: DataTable.RowSelected) -> None:
        if self._results is not None and 0 <= message.cursor_row < len(self._order):
            self._stop()
            self.dismiss(self._results.models[self._order[message.cursor_row]])

    # --- an evaluation ---

    def action_evaluate(self) -> None:
        """Run the offline suite."""
        if self._facts.no_evaluation:
            self.notify(self._facts.no_evaluation, severity="warning", markup=False)
        elif self._evaluation is None:
            self._progress("starting", 0, 1)
            self.query_one("#evaluation").add_class("-running")
            self._evaluation = self.run_worker(
                self._evaluate, thread=True, exclusive=True, group="evaluate"
            )

    def _evaluate(self) -> None:
        worker = get_current_worker()

        def steps(step: str, done: int, total: int) -> None:
            if worker.is_cancelled:
                raise Stopped
            self.post_message(self.Stepped(step, done, total))

        try:
            self._services.evaluate(steps)
        except Stopped:
            return
        except RecdemoError as error:
            self.post_message(self.Ended(str(error)))
            return
        self.post_message(self.Ended())

    @on(Stepped)
    def _stepped(self, message: Stepped) -> None:
        if self._evaluation is not None:
            self._progress(message.step, message.done, message.total)

    def _progress(self, step: str, done: int, total: int) -> None:
        line = self.query_one("#evaluation")
        line.query_one(ProgressBar).update(total=total or None, progress=done)
        line.query_one(Static).update(f"{clean(step)}   Escape stops it")

    @on(Ended)
    def _ended(self, message: Ended) -> None:
        if self._evaluation is None:
            return
        self._stop()
        if message.reason:
            self.notify(clean(message.reason), severity="error", markup=False)
        else:
            self._read()

    def _stop(self) -> None:
        if self._evaluation is not None:
            self._evaluation.cancel()
            self._evaluation = None
        self.query_one("#evaluation").remove_class("-running")

    def action_back(self) -> None:
        """Stop the evaluation that runs, or go back."""
        if self._evaluation is not None:
            self._stop()
            self.notify("stopped; nothing of it is kept but its collections")
        else:
            self.dismiss(None)


def _heads(results: Results, by: int | None, descending: bool) -> list[Head]:
    """Return the columns; each needs room for all that are more important than itself."""
    mark = " ▼" if descending else " ▲"
    titles = [title + (mark if i == by else "") for i, title in enumerate(results.heads)]
    widths = [
        max(len(titles[i]), *(len(row[i]) for row in results.rows)) + 1 for i in range(len(titles))
    ]
    least, total = [0] * len(titles), 1
    for i in sorted(range(len(titles)), key=lambda i: results.ranks[i]):
        total += widths[i]
        least[i] = total if results.ranks[i] else 0
    return [
        Head(title, width, minimum, grows=i == 0, right=numeric)
        for i, (title, width, minimum, numeric) in enumerate(
            zip(titles, widths, least, results.numeric, strict=True)
        )
    ]


def _sort_key(text: str, number: bool) -> tuple[float, str]:
    """Return what a cell is sorted by: its first number, an empty one below all."""
    if not number:
        return 0.0, text
    found = _NUMBER.search(text)
    return (float(found[0].replace(",", "")) if found else -math.inf, text)
