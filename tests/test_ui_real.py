"""The terminal UI with the real embedded store, in a real terminal, and over a real socket."""

import shutil
import subprocess

import pytest
from textual.widgets import Input

from recdemo.cli.web import ui_command
from recdemo.dataset.options import ReadOptions
from recdemo.errors import EmbeddingError, RecdemoError
from recdemo.ui.app import RecdemoApp
from recdemo.ui.results_screen import ResultsScreen
from recdemo.ui.services import Stopped
from recdemo.workbench.bench import Workbench
from recdemo.workbench.services import open_services
from recdemo.workbench.wanted import Wanted
from tests.test_ui import WIDE, lines, said, settle, titles
from tests.websites import until

ITEMS = """item_id,title,year,genres
a,[/] Ant,1990,Fur|Six
b,Bee,1991,Six
c,Cat,2001,Fur
d,Dog,1990,Fur
e,Eel,1995,Wet
"""
# Ant, Bee and Cat share users; Dog has one of its own, Eel has none.
TOUCHED = "1a 2a 3a 1b 2b 3b 3c 4c 5d"


@pytest.fixture
def shop(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "items.csv").write_text(ITEMS, encoding="utf-8")
    rows = "".join(f"{pair[0]},{pair[1]}\n" for pair in TOUCHED.split())
    (folder / "interactions.csv").write_text("user_id,item_id\n" + rows, encoding="utf-8")
    return folder


def wanted(shop, visitor=False):
    return Wanted(str(shop), None, "embedded", ReadOptions(), visitor)


async def test_search_recommend_and_evaluate_on_the_embedded_store(home, shop):
    app = RecdemoApp(open_services(wanted(shop)))
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot, patience=60)
        await pilot.press(*"ant")
        await settle(app, pilot)
        assert said(app, "#item").startswith("[/] Ant (1990)")
        assert len(titles(app, "left")) == len(titles(app, "right")) == 4
        assert "in truth" in said(app, "#left .note")
        app.screen.query_one(Input).value = "eel"
        await settle(app, pilot)
        assert "no truth list" in said(app, "#left .note")
        await pilot.press("f4")
        await settle(app, pilot)
        assert "nobody touched it" in said(app, "#right .note")
        await pilot.press("f5")
        await settle(app, pilot)
        assert isinstance(app.screen, ResultsScreen)
        await pilot.press("f7")
        await settle(app, pilot, patience=60)
        models = [line[0] for line in lines(app, "#results")]
        assert "baseline:genre" in models
    assert len(list((home / "runs").glob("*.json"))) == 1
    assert (home / "ui.json").exists()


def test_the_truth_list_tells_how_many_users_are_in_common(home, shop):
    bench = Workbench(wanted(shop))
    found = bench.truth(0, 10)  # Ant: Bee with 3 of 3 users, Cat with 1 of 4
    shown = [(item.line.title, item.overlap, item.users) for item in found.items]
    assert shown == [("Bee", 1.0, 3), ("Cat", 0.25, 1)]


def test_the_recall_of_an_item_is_that_of_an_evaluation(home, shop):
    bench = Workbench(wanted(shop))
    model = bench.prepare("baseline:genre", lambda done, total: None, print, False)
    # Rated: a, b, c, d. k is 3, so every other rated item is found, whatever the order.
    assert bench.recommend(model, 0, 5, print).recall == 1.0


def test_a_build_that_nobody_wants_any_more_leaves_nothing(home, shop):
    def stop(done: int, total: int) -> None:
        raise Stopped

    bench = Workbench(wanted(shop))
    with pytest.raises(Stopped):
        bench.prepare("baseline:random@8", stop, print, False)
    assert not [path for path in (home / "collections").iterdir() if path.is_dir()]


def test_visitors_load_no_models_of_services_and_leave_no_state(home, shop):
    services = open_services(wanted(shop, visitor=True))
    assert "whoever runs this" in services.open().no_evaluation
    assert services.state() is None
    with pytest.raises(EmbeddingError, match="is not loaded"):
        services.prepare("openai:text-embedding-3-small", lambda d, t: None, print, True)


def test_questions_before_the_items_are_read_say_so(shop):
    services = open_services(wanted(shop))
    with pytest.raises(RecdemoError, match="still being read"):
        services.search("ant", 10)


def program(shop, visitor=False):
    return ui_command(str(shop), None, "embedded", ReadOptions(), visitor)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_in_a_real_terminal_keys_give_recommendations_and_ctrl_q_ends_it(home, shop):
    socket_path = home / "tmux"

    def tmux(*arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", socket_path, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout

    def screen(wanted: str) -> str:
        return until(lambda: tmux("capture-pane", "-p"), lambda shown: wanted in shown)

    command = f"{program(shop)}; echo ended with $?; sleep 60"
    tmux("new-session", "-d", "-x", "100", "-y", "30", command)
    try:
        screen("Search")
        tmux("send-keys", "bee")
        assert "[/] Ant" in screen("recall@")
        tmux("send-keys", "C-q")
        screen("ended with 0")
    finally:
        tmux("kill-server")
