"""Refresh the pictures of the README: ``uv run python -m tests.pictures``.

They show the bundled data and free models, in a home of their own, so that they come out the
same everywhere.
"""

import asyncio
import os
import re
import tempfile
from pathlib import Path

from textual.widgets import Input

from recdemo.dataset.options import ReadOptions
from recdemo.ui.app import RecdemoApp
from recdemo.workbench.services import open_services
from recdemo.workbench.wanted import Wanted
from tests.test_ui import settle

FOLDER = Path(__file__).parent.parent / "data" / "pictures"
_SIZE = (140, 34)


async def _draw() -> None:
    app = RecdemoApp(open_services(Wanted("ml-1m", None, "embedded", ReadOptions())))
    async with app.run_test(size=_SIZE) as pilot:
        await settle(app, pilot, patience=300)
        field = app.screen.query_one(Input)
        field.cursor_blink = False
        field.value = "vertigo"
        await settle(app, pilot)
        await pilot.press("enter")
        await settle(app, pilot)
        _save(app, "main.svg")
        await pilot.press("f4")
        await settle(app, pilot)
        _save(app, "truth.svg")
        await pilot.press("f5")
        await settle(app, pilot)
        await pilot.press("f7")
        await settle(app, pilot, patience=300)
        _save(app, "results.svg")


def svg_of(app: RecdemoApp) -> str:
    """Return a screenshot without the fonts of others: it must look well offline, too."""
    drawn = app.export_screenshot(title="recdemo")
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r"terminal-[0-9]+", "terminal", drawn)  # else all changes with a letter
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"


def _save(app: RecdemoApp, name: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / name).write_text(svg_of(app), encoding="utf-8")


def main() -> None:
    """Draw all pictures."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["RECDEMO_HOME"] = home
        asyncio.run(_draw())


if __name__ == "__main__":
    main()
