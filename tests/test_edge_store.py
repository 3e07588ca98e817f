"""The embedded store: what other processes, kills and broken files do to it."""

import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from recdemo.errors import StoreError
from recdemo.store import Batch, edge
from recdemo.store.edge import EdgeStore
from tests.stores import (
    LINE,
    NEAREST,
    POINTS,
    ROWS,
    build_line,
    collection,
    left_in,
    nearest,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "collections"


@pytest.fixture
def built(folder: Path) -> Path:
    return build_line(folder)


@contextmanager
def python(code: str, *arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Run *code* in a process that is killed in the end."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


needs_kill = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")

# Takes a lock and keeps it until it is killed.
HOLDER = """
import sys
from filelock import FileLock
lock = FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""

# Builds a collection of many small batches that arrive unsorted, and says so before each. With
# a second argument it kills itself as soon as it does that to a file or folder.
BUILDER = """
import os, re, signal, sys
from pathlib import Path
import numpy as np
from recdemo.store.edge import EdgeStore
from tests.stores import batch, collection

def watch(event, arguments):
    happens = re.sub("[.]tmp-[0-9a-f]{8}", ".tmp", f"{event} {arguments}")
    if happens.replace(sys.argv[1] + "/", "").startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

def batches():
    for start in range(1900, -100, -100):
        print("batch", flush=True)
        rows = np.arange(start, start + 100)
        yield batch(rows, np.stack([rows, rows], 1))

if len(sys.argv) > 2:
    sys.addaudithook(watch)
info = collection("big", count=2000, n_items=2000)
EdgeStore(Path(sys.argv[1])).build(info, batches())
print("built", flush=True)
"""

# Asks one collection again and again, and checks every answer.
READER = """
import sys
from pathlib import Path
import numpy as np
from recdemo.store.edge import EdgeStore

store = EdgeStore(Path(sys.argv[1]))
rows = np.arange(4, dtype=np.int32)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(8):
    assert store.neighbors(sys.argv[2], rows, 1).rows.tolist() == [[1], [0], [-1], [1]]
    print("answered", flush=True)
"""


def start(reader: subprocess.Popen[str]) -> None:
    assert line(reader) == "ready"
    assert reader.stdin is not None
    reader.stdin.write("\n")
    reader.stdin.flush()


def test_two_processes_query_the_same_collection_at_the_same_time(built: Path) -> None:
    with (
        python(READER, built.parent, built.name) as one,
        python(READER, built.parent, built.name) as other,
    ):
        start(one)
        start(other)
        for reader in (one, other):
            assert [line(reader) for _ in range(8)] == ["answered"] * 8


@pytest.mark.parametrize("answers", [0, 1, 5])
def test_a_reader_killed_at_any_moment_leaves_a_collection_that_works(
    built: Path, answers: int
) -> None:
    with python(READER, built.parent, built.name) as reader:
        start(reader)
        for _ in range(answers):
            assert line(reader) == "answered"
        reader.kill()
    assert nearest(built.parent) == NEAREST


def test_threads_query_the_same_collection_at_the_same_time(built: Path) -> None:
    store, found = EdgeStore(built.parent), []
    threads = [
        threading.Thread(
            target=lambda: found.append(store.neighbors(LINE.name, ROWS, 1).rows.tolist())
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [NEAREST] * 6


@pytest.mark.parametrize("kind", [".lock", ".next.lock"])
def test_a_process_that_holds_a_collection_for_good_is_one_line_after_the_wait(
    built: Path, kind: str
) -> None:
    told: list[str] = []
    store = EdgeStore(built.parent, told.append, patience=0.2, notice_after=0.05)
    with python(HOLDER, f"{built}{kind}") as holder:
        assert line(holder) == "held"
        with pytest.raises(StoreError, match=r"in use by another process for 0\.2 s") as error:
            store.neighbors(LINE.name, ROWS, 1)
        assert str(built) in str(error.value)
        with pytest.raises(StoreError, match="in use by another process"):
            store.delete(LINE.name)
    assert told == [f"waiting for another recdemo that uses {LINE.name}"] * 2
    assert nearest(built.parent) == NEAREST


def test_a_killed_holder_lets_go(built: Path) -> None:
    with python(HOLDER, f"{built}.lock") as holder:
        assert line(holder) == "held"
        store = EdgeStore(built.parent, lambda message: holder.kill(), notice_after=0.05)
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST


def test_a_long_job_lets_others_in_between(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One query at a time, and between the first two another thread asks and is answered."""
    monkeypatch.setattr(edge, "HOLD", 0.0)
    monkeypatch.setattr("recdemo.store.selecting.BATCH", 1)
    store, order = EdgeStore(built.parent), []
    other_waits = FileLock(f"{built}.next.lock")
    ask = edge._ask

    def asking(*arguments: Any) -> Any:
        order.append("asked")
        if order == ["asked"]:
            other_waits.acquire()  # stands at the head of the queue
        return ask(*arguments)

    opened = edge._opened

    @contextmanager
    def opening(*arguments: Any) -> Iterator[Any]:
        with opened(*arguments) as shard:
            yield shard
        order.append("closed")
        other_waits.release()

    monkeypatch.setattr(edge, "_ask", asking)
    monkeypatch.setattr(edge, "_opened", opening)
    assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
    assert order == ["asked", "closed", "asked", "asked", "closed"]


def test_who_wants_a_collection_that_is_being_built_waits_and_gets_it(folder: Path) -> None:
    """The second one is told once, waits longer than its patience, and embeds nothing."""
    told: list[str] = []
    go_on, asked = threading.Event(), []

    def slow() -> Iterator[Batch]:
        waiting.start()
        go_on.wait()
        yield from POINTS

    def never() -> Iterator[Batch]:
        asked.append("for vectors")
        yield from POINTS

    def notice(message: str) -> None:
        told.append(message)
        go_on.set()

    second = EdgeStore(folder, notice, patience=0.0, notice_after=0.05)
    waiting = threading.Thread(target=lambda: second.build(LINE, never()))
    EdgeStore(folder).build(LINE, slow())
    waiting.join()
    assert told == [f"waiting for another recdemo that builds {LINE.name}"]
    assert asked == []
    assert nearest(folder) == NEAREST


def check_after_kill(folder: Path) -> None:
    """What was there is still there, and the next build succeeds and leaves nothing else."""
    assert nearest(folder) == NEAREST
    with python(BUILDER, folder) as builder:
        said = list(iter(lambda: line(builder), "built"))
    assert said in ([], ["batch"] * 20)  # [] where it was complete before the kill
    assert left_in(folder) == ["big", LINE.name]
    assert EdgeStore(folder).status("big").count == 2000


@needs_kill
@pytest.mark.parametrize("seed", range(3))
def test_a_build_killed_at_any_moment_leaves_a_store_that_works(built: Path, seed: int) -> None:
    folder = built.parent
    with python(BUILDER, folder) as builder:
        for _ in range(random.Random(seed).randrange(1, 20)):
            assert line(builder) == "batch"
        builder.kill()
    check_after_kill(folder)


@needs_kill
@pytest.mark.parametrize(
    "moment",
    [
        "os.mkdir ('big.tmp'",
        "open ('big.tmp/collection.json'",
        "open ('big.tmp/vectors.npy'",
        "os.rename ('big.tmp/vectors.npy', 'big.tmp/unsorted.npy'",
        "os.remove ('big.tmp/unsorted.npy'",
        "open ('big.tmp/rows.npy'",
        "os.rename ('big.tmp', 'big'",
        "shutil.rmtree (PosixPath('big.tmp')",
    ],
)
def test_a_build_killed_while_files_are_moved_leaves_a_store_that_works(
    built: Path, moment: str
) -> None:
    folder = built.parent
    with python(BUILDER, folder, moment) as builder:
        builder.communicate()
        assert builder.returncode == -signal.SIGKILL
    check_after_kill(folder)


def test_leftovers_of_dead_builders_are_removed_and_those_of_living_ones_are_not(
    built: Path,
) -> None:
    folder = built.parent
    for name in (f"{LINE.name}.tmp-dead", "other.tmp-dead", "living.tmp-alive", "new.tmp-dead"):
        shutil.copytree(built, folder / name)
    (folder / "photos.tmp-2024").mkdir()
    (folder / "photos.tmp-2024" / "beach.jpg").touch()
    (folder / "new.tmp-dead" / "collection.json").unlink()
    with FileLock(folder / "living.build.lock"):
        EdgeStore(folder).build(collection("new", count=0), [])
    assert left_in(folder) == [LINE.name, "living.tmp-alive", "new", "photos.tmp-2024"]
