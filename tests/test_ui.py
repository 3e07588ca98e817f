import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
from textual import events
from textual.widgets import DataTable, Input, OptionList, ProgressBar, Static

from recdemo.errors import EmbeddingError
from recdemo.ui.app import RecdemoApp
from recdemo.ui.dialogs import Confirm, Help, Picker
from recdemo.ui.pane import ModelPane
from recdemo.ui.results_screen import ResultsScreen
from recdemo.ui.sheet import Sheet
from tests.ui_fakes import TITLES, FakeServices

WIDE = (120, 36)


async def settle(app, pilot, but=(), patience=20):
    """Wait until no question is open any more, but those of the groups named."""
    end = time.monotonic() + patience
    while True:
        await pilot.pause()
        soon = app.main.is_mounted and app.main.sides.soon is not None
        if not soon and not any(w.is_running and w.group not in but for w in app.workers):
            await pilot.pause()
            return
        assert time.monotonic() < end, [w.group for w in app.workers]


def lines(app, table):
    sheet = app.screen.query_one(table, Sheet)
    return [
        [cell.plain.strip() for cell in sheet.get_row_at(row)] for row in range(sheet.row_count)
    ]


def titles(app, side):
    at = 4 if app.main.sides.pane(side).opinion is None else 3  # a truth list has two ranks
    return [line[at] for line in lines(app, f"#{side}-table")]


def said(app, selector):
    return str(app.screen.query_one(selector, Static).render())


