"""What models and the truth say about items: asked for in threads, and the last answers kept."""

from dataclasses import dataclass
from functools import partial

from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from recdemo.errors import RecdemoError, StoreError
from recdemo.ui.asking import Threads, ask
from recdemo.ui.cells import clean
from recdemo.ui.services import MustAsk, Opinion, Services, Stopped, TruthList

# Of a side, before the next one stands in line: a store that holds answers up must not take the
# threads that everything else needs.
_AT_ONCE = 3


class Opinions:
    """Asks for opinions, and keeps the last one of each side, since marks depend on both."""

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
        of_store: bool  # it may be there again later
        row: int | None = None

    @dataclass
    class Waits(Message):
        """A model's collection is in use by another process, or its server is asked again."""

        side: str
        model: str
        text: str

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

    def __init__(self, widget: Widget, services: Services) -> None:
        self._widget, self._services = widget, services
        self._opinions: dict[str, Opinion] = {}
        self._truth: TruthList | None = None
        self._threads: dict[str, Threads] = {}  # of each side

    def prepare(self, side: str, model: str, may_pay: bool) -> None:
        """Find or build the collection of a model."""
        self._opinions.pop(side, None)
        work = partial(self._prepare, side, model, may_pay)
        ask(self._widget, f"prepare-{side}", work, partial(self._fail, side, model, None))

    def _fail(self, side: str, model: str, row: int | None, error: RecdemoError) -> Message:
        return self.Failed(side, model, str(error), isinstance(error, StoreError), row)

    def _prepare(self, side: str, model: str, may_pay: bool) -> Message:
        worker = get_current_worker()

        def progress(done: int, total: int) -> None:
            if worker.is_cancelled:
                raise Stopped
            self._widget.post_message(self.Progressed(side, model, done, total))

        def notice(text: str) -> None:
            if not worker.is_cancelled:
                self._widget.notify(clean(text), markup=False)

        try:
            return self.Ready(side, model, self._services.prepare(model, progress, notice, may_pay))
        except MustAsk as question:
            return self.Costs(side, model, str(question))

    def recommend(self, side: str, model: str, row: int, k: int) -> None:
        """Ask what a prepared model recommends."""
        threads = self._threads.setdefault(side, Threads(_AT_ONCE, side))
        work = partial(self._recommend, side, model, row, k)
        failed = partial(self._fail, side, model, row)
        ask(self._widget, f"recommend-{side}", work, failed, threads)

    def _recommend(self, side: str, model: str, row: int, k: int) -> Message:
        def notice(text: str) -> None:
            self._widget.post_message(self.Waits(side, model, text))

        return self.Recommended(side, model, k, self._services.recommend(model, row, k, notice))

    def list_truth(self, row: int, k: int) -> None:
        """Ask for a truth list."""
        ask(self._widget, "truth", lambda: self.HasTruth(self._services.truth(row, k), k))

    def keep(self, side: str, opinion: Opinion) -> None:
        """Keep the opinion of a side."""
        self._opinions[side] = opinion

    def keep_truth(self, truth: TruthList) -> None:
        """Keep a truth list."""
        self._truth = truth

    def of(self, side: str, row: int | None) -> Opinion | None:
        """Return the opinion of a side on an item, if it is there."""
        kept = self._opinions.get(side)
        return kept if kept is not None and kept.row == row else None

    def truth_of(self, row: int | None) -> TruthList | None:
        """Return the truth list of an item, if it is there."""
        return self._truth if self._truth is not None and self._truth.row == row else None

    def forget(self, side: str) -> None:
        """Drop what a side said, and what it was asked."""
        self._opinions.pop(side, None)
        for group in (f"prepare-{side}", f"recommend-{side}"):
            self._widget.workers.cancel_group(self._widget, group)
