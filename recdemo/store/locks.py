"""The locks of a collection: fair, with a limit to the wait, and a word about it.

There are two: one for whoever has the engine's files open, one for whoever builds or deletes.
Lock files are left behind on purpose: to delete one while another process waits for it would
let two in at once.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from recdemo.errors import StoreError
from recdemo.store import Notice

POLL = 0.02  # seconds between two looks at a lock
USED, NEXT, BUILT = ".lock", ".next.lock", ".build.lock"


class Locks:
    """The locks of one collection during one call, which tells at most once that it waits.

    Every call makes its own, so threads keep each other out as processes do.

    Args:
        path: the folder of the collection; the lock files lie beside it.
        patience: seconds to wait for those who use the collection.
        notice_after: seconds of waiting before *on_wait* is told.
    """

    def __init__(
        self, path: Path, on_wait: Notice, *, patience: float, notice_after: float
    ) -> None:
        self._path = path
        self._on_wait = on_wait
        self._patience = patience
        self._notice_after = notice_after
        self._told = False

    def remove(self) -> None:
        """Remove the lock files of a collection whose name never comes again."""
        for kind in (USED, NEXT, BUILT):
            _lock_file(self._path, kind).unlink(missing_ok=True)

    @contextmanager
    def building(self) -> Iterator[None]:
        """Be the only one who builds or deletes; waits as long as another one who does lives."""
        lock = self._take(BUILT, None)
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def using(self) -> Iterator[None]:
        """Be the only one who has the engine's files open, after those who came before.

        Who lets go of a lock and takes it again at once wins against one who looks every now
        and then. So everyone first takes a second lock, the head of the queue, and keeps it
        until the first one comes free.
        """
        end = time.monotonic() + self._patience
        head = self._take(NEXT, end)
        try:
            lock = self._take(USED, end)
        finally:
            head.release()
        try:
            yield
        finally:
            lock.release()

    def someone_waits(self) -> bool:
        """Tell whether another one stands at the head of the queue."""
        return _is_held(self._path, NEXT)

    def _take(self, kind: str, end: float | None) -> FileLock:
        lock = FileLock(_lock_file(self._path, kind))
        try:
            if not self._told:
                first = self._notice_after if end is None else min(self._notice_after, _left(end))
                with suppress(Timeout):
                    lock.acquire(first, poll_interval=POLL)
                    return lock
                self._told = True
                does = "builds" if kind == BUILT else "uses"
                self._on_wait(f"waiting for another recdemo that {does} {self._path.name}")
            lock.acquire(-1 if end is None else _left(end), poll_interval=POLL)
        except Timeout as error:
            raise StoreError(
                f"the collection {self._path} has been in use by another process for "
                f"{self._patience:g} s; close the recdemo that holds it, or try again later"
            ) from error
        except OSError as error:
            raise StoreError(
                f"cannot lock {self._path}: {(error.strerror or str(error)).lower()}; "
                "set RECDEMO_HOME to a folder where recdemo may write"
            ) from error
        return lock


def is_being_built(path: Path) -> bool:
    """Tell whether a process that lives builds or deletes the collection *path*."""
    return _is_held(path, BUILT)


def _is_held(path: Path, kind: str) -> bool:
    lock = FileLock(_lock_file(path, kind))
    try:
        lock.acquire(0)
    except Timeout:
        return True
    lock.release()
    return False


def _left(end: float) -> float:
    return max(0.0, end - time.monotonic())


def _lock_file(path: Path, kind: str) -> Path:
    return path.with_name(path.name + kind)