def picture(app):
    """Return what the screen shows, without colors."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def test_the_first_hit_and_both_opinions_show_while_typing():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee")
        await settle(app, pilot)
        assert said(app, "#item").startswith("Bee (1991)")
        assert titles(app, "left") == ["Cat", "Dog", "Eel"]
        assert titles(app, "right") == ["Dog", "Fox", "Bee"]


async def test_marks_tell_the_truth_and_what_only_one_side_has():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=(200, 36)) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee")
        await settle(app, pilot)
        assert [(line[1], line[2]) for line in lines(app, "#left-table")] == [
            ("✓", "+"), ("", "1"), ("", "+"),
        ]  # fmt: skip
        assert "recall@100 0.25" in said(app, "#left .note")


async def test_enter_opens_a_recommendation_and_escape_goes_back_but_never_out():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee", "enter")
        await settle(app, pilot)
        assert app.focused.id == "left-table"
        await pilot.press("down", "enter")
        await settle(app, pilot)
        assert said(app, "#item").startswith("Dog")
        await pilot.press("enter")
        await settle(app, pilot)
        assert said(app, "#item").startswith("Eel")
        for title in ("Dog", "Bee"):
            await pilot.press("escape")
            await settle(app, pilot)
            assert said(app, "#item").startswith(title)
        await pilot.press("escape", "escape", "escape")
        assert app.is_running
        assert app.focused.id == "search"


async def test_arrows_in_the_field_move_through_what_was_found():
    app = RecdemoApp(FakeServices(("Ox one", "Ox two", "Ox three")).services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"ox", "down")
        await settle(app, pilot)
        assert said(app, "#item").startswith("Ox two")
        await pilot.press("up")
        await settle(app, pilot)
        assert said(app, "#item").startswith("Ox one")


async def test_a_slow_old_answer_never_replaces_a_new_one():
    fake = FakeServices()
    slow = fake.gates["a:one@8", 1] = threading.Event()
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee")
        await settle(app, pilot, but=("recommend-left",))
        assert titles(app, "left") == []
        app.screen.query_one(Input).value = "cat"
        await settle(app, pilot)
        assert titles(app, "left") == ["Dog", "Eel", "Fox"]
        slow.set()
        await settle(app, pilot)
        assert titles(app, "left") == ["Dog", "Eel", "Fox"]
        assert said(app, "#item").startswith("Cat")


async def test_while_one_collection_is_built_the_other_side_works():
    fake = FakeServices()
    built = fake.gates["a:two@16"] = threading.Event()
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"bee")
        await settle(app, pilot, but=("prepare-right",))
        bar = app.screen.query_one("#right ProgressBar", ProgressBar)
        assert bar.display
        assert bar.percentage == pytest.approx(0.3)
        assert titles(app, "left") == ["Cat", "Dog", "Eel"]
        built.set()
        await settle(app, pilot)
        assert not bar.display
        assert titles(app, "right") == ["Dog", "Fox", "Bee"]


async def test_quitting_does_not_wait_for_a_build():
    fake = FakeServices()
    stuck = threading.Event()
    services = replace(fake.services(), prepare=lambda *asked: str(stuck.wait(20)))
    app = RecdemoApp(services)
    started = time.monotonic()
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+q")
    took = time.monotonic() - started
    stuck.set()
    assert took < 10


async def test_a_model_that_cannot_be_used_says_why_and_what_to_do():
    fake = FakeServices()
    fake.faults["a:two@16"] = "no key; set A_API_KEY [/] to yours"
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"bee")
        await settle(app, pilot)
        assert "set A_API_KEY [/] to yours" in said(app, "#right .note")
        assert [note.message for note in app._notifications] == [fake.faults["a:two@16"]]
        assert titles(app, "left") == ["Cat", "Dog", "Eel"]


async def test_an_item_that_a_model_has_no_vector_of_says_so_and_the_next_one_works():
    fake = FakeServices()
    fake.facts = replace(fake.facts, left="a:one")  # its dimension is known when it is prepared
    services = fake.services()

    def recommend(model, row, k, notice):
        if row == 1:
            raise EmbeddingError("this item has no text")
        return fake.recommend(model, row, k, notice)

    services = replace(services, prepare=lambda model, *rest: f"{model}@8", recommend=recommend)
    app = RecdemoApp(services)
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee")
        await settle(app, pilot)
        assert said(app, "#left .note") == "this item has no text"
        app.screen.query_one(Input).value = "cat"
        await settle(app, pilot)
        assert len(titles(app, "left")) == 3


ODD: tuple[str, ...] = ("[/] odd", "[red] x", "[rec] (2007)", "a\x1b[31mb\x07")
ODD = (*ODD, "日本語の長い題名" * 9, "שלום עולם", "x\u202ey", "e" + "\u0301" * 40)


async def test_titles_are_data_and_neither_break_nor_inject_anything():
    app = RecdemoApp(FakeServices(ODD).services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        for title in ODD:
            app.screen.query_one(Input).value = title
            await settle(app, pilot)
            shown = said(app, "#item")
            assert "\x1b" not in shown
            assert "\u202e" not in shown
        app.screen.query_one(Input).value = "[/]"
        await settle(app, pilot)
        assert said(app, "#item").startswith("[/] odd")
        assert lines(app, "#hits")[0][0] == "[/] odd"
        assert titles(app, "left")[:2] == ["[red] x", "[rec] (2007)"]


async def test_the_truth_list_stands_in_for_the_right_model():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=(200, 36)) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee", "f4")
        await settle(app, pilot)
        [line] = lines(app, "#right-table")
        assert line == ["1", "✓", "1", "-", "Cat", "1992", "Ann Doe", "Drama", "0.500", "4"]
        await pilot.press("f4")
        await settle(app, pilot)
        assert titles(app, "right") == ["Dog", "Fox", "Bee"]


async def test_a_model_is_picked_by_typing_part_of_its_name():
    fake = FakeServices()
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee", "f2")
        await settle(app, pilot)
        assert isinstance(app.screen, Picker)
        await pilot.press(*"big", "enter")
        await settle(app, pilot)
        assert ("recommend", "b:big@1024", 1, 20) in fake.asked
        assert said(app, "#left .name") == "b:big@1024"


async def test_a_model_that_cannot_be_picked_says_why():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press("f2")
        await settle(app, pilot)
        await pilot.press(*"far", "enter")
        await pilot.pause()
        assert isinstance(app.screen, Picker)
        assert "set C_API_KEY" in next(iter(app._notifications)).message


async def test_without_a_second_model_the_right_side_is_gone():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee", "f3")
        await settle(app, pilot)
        options = app.screen.query_one(OptionList)
        options.highlighted = options.option_count - 1
        await pilot.press("enter")
        await settle(app, pilot)
        assert not app.screen.query_one("#right", ModelPane).display
        assert [line[1:3] for line in lines(app, "#left-table")] == [["✓", ""], ["", ""], ["", ""]]


async def test_money_is_not_spent_without_asking():
    fake = FakeServices()
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        for answer, allowed in (("n", False), ("y", True)):
            await pilot.press("f2")
            await settle(app, pilot)
            await pilot.press(*"paid:x", "enter")
            await settle(app, pilot)
            assert isinstance(app.screen, Confirm)
            await pilot.press(answer)
            await settle(app, pilot)
            assert (("prepare", "paid:x", True) in fake.asked) is allowed


async def test_what_was_shown_is_remembered(tmp_path):
    path = tmp_path / "home" / "ui.json"
    app = RecdemoApp(FakeServices(state=path).services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press("f6", "f2")
        await settle(app, pilot)
        await pilot.press(*"big", "enter")
        await settle(app, pilot)
        app.theme = "textual-light"
        await settle(app, pilot)
    assert json.loads(path.read_text())["theme"] == "textual-light"
    fake = FakeServices(state=path)
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(*"bee")
        await settle(app, pilot)
        assert ("recommend", "b:big@1024", 1, 50) in fake.asked
        assert app.theme == "textual-light"


@pytest.mark.parametrize("kept", ["", "[]", '{"k": "many"}', '{"left": 3}', '{"what": 1}', "\x00"])
async def test_a_broken_state_is_ignored_with_a_note(tmp_path, kept):
    (tmp_path / "ui.json").write_text(kept)
    app = RecdemoApp(FakeServices(state=tmp_path / "ui.json").services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        assert "is lost" in next(iter(app._notifications)).message
        assert said(app, "#left .name") == "a:one@8"


@pytest.mark.parametrize("size", [(40, 10), (20, 5), (59, 20), (80, 24), (99, 30), (200, 50)])
async def test_every_size_can_be_used(size):
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee")
        await settle(app, pilot)
        assert "Bee" in picture(app)
        await pilot.press("enter")
        await settle(app, pilot)
        assert "Cat" in picture(app) or size[1] < 10
        await pilot.press("f5")
        await settle(app, pilot)
        await pilot.press("escape", "f1")
        await pilot.pause()
        await pilot.resize_terminal(*WIDE)
        await pilot.press("escape")
        await settle(app, pilot)
        assert titles(app, "right") == ["Dog", "Fox", "Bee"]


async def test_on_a_narrow_screen_the_other_model_is_a_tab_away():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee", "enter")
        await settle(app, pilot)
        panes = [app.screen.query_one(f"#{side}", ModelPane) for side in ("left", "right")]
        assert [pane.display for pane in panes] == [True, False]
        await pilot.press("right")
        await settle(app, pilot)
        assert [pane.display for pane in panes] == [False, True]
        assert app.focused.id == "right-table"


async def test_without_color_everything_can_still_be_read(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"bee")
        await settle(app, pilot)
        assert app.no_color
        assert "1 ✓  + Cat" in picture(app)


async def test_the_command_palette_and_the_help_have_every_action():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        known = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Search", "Left model", "Right model", "Truth list", "Results", "Theme"} <= known
        await pilot.press("f1")
        assert isinstance(app.screen, Help)
        await pilot.press("escape")
        assert app.screen is app.main
        await pilot.press("f5")
        await settle(app, pilot)
        known = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Evaluate", "Sort", "Reverse", "Back", "Help"} <= known


async def test_results_are_sorted_by_any_column_and_enter_takes_the_model():
    fake = FakeServices()
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press("f5")
        await settle(app, pilot)
        assert isinstance(app.screen, ResultsScreen)
        await pilot.press("s", "s")  # by dimension, the largest first
        assert [line[1] for line in lines(app, "#results")] == ["1,024", "16", "8"]
        await pilot.press("S")
        assert [line[1] for line in lines(app, "#results")] == ["8", "16", "1,024"]
        await pilot.press("down", "down", "enter")
        await settle(app, pilot)
        assert app.screen is app.main
        assert said(app, "#left .name") == "b:big@1024"


async def test_without_results_the_screen_says_how_to_get_some():
    fake = FakeServices()
    fake.latest = None
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press("f5")
        await settle(app, pilot)
        assert "F7" in said(app, "#results-title")
        await pilot.press("f7")
        await settle(app, pilot)
        assert said(app, "#results-title") == "a new one"


async def test_escape_stops_an_evaluation_before_it_goes_back():
    fake = FakeServices()
    fake.gates["evaluate"] = threading.Event()
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press("f5")
        await settle(app, pilot)
        await pilot.press("f7")
        await settle(app, pilot, but=("evaluate",))
        assert "a:one" in said(app, "#evaluation Static")
        await pilot.press("escape")
        await settle(app, pilot)
        assert isinstance(app.screen, ResultsScreen)
        assert said(app, "#results-title") != "a new one"
        await pilot.press("escape")
        assert app.screen is app.main


async def test_keys_faster_than_answers_end_at_the_last_one():
    app = RecdemoApp(FakeServices(TITLES * 40).services())
    async with app.run_test(size=WIDE) as pilot:
        field = app.screen.query_one(Input)
        for title in TITLES * 10:
            field.value = title
        await settle(app, pilot)
        assert said(app, "#item").startswith("Fox")
        assert titles(app, "left") == ["Ant", "Bee", "Cat"]


async def test_keys_that_arrive_all_at_once_keep_their_order():
    app = RecdemoApp(FakeServices().services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        for _ in range(20):
            for key in ("c", "x", "backspace", "a", "left", "right", "t", "ctrl+u", "d", "o", "g"):
                app.post_message(events.Key(key, key if len(key) == 1 else None))
        await settle(app, pilot)
        assert app.screen.query_one(Input).value == "dog"


async def test_a_list_shows_at_most_the_first_hits_and_tells_of_the_rest():
    app = RecdemoApp(FakeServices([f"The one {i}" for i in range(500)]).services())
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        await pilot.press(*"the")
        await settle(app, pilot)
        assert app.screen.query_one("#hits", DataTable).row_count == 100
        assert said(app, "#count") == "500 found"
        assert said(app, "#more") == "and 400 more"


def test_importing_the_core_does_not_load_textual():
    code = "import sys, recdemo.cli, recdemo.plans; sys.exit('textual' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ))
