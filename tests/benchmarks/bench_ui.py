"""The terminal UI: its first paint, and how it feels with 100,000 titles of 300 characters.

Run it with ``uv run python -m tests.benchmarks.bench_ui``. Keys go to the app itself and not to
a terminal, so what a terminal takes to draw comes on top. The first paint is that of the
program in a pseudo-terminal, with the bundled data.
"""

import asyncio
import contextlib
import csv
import os
import pty
import random
import resource
import select
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from textual import events

from recdemo.dataset.options import ReadOptions
from recdemo.ui.app import RecdemoApp
from recdemo.ui.hits import HitList
from recdemo.ui.services import Found, Services
from recdemo.workbench.services import open_services
from recdemo.workbench.wanted import Wanted
from tests.benchmarks.bench_search import invented

N_ITEMS, N_LETTERS = 100_000, 300
START_S, KEY_MS = 1.0, 100
TYPED = ("the a", "of the 1958", "zqx", "e o a i")
SIZE = (120, 36)


def first_paint() -> float:
    """Seconds from the start of the program until its search field is on the screen."""
    start = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "recdemo", "ui"])
    seen = b""
    while b"itle, director" not in seen:  # the cursor stands on the first letter
        select.select([terminal], [], [])
        seen += os.read(terminal, 65536)
    taken = time.perf_counter() - start
    os.write(terminal, b"\x11")  # Ctrl+Q
    with contextlib.suppress(OSError):  # the other end is closed
        while os.read(terminal, 65536):
            pass
    os.waitpid(child, 0)
    return taken


def write_catalog(folder: Path) -> None:
    """Write invented items and interactions, a few of which are popular."""
    catalog, choose = invented(N_ITEMS, N_LETTERS), random.Random(0)
    with (folder / "items.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["item_id", "title", "year", "directors", "text"])
        for row, item_id in enumerate(catalog.item_ids):
            title = catalog.title(row)
            fields = (catalog.text(row, "year"), catalog.text(row, "directors"))
            rows.writerow([item_id, title, *fields, title[:200]])
    with (folder / "interactions.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["user_id", "item_id"])
        for user in range(20_000):
            touched = {int(N_ITEMS * choose.random() ** 3) for _ in range(20)}
            rows.writerows([user, row] for row in sorted(touched))


class Watched:
    """An app whose answers are told apart, and how long its event loop does not turn."""

    def __init__(self, services: Services) -> None:
        self._search = services.search
        self.answers: dict[str, Found] = {}
        self.app = RecdemoApp(replace(services, search=self.search))
        self.gaps: list[float] = []
        self.busy: list[float] = []  # milliseconds of processor time of the loop for each key

    def search(self, query: str, limit: int) -> Found:
        self.answers[query] = self._search(query, limit)
        return self.answers[query]

    async def turn(self) -> None:
        """Note how late the loop comes back to a task that asks for nothing."""
        while True:
            start = time.perf_counter()
            await asyncio.sleep(0.005)
            self.gaps.append(time.perf_counter() - start - 0.005)

    async def until(self, there: Callable[[], bool]) -> None:
        while not there():
            await asyncio.sleep(0.001)

    async def painted(self) -> None:
        done = asyncio.Event()
        self.app.screen.call_after_refresh(done.set)
        await done.wait()

    async def key(self, query: str) -> float:
        """Milliseconds from the last letter of *query* until what it finds is painted."""
        hits = self.app.main.query_one(HitList)
        start, own = time.perf_counter(), time.thread_time()
        self.app.post_message(events.Key("space" if query[-1] == " " else query[-1], query[-1]))
        await self.until(lambda: query in self.answers and hits.found is self.answers[query])
        await self.painted()
        self.busy.append((time.thread_time() - own) * 1000)
        return (time.perf_counter() - start) * 1000

    async def type(self) -> list[float]:
        times: list[float] = []
        for line in TYPED:
            self.app.main.query_one("#search").clear()  # type: ignore[attr-defined]
            await asyncio.sleep(0.3)
            self.answers.clear()
            for end in range(1, len(line) + 1):
                times.append(await self.key(line[:end]))
                await asyncio.sleep(0.1)
        return times

    async def redraw(self) -> float:
        start = time.perf_counter()
        self.app.screen.refresh(layout=True)
        await self.painted()
        return (time.perf_counter() - start) * 1000


async def feel(folder: Path) -> None:
    wanted = Wanted(str(folder), None, "embedded", ReadOptions())
    watched = Watched(open_services(wanted))
    start = time.perf_counter()
    async with watched.app.run_test(size=SIZE) as pilot:
        loop = asyncio.create_task(watched.turn())
        await watched.until(lambda: watched.app.main.facts is not None)
        print(f"  ready to search after {time.perf_counter() - start:.1f} s, the field earlier")
        tell("a key while collections are built", await watched.type())
        print(f"  longest stop of the event loop: {max(watched.gaps) * 1000:.0f} ms")
        sides = watched.app.main.sides
        await watched.until(lambda: all(sides.pane(s).ready for s in ("left", "right")))
        print(f"  both collections after {time.perf_counter() - start:.1f} s")
        watched.gaps.clear()
        watched.busy.clear()
        tell("a key when they are there", await watched.type())
        tell("of it the screen's own", watched.busy)
        print(f"  longest stop of the event loop: {max(watched.gaps) * 1000:.0f} ms")
        await asyncio.sleep(2)  # until the models have answered, too
        tell("a full redraw", [await watched.redraw() for _ in range(10)])
        await pilot.resize_terminal(200, 50)
        await watched.painted()
        tell("the same at 200 x 50", [await watched.redraw() for _ in range(10)])
        loop.cancel()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"  memory at its peak: {peak / 2**20:.2f} GiB")


def tell(what: str, times: list[float]) -> None:
    print(
        f"  {what}: median {statistics.median(times):.0f} ms, slowest {max(times):.0f} ms; "
        f"budget {KEY_MS} ms"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["RECDEMO_HOME"] = home
        first_paint()  # compiles what is not yet compiled
        taken = [first_paint() for _ in range(5)]
        print(f"first paint: median {statistics.median(taken):.2f} s; budget {START_S:.0f} s")
        folder = Path(home) / "catalog"
        folder.mkdir()
        write_catalog(folder)
        print(f"{N_ITEMS:,} titles of {N_LETTERS} characters, {SIZE[0]} x {SIZE[1]}")
        asyncio.run(feel(folder))


if __name__ == "__main__":
    main()
