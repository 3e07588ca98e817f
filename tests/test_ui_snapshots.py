"""Pictures of the UI, compared with those that somebody has looked at.

What is meant to look different is drawn anew, looked at (they are SVG files, a browser shows
them) and committed with the change:

    uv run pytest tests/test_ui_snapshots.py --snapshot-update

Unicode tables and drawing differ between versions of Python and Textual, so one of each counts.
"""

import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.metadata import version

import pytest
from syrupy.extensions.image import SVGImageSnapshotExtension
from textual.widgets import Input

from recdemo.ui.app import RecdemoApp
from recdemo.ui.services import Curve, Found, Item, Level, Line, Point, Results
from tests.pictures import svg_of
from tests.test_ui import settle
from tests.ui_fakes import FakeServices

DRAWN_BY = {"Python": "3.11", "Textual": "8.2.8"}
_HERE = {"Python": "{}.{}".format(*sys.version_info), "Textual": version("textual")}

pytestmark = pytest.mark.skipif(
    _HERE != DRAWN_BY, reason=f"the pictures are those of {DRAWN_BY}, this is {_HERE}"
)

_LONG = "The Complete and Unabridged Chronicle of the Lighthouse at the End of the Harbor " * 4
MOVIES = (
    Line(0, "The Harbor Light", "1958", "Ida Northcote", "Mystery, Thriller"),
    Line(1, "A Second Tide", "1961", "Ida Northcote", "Drama"),
    Line(2, _LONG[:300], "1949", "Bartholomew Ravenscroft-Hollingworth", "Film-Noir, Mystery"),
    Line(3, "灯台の光と長い長い海の物語と港町の夜明け", "1962", "山田 花子", "Drama, Romance"),
    Line(4, "שלום עולם", "1971", "רות לוי", "Drama"),
    Line(5, "[red]Fog[/red] over [/] Harbor", "1955", "Ann Doe, Bert Roe", "Film-Noir"),
    Line(6, "Bell\x07 and\x1b[31m Buoy\u202e", "1980", "", "Comedy"),
    Line(7, "Ebb", "", "Carl Voss", ""),
    Line(8, "Pier 9", "1959", "Max Ophir", "Crime, Drama"),
    Line(9, "Night Ferry", "1964", "Ida Northcote", "Thriller"),
    Line(10, "Cafe\u0301 du Port", "1938", "Jean Marchand", "Comedy, Romance"),
)
SYNOPSIS = (
    "A keeper who has not left the lighthouse for nine years sees a signal answered from a "
    "harbor that has no light. He rows out to find who is there, and is taken for a man the "
    "whole town believes to be dead."
)
RESULTS = Results(
    title="tiny, 2026-11-30 12:00 UTC",
    heads=("Model", "Dim", "How", "Recall@100", "95 %", "nDCG@100", "B/item"),
    numeric=(False, True, False, True, True, True, True),
    ranks=(0, 1, 5, 2, 3, 4, 6),
    rows=(
        ("a:one", "512", "native", "0.1867", "0.1829-0.1905", "0.2069", "2,048"),
        ("a:one", "64", "matryoshka", "0.0949", "0.0925-0.0973", "0.1065", "256"),
        ("baseline:popularity", "1", "native", "0.0924", "0.0892-0.0957", "0.0932", "4"),
    ),
    models=("a:one@512", "a:one@64", "baseline:popularity@1"),
    measure="Recall@100",
    curves=(
        Curve("a:one", (Point(64, 0.0949, 0.08, 0.11), Point(512, 0.1867, 0.17, 0.2))),
        Curve("baseline:popularity", (Point(1, 0.0924, 0.0892, 0.0957),)),
        Curve("z:old, published", (Point(64, 0.08), Point(256, 0.12), Point(1024, 0.17)), True),
    ),
    levels=(Level("chance", 0.027), Level("ceiling, halves", 0.452)),
)


def fake():
    fake = FakeServices([movie.title for movie in MOVIES])
    fake.lines = list(MOVIES)
    fake.latest = RESULTS
    everything = Found(MOVIES, 2345, True)
    about = Item(MOVIES[0], SYNOPSIS, 1033)
    return replace(fake.services(), search=lambda query, limit: everything, item=lambda row: about)


@asynccontextmanager
async def looking(size, keys, theme="textual-dark"):
    """The app with its first movie on the screen, after some keys more."""
    app = RecdemoApp(fake())
    app.animation_level = "none"
    async with app.run_test(size=size) as pilot:
        app.screen.query_one(Input).cursor_blink = False
        app.theme = theme
        await settle(app, pilot)
        await pilot.press(*"harbor")
        await settle(app, pilot)
        for key in keys:
            await pilot.press(key)
            await settle(app, pilot)
        yield app


@pytest.fixture
def kept(snapshot):
    """The picture that was looked at."""
    return snapshot.use_extension(SVGImageSnapshotExtension)


@pytest.mark.parametrize(
    ("size", "keys", "theme"),
    [
        ((80, 24), (), "textual-dark"),
        ((120, 40), (), "textual-light"),
        ((200, 50), ("enter",), "textual-dark"),
        ((40, 10), ("enter",), "textual-dark"),
        ((120, 40), ("f5",), "textual-dark"),
        ((80, 24), ("f5",), "textual-light"),
    ],
    ids=["80x24", "120x40-light", "200x50", "40x10", "results-120x40", "results-80x24-light"],
)
async def test_it_looks_as_it_did(kept, size, keys, theme):
    async with looking(size, keys, theme) as app:
        assert svg_of(app) == kept


async def test_it_looks_as_it_did_without_color(kept, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with looking((120, 40), ("enter", "f4")) as app:
        assert svg_of(app) == kept
