"""Questions asked in threads; answers come back as messages to the widget that asked.

A new question cancels the one before of the same kind, whose answer is then never sent.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial

from textual.message import Message
from textual.widget import Widget
from textual.worker import Worker, get_current_worker

from recdemo.errors import RecdemoError
from recdemo.ui.cells import clean
from recdemo.ui.services import Facts, Found, Item, Services, Stopped
from recdemo.ui.state import State, read_state, write_state


class Threads(ThreadPoolExecutor):
    """Threads that nobody waits for at the end: quitting is immediate, whatever they do."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of them."""
        super().shutdown(wait=False, cancel_futures=True)


def ask(
    widget: Widget,
    group: str,
    work: Callable[[], Message | None],
    failed: Callable[[RecdemoError], Message] | None = None,
    threads: Threads | None = None,
) -> None:
    """Send a widget what *work* answers, or what *failed* makes of the reason why it cannot.

    Without *failed*, a notification tells the reason; without *threads*, those of all are used.
    """

    def run(worker: Worker[None]) -> None:
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
                widget.notify(clean(str(error)), severity="error", markup=False)
                return
            answer = failed(error)
        if answer is not None and not worker.is_cancelled:
            widget.post_message(answer)

    async def wait() -> None:
        answer = partial(copy_context().run, run, get_current_worker())
        await asyncio.get_running_loop().run_in_executor(threads, answer)

    _: Worker[None] = widget.run_worker(wait, exclusive=True, group=group)


class Asking:
    """Asks for items: all of them, those that a query finds, or one."""

    @dataclass
    class Opened(Message):
        """The data set has been read."""

        facts: Facts
        state: State
        note: str  # why the state is lost

    @dataclass
    class Shut(Message):
        """The data set cannot be read."""

        reason: str

    @dataclass
    class FoundItems(Message):
        """What a query finds."""

        query: str
        found: Found

    @dataclass
    class Looked(Message):
        """An item by itself."""

        item: Item

    def __init__(self, widget: Widget, services: Services) -> None:
        self._widget, self._services = widget, services

    def open(self) -> None:
        """Read the data set."""
        ask(self._widget, "open", self._open, lambda error: self.Shut(str(error)))

    def _open(self) -> Message:
        facts, path = self._services.open(), self._services.state()
        return self.Opened(facts, *((State(), "") if path is None else read_state(path)))

    def search(self, query: str, limit: int) -> None:
        """Find the items that a query fits."""
        services = self._services
        ask(self._widget, "search", lambda: self.FoundItems(query, services.search(query, limit)))

    def item(self, row: int) -> None:
        """Look an item up."""
        ask(self._widget, "item", lambda: self.Looked(self._services.item(row)))

    def remember(self, state: State) -> None:
        """Keep the state of the UI."""
        ask(self._widget, "state", lambda: self._write(state))

    def _write(self, state: State) -> None:
        path = self._services.state()
        if path is not None:
            write_state(path, state)
