"""Processes that work for this one: deaf to Ctrl-C, which is for this one, and ended with it.

They are started anew ("spawn") rather than forked, since a fork of a process with threads, as
those of a progress display or of a numerical library, may never come back.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Self, TypeVar

from recdemo.errors import StoreError

T = TypeVar("T")
AHEAD = 4  # pieces of work per process that wait to be done or fetched


class Processes:
    """Some processes, each prepared once; what they run must be known by name there.

    Args:
        n: how many.
        prepare: is run first in each process.
        given: what *prepare* gets.
        lost: the error when one is ended from outside.
    """

    def __init__(
        self, n: int, prepare: Callable[..., None], given: tuple[Any, ...], lost: str
    ) -> None:
        self._n, self._lost = n, lost
        self._started: set[BaseProcess] = set()
        self._pool = ProcessPoolExecutor(
            n,
            multiprocessing.get_context("spawn"),
            initializer=_start,
            initargs=(prepare, given),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:  # Ctrl-C, say: do not wait for work that nobody wants any more
            self._pool.shutdown(wait=False, cancel_futures=True)
            for process in self._started:
                process.terminate()
        self._pool.shutdown()

    def submit(self, work: Callable[..., T], *given: object) -> Callable[[], T]:
        """Begin a piece of work; what is returned waits for its result."""
        with _interrupts_held():
            others = set(multiprocessing.active_children())
            future = self._pool.submit(work, *given)  # starts a process where one is wanted
            self._started |= set(multiprocessing.active_children()) - others
        return partial(self._result, future)

    def in_order(self, work: Callable[..., T], pieces: Iterable[tuple[object, ...]]) -> Iterator[T]:
        """Yield the results of all pieces in their order; few are held at any time."""
        waiting: deque[Callable[[], T]] = deque()
        for given in pieces:
            waiting.append(self.submit(work, *given))
            if len(waiting) > AHEAD * self._n:
                yield waiting.popleft()()
        while waiting:
            yield waiting.popleft()()

    def _result(self, future: Future[T]) -> T:
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise StoreError(self._lost) from error


def n_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait: a process started meanwhile never hears of it, however young it is."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(prepare: Callable[..., None], given: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    prepare(*given)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
