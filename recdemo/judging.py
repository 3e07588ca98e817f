"""Judging collections while others are still being built, in processes of their own.

The embedded engine searches with one processor and holds the interpreter's lock while it does,
so threads do not help. But several processes may use one store side by side, and collections
are judged independently of each other. So each processor gets a process that opens the store
for itself.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from recdemo.processes import Processes, n_processors
from recdemo.protocols import Judge, Judgment
from recdemo.store import VectorStore

Reopen: TypeAlias = Callable[[], VectorStore]  # must be known by name to another process

FEWEST = 3  # collections for which starting processes pays
MOST = 8  # processes
LOST = (
    "a process that asked the collections was ended from outside, perhaps for want of "
    "memory; try again with fewer models at a time"
)


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What was found about a collection, and how long that took."""

    judgments: list[Judgment]
    seconds: float


Submit: TypeAlias = Callable[[str], Callable[[], Judged]]


@contextmanager
def judges(
    store: VectorStore, judge: Judge, reopen: Reopen | None, n_collections: int
) -> Iterator[Submit]:
    """Have what begins to judge a collection; what that returns waits for the answer.

    Collections are judged one after the other here, or side by side in other processes.

    Args:
        store: asked here, where no processes are used.
        reopen: opens the same store in another process; None: everything is done here.
        n_collections: how many will come.
    """
    workers = min(n_processors(), n_collections, MOST)
    if reopen is None or workers < 2 or n_collections < FEWEST:
        yield partial(_at_once, store, judge)
        return
    with Processes(workers, _prepare, (reopen, judge.light()), LOST) as processes:
        yield partial(processes.submit, _work)


def _at_once(store: VectorStore, judge: Judge, name: str) -> Callable[[], Judged]:
    judged = _judge(store, judge, name)
    return lambda: judged


def _judge(store: VectorStore, judge: Judge, name: str) -> Judged:
    started = time.perf_counter()
    judgments = judge.judge(store, name)
    return Judged(judgments, time.perf_counter() - started)


# What a process needs for all its work, set once when it starts.
_store_here: VectorStore
_judge_here: Judge


def _prepare(reopen: Reopen, judge: Judge) -> None:
    global _store_here, _judge_here
    _store_here, _judge_here = reopen(), judge


def _work(name: str) -> Judged:
    return _judge(_store_here, _judge_here, name)
