"""Questions of the main screen, asked in threads; answers come back as messages.

A new question cancels the one before of the same kind, whose answer is then never sent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from textual.message import Message
from textual.screen import Screen
from textual.worker import Worker, get_current_worker

from recdemo.errors import RecdemoError
from recdemo.ui.cells import clean
from recdemo.ui.services import (
    Facts,
    Found,
    Item,
    MustAsk,
    Opinion,
    Services,
    Stopped,
    TruthList,
)
from recdemo.ui.state import State, read_state, write_state


class Asking:
    """Asks the services for a screen, and keeps the last opinion of each side."""

    @dataclass
    class Opened(Message):
        """The data set has been read."""

        facts: Facts
        state: State
        note: str  # why the state is lost

    @dataclass
    class FoundItems(Message):
        """What a query finds."""

        query: str
        found: Found

    @dataclass
    class Looked(Message):
        """An item by itself."""

        item: Item

    @dataclass
    class Progressed(Message):
        """A collection is being built."""

        side: str
        model: str
        done: int
        total: int

    @dataclass
    class Ready(Message):
        """The collection of a model is there."""

        side: str
        asked: str
        model: str  # with its dimension

    @dataclass
    class Costs(Message):
        """A model costs money, so a person is asked first."""

        side: str
        model: str
        question: str

    @dataclass
    class Failed(Message):
        """A model cannot be shown, or not for an item."""

        side: str
        model: str
        reason: str
        row: int | None = None

    @dataclass
    class Recommended(Message):
        """What a model recommends."""

        side: str
        model: str
        k: int
        opinion: Opinion

    @dataclass
    class HasTruth(Message):
        """The truth list of an item."""

        truth: TruthList
        k: int

    def __init__(self, screen: Screen[Any], services: Services) -> None:
        self._screen, self._services = screen, services
        self._opinions: dict[str, Opinion] = {}
        self.truth_list: TruthList | None = None

    def open(self) -> None:
        """Read the data set."""
        self._run("open", self._open)

    def _open(self) -> Message:
        facts, path = self._services.open(), self._services.state()
        return self.Opened(facts, *((State(), "") if path is None else read_state(path)))

    def search(self, query: str, limit: int) -> None:
        """Find the items that a query fits."""
        self._run("search", lambda: self.FoundItems(query, self._services.search(query, limit)))

    def item(self, row: int) -> None:
        """Look an item up."""
        self._run("item", lambda: self.Looked(self._services.item(row)))

    def truth(self, row: int, k: int) -> None:
        """Ask for a truth list."""
        self._run("truth", lambda: self.HasTruth(self._services.truth(row, k), k))

    def prepare(self, side: str, model: str, may_pay: bool) -> None:
        """Find or build the collection of a model."""
        self._opinions.pop(side, None)
        work = partial(self._prepare, side, model, may_pay)
        self._run(f"prepare-{side}", work, partial(self.Failed, side, model))

    def _prepare(self, side: str, model: str, may_pay: bool) -> Message:
        worker = get_current_worker()

        def progress(done: int, total: int) -> None:
            if worker.is_cancelled:
                raise Stopped
            self._screen.post_message(self.Progressed(side, model, done, total))

        def notice(text: str) -> None:
            if not worker.is_cancelled:
                self._screen.notify(clean(text), markup=False)

        try:
            return self.Ready(side, model, self._services.prepare(model, progress, notice, may_pay))
        except MustAsk as question:
            return self.Costs(side, model, str(question))

    def recommend(self, side: str, model: str, row: int, k: int) -> None:
        """Ask what a prepared model recommends."""
        self._run(
            f"recommend-{side}",
            lambda: self.Recommended(side, model, k, self._services.recommend(model, row, k)),
            lambda reason: self.Failed(side, model, reason, row),
        )

    def keep(self, message: "Asking.Recommended") -> None:
        """Keep an answer, since the marks of one side depend on the other."""
        self._opinions[message.side] = message.opinion

    def opinion(self, side: str, row: int | None) -> Opinion | None:
        """Return the opinion of a side on an item, if it is there."""
        kept = self._opinions.get(side)
        return kept if kept is not None and kept.row == row else None

    def forget(self, side: str) -> None:
        """Drop what a side said, and what it was asked."""
        self._opinions.pop(side, None)
        for group in (f"prepare-{side}", f"recommend-{side}"):
            self._screen.workers.cancel_group(self._screen, group)

    def remember(self, state: State) -> None:
        """Keep the state of the UI."""
        self._run("state", lambda: self._write(state))

    def _write(self, state: State) -> None:
        path = self._services.state()
        if path is not None:
            write_state(path, state)

    def _run(
        self,
        group: str,
        work: Callable[[], Message | None],
        failed: Callable[[str], Message] | None = None,
    ) -> "Worker[None]":
        def run() -> None:
            worker = get_current_worker()
            if worker.is_cancelled:  # while it stood in line
                return
            try:
                answer = work()
            except Stopped:
                return
            except RecdemoError as error:
                if worker.is_cancelled:
                    return
                if failed is None:
                    self._screen.notify(clean(str(error)), severity="error", markup=False)
                    return
                answer = failed(str(error))
            if answer is not None and not worker.is_cancelled:
                self._screen.post_message(answer)

        return self._screen.run_worker(run, thread=True, exclusive=True, group=group)
