"""The services of the terminal UI. What they need is loaded when the first of them is called.

So the first screen stands before NumPy, SciPy and the store have been imported.
"""

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from recdemo.errors import RecdemoError
from recdemo.ui.services import Choice, Facts, Results, Services, Steps
from recdemo.workbench.wanted import Wanted

if TYPE_CHECKING:
    from recdemo.workbench.bench import Workbench


def open_services(wanted: Wanted) -> Services:
    """Return what the UI can ask for; nothing is read yet."""
    late = _Late(wanted)
    return Services(
        open=late.open,
        search=lambda query, limit: late.bench.search(query, limit),
        item=lambda row: late.bench.item(row),
        prepare=lambda *asked: late.bench.prepare(*asked),
        recommend=lambda *asked: late.bench.recommend(*asked),
        truth=lambda row, k: late.bench.truth(row, k),
        choices=lambda: late.bench.choices(),
        more_choices=late.more_choices,
        results=late.results,
        evaluate=late.evaluate,
        state=late.state,
    )


def stop_all() -> None:
    """End the evaluations that still run."""
    from recdemo.workbench import evaluating

    evaluating.stop_all()


class _Late:
    """A workbench that is made when it is first asked."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._bench: Workbench | None = None

    @property
    def bench(self) -> "Workbench":
        if self._bench is None:
            raise RecdemoError("the items are still being read; try again in a moment")
        return self._bench

    def open(self) -> Facts:
        from recdemo.workbench.bench import Workbench

        # Looking for garbage among all items of a large catalog would stop the screen for 0.3 s,
        # again and again, and find none: they stay as long as the program.
        gc.disable()
        try:
            self._bench = Workbench(self._wanted)
        finally:
            gc.freeze()
            gc.enable()
        return self._bench.facts()

    def more_choices(self) -> tuple[Choice, ...]:
        from recdemo.workbench import models

        return () if self._wanted.visitor else models.known()

    def results(self) -> Results | None:
        from recdemo.workbench.results import latest

        return latest()

    def state(self) -> Path | None:
        from recdemo.settings import settings

        return None if self._wanted.visitor else settings().home / "ui.json"

    def evaluate(self, steps: Steps) -> None:
        from recdemo.workbench.evaluating import evaluate

        evaluate(self._wanted, steps)
