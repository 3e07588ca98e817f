"""Judging collections while others are still being built, in processes of their own.

The embedded engine searches with one processor and holds the interpreter's lock while it does,
so threads do not help. But several processes may use one store side by side, and collections
are judged independently of each other. So each processor gets a process that opens the store
for itself.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self, TypeAlias

from recdemo.errors import StoreError
from recdemo.protocols import Judge, Judgment
from recdemo.store import VectorStore

Reopen: TypeAlias = Callable[[], VectorStore]  # must be known by name to another process

FEWEST = 3  # collections for which starting processes pays
MOST = 8  # processes


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What was found about a collection, and how long that took."""

    judgments: list[Judgment]
    seconds: float


class Judging:
    """Judges collections one after the other here, or side by side in other processes.

    Args:
        store: asked here, where no processes are used.
        reopen: opens the same store in another process; None: everything is done here.
        n_collections: how many will come.
    """

    def __init__(
        self, store: VectorStore, judge: Judge, reopen: Reopen | None, n_collections: int
    ) -> None:
        self._store, self._judge = store, judge
        self._pool: ProcessPoolExecutor | None = None
        workers = min(n_processors(), n_collections, MOST)
        if reopen is not None and workers > 1 and n_collections >= FEWEST:
            self._pool = ProcessPoolExecutor(
                workers,
                multiprocessing.get_context("spawn"),
                initializer=_start,
                initargs=(reopen, judge),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is None:
            return
        if error is not None:  # Ctrl-C, say: do not wait for work that nobody wants any more
            self._pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
        self._pool.shutdown()

    def submit(self, name: str) -> Callable[[], Judged]:
        """Begin to judge a collection; what is returned waits for the answer."""
        if self._pool is None:
            judged = _judge(self._store, self._judge, name)
            return lambda: judged
        with _interrupts_held():
            future = self._pool.submit(_work, name)  # starts a process where one is wanted
        return partial(_result, future)


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


def n_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _result(future: Future[Judged]) -> Judged:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise StoreError(
            "a process that asked the collections was ended from outside, perhaps for want of "
            "memory; try again with fewer models at a time"
        ) from error


def _judge(store: VectorStore, judge: Judge, name: str) -> Judged:
    started = time.perf_counter()
    judgments = judge.judge(store, name)
    return Judged(judgments, time.perf_counter() - started)


# What a process needs for all its work, set once when it starts.
_store_here: VectorStore
_judge_here: Judge


def _start(reopen: Reopen, judge: Judge) -> None:
    global _store_here, _judge_here
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _store_here, _judge_here = reopen(), judge


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(name: str) -> Judged:
    return _judge(_store_here, _judge_here, name)
