"""What fits on the screen, and that what does not fit is left out whole."""

import threading
import time
from dataclasses import replace

import pytest
from textual.widgets import Input, Static

from recdemo.ui.app import RecdemoApp
from recdemo.ui.cells import name_cell
from recdemo.ui.chart import draw
from recdemo.ui.dialogs import Help
from recdemo.ui.services import Curve, Level, Point
from recdemo.ui.sheet import Sheet
from tests.test_ui import WIDE, lines, said, settle, titles
from tests.ui_fakes import FakeServices

KEYS = [
    "/ Search", "esc Back", "F2 Left", "F3 Right", "F4 Truth", "F5 Results", "F6 More",
    "^p palette", "F1 Help", "^q Quit",
]  # fmt: skip
# A model is best at 512 dimensions; one ceiling is far above it.
CURVES = (Curve("a:one", (Point(64, 0.1), Point(512, 0.2))), Curve("b:two", (Point(64, 0.15),)))
LEVELS = (Level("chance", 0.02), Level("ceiling", 0.9))


@pytest.mark.parametrize(
    ("width", "left_out"), [(100, []), (80, ["^p palette"]), (60, KEYS[4:8]), (19, KEYS[:8])]
)
async def test_keys_that_do_not_fit_are_left_out_whole(width, left_out):
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=(width, 24)) as pilot:
        await settle(app, pilot)
        words = said(app, "#keys").split()
        assert words == " ".join(key for key in KEYS if key not in left_out).split()


async def test_a_click_on_a_key_of_the_last_line_presses_it():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        at = str(app.screen.query_one("#keys", Static).render()).index("F1")
        await pilot.click("#keys", offset=(at + 2, 0))
        await settle(app, pilot)
        assert isinstance(app.screen, Help)


async def test_a_tiny_screen_shows_marks_titles_and_years_only():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=(59, 24)) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee", "enter")
        await settle(app, pilot)
        assert lines(app, "#hits") == [["Bee", "1991"]]
        assert lines(app, "#left-table")[0] == ["✓", "Cat", "1992"]


async def test_help_that_is_longer_than_the_screen_is_scrolled_by_keys():
    app = RecdemoApp(FakeServices().services())
    app.animation_level = "none"
    async with app.run_test(size=(80, 16)) as pilot:
        await settle(app, pilot)
        await pilot.press("f1")
        await settle(app, pilot)
        await pilot.press("end")
        await settle(app, pilot)
        assert app.screen.query_one(".dialog").scroll_y > 0


async def test_what_was_said_about_an_earlier_item_does_not_stay_beside_a_new_one():
    fake = FakeServices()
    slow = fake.gates["a:one@8", 2] = threading.Event()
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee")
        await settle(app, pilot)
        assert titles(app, "left") == ["Cat", "Dog", "Eel"]
        app.screen.query_one(Input).value = "cat"
        while app.screen.query_one("#left-table", Sheet).row_count:
            await pilot.pause(0.02)
        assert said(app, "#left .note") == "asking ..."
        slow.set()
        await settle(app, pilot)
        assert titles(app, "left") == ["Dog", "Eel", "Fox"]


async def test_a_model_that_fails_under_the_truth_list_leaves_the_list_and_says_so_after_it():
    fake = FakeServices()
    built = fake.gates["a:two@16"] = threading.Event()
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"bee")
        await settle(app, pilot, but=("prepare-right",))
        await pilot.press("f4")
        await settle(app, pilot, but=("prepare-right",))
        fake.gates.pop("a:two@16")
        fake.faults["a:two@16"] = "it is gone"
        app.main.sides.use("right", "a:two@16")
        built.set()
        await settle(app, pilot)
        assert "L, R: ranks" in said(app, "#right .note")
        await pilot.press("f4")
        await settle(app, pilot)
        assert said(app, "#right .note") == "it is gone"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ("Carol Reed", "Carol Reed"),
        ("Alfred Hitchcock", "…Hitchcock"),
        ("Guus van der Hoek", "…der Hoek"),  # as much of the end as fits
        ("Ann Doe, Bert Roe", "…Doe"),  # the first of several
        ("Bartholomew Ravenscroft", "Bartholom…"),
        ("", ""),
    ],
)
def test_of_a_long_name_the_end_is_shown(names, shown):
    assert name_cell(names, 11).plain == f"{shown:<10} "


