"""A store that is opened once it is needed, and may not be there yet."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from recdemo.store import VectorStore, open_store
from recdemo.ui.services import Notice


class LateStore:
    """A store for many threads; each of them is told what its own question waits for.

    A server that does not answer is asked again with the next question.
    """

    def __init__(self, location: str) -> None:
        self.location = location
        self._opened: VectorStore | None = None
        self._lock = threading.Lock()
        self._asking = threading.local()

    @contextmanager
    def asked(self, notice: Notice) -> Iterator[VectorStore]:
        """Give the store for one question."""
        self._asking.notice = notice
        try:
            with self._lock:
                if self._opened is None:
                    self._opened = open_store(self.location, self._tell)
            yield self._opened
        finally:
            del self._asking.notice

    def _tell(self, text: str) -> None:
        notice = getattr(self._asking, "notice", None)
        if notice is not None:  # a thread of the store's own asks for nobody
            notice(text)