def test_levels_far_above_all_scores_are_lines_above_a_break():
    drawn = draw(CURVES, LEVELS, 60, 24).plain.splitlines()
    assert drawn[0].startswith(" 0.900 ┈")
    assert "ceiling" in drawn[0]
    assert drawn[1].strip() == "≈"
    assert any("chance" in line and line.startswith(" 0.020 ┈") for line in drawn)
    assert len(drawn) == 24


def test_a_low_chart_names_all_marks_and_levels_in_short():
    drawn = draw(CURVES, LEVELS, 60, 10).plain.splitlines()
    assert drawn[-2:] == ["● one  ■ two", "┈ ceiling 0.900"]
    assert len(drawn) == 10


def test_numbers_beside_a_chart_are_round():
    drawn = draw(CURVES, (), 60, 24).plain.splitlines()
    numbers = [line.split("┤")[0].strip() for line in drawn if "┤" in line]
    assert numbers == ["0.20", "0.15", "0.10", "0.05", "0.00"]


async def test_of_a_large_catalog_with_long_titles_the_first_hits_are_shown_and_the_rest_counted():
    app = RecdemoApp(FakeServices([f"{i} the {'wide ' * 60}" for i in range(100_000)]).services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"the")
        await settle(app, pilot)
        hits = app.screen.query_one("#hits", Sheet)
        assert hits.row_count == 100
        assert all(cell.cell_len <= hits.size.width for cell in hits.get_row_at(0))
        assert said(app, "#count") == "100,000 found"
        assert said(app, "#more") == "and 99,900 more"


async def test_models_are_not_asked_about_every_item_that_passes_by(monkeypatch):
    monkeypatch.setattr("recdemo.ui.sides._FRAME", 1)
    fake = FakeServices([f"Ox {i}" for i in range(50)])
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"ox", *["down"] * 20)
        await settle(app, pilot)
        about = [asked[2] for asked in fake.asked if asked[:2] == ("recommend", "a:one@8")]
        assert about == [20]
        assert said(app, "#item").startswith("Ox 20 ")


async def test_keys_of_all_kinds_in_a_rush_while_answers_are_slow_end_at_what_was_asked_last():
    fake = FakeServices([f"Ox {i}" for i in range(50)])
    services = fake.services()

    def slow(model, row, k, notice):
        time.sleep(0.002 * (50 - row))  # the earlier, the slower
        return fake.recommend(model, row, k, notice)

    app = RecdemoApp(replace(services, recommend=slow))
    rush = ["f4", "f6", "down", "enter", "f5", "escape", "tab", "down", "f1", "escape", "slash"]
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"ox", *rush * 3, "f6", "down", "escape", "escape", "escape", "escape")
        app.main.query_one("#search", Input).value = "ox 30"
        await settle(app, pilot)
        if app.main.sides.pane("right").covered:
            await pilot.press("f4")
            await settle(app, pilot)
        assert app.screen is app.main
        assert said(app, "#item").startswith("Ox 30 ")
        assert titles(app, "left") == ["Ox 31", "Ox 32", "Ox 33"]
        assert titles(app, "right") == ["Ox 32", "Ox 34", "Ox 36"]


async def test_a_remembered_model_that_cannot_be_shown_gives_way_but_stays_remembered(tmp_path):
    path = tmp_path / "ui.json"
    path.write_text('{"left": "z:gone"}')
    fake = FakeServices(state=path)
    fake.faults["z:gone"] = "its server is away"
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"bee")
        await settle(app, pilot)
        assert said(app, "#left .name") == "a:one@8"
        assert titles(app, "left") == ["Cat", "Dog", "Eel"]
        assert "its server is away" in [note.message for note in app._notifications]
        await pilot.press("f6")
        await settle(app, pilot)
    assert '"left": "z:gone"' in path.read_text()


async def test_the_side_with_the_focus_is_marked():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee", "enter")
        await settle(app, pilot)
        left, right = (app.screen.query_one(f"#{side} .name") for side in ("left", "right"))
        assert left.styles.background != right.styles.background
        marked = left.styles.background
        await pilot.press("right")
        await settle(app, pilot)
        assert right.styles.background == marked != left.styles.background


@pytest.mark.parametrize("keys", [("down",), ("up",), ("enter",), ("tab", "down", "enter")])
async def test_keys_in_lists_where_nothing_is_are_harmless(keys):
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee")
        await settle(app, pilot)
        app.screen.query_one(Input).value = "nothing like it"
        await settle(app, pilot)
        await pilot.press("slash", *keys)
        await settle(app, pilot)
        assert said(app, "#item").startswith("Bee")
