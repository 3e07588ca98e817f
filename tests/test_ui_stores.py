"""The terminal UI and a store that is away for a while, in use elsewhere, or without something."""

import threading
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import pytest
from filelock import FileLock
from textual.widgets import Input

from recdemo.dataset.options import ReadOptions
from recdemo.embedding import ModelSpec
from recdemo.errors import StoreError
from recdemo.loading import Loaded
from recdemo.store.edge import EdgeStore
from recdemo.ui.app import RecdemoApp
from recdemo.workbench import models
from recdemo.workbench.services import open_services
from recdemo.workbench.wanted import Wanted
from tests.qdrant_server import QdrantServer
from tests.stores import LINE
from tests.test_ui import WIDE, lines, said, settle, titles
from tests.test_ui_real import shop
from tests.ui_fakes import FakeServices

__all__ = ["shop"]  # fixture


def told(app):
    return [note.message for note in app._notifications]


async def until(pilot, fits):
    for _ in range(400):
        await pilot.pause(0.05)
        if fits():
            return
    raise AssertionError("it never fits")


async def look_up(app, pilot, words, but=()):
    await until(pilot, lambda: app.main.facts is not None)
    app.screen.query_one(Input).value = words
    await settle(app, pilot, but=but, patience=60)


def note(app, side):
    return said(app, f"#{side} .note")


async def test_a_server_that_goes_away_and_comes_back_needs_no_restart(home, shop, monkeypatch):
    monkeypatch.setattr("recdemo.store.connection.WAITS", ())
    with QdrantServer() as server:
        app = RecdemoApp(open_services(Wanted(str(shop), None, server.url, ReadOptions())))
        async with app.run_test(size=WIDE) as pilot:
            await look_up(app, pilot, "bee")
            assert len(titles(app, "left")) == 4
            server.dead_after = 0
            await look_up(app, pilot, "cat")
            assert "no longer answers" in note(app, "left")
            assert "when it does" in note(app, "right")
            assert len([each for each in told(app) if "no longer answers" in each]) == 1
            await look_up(app, pilot, "dog")
            assert said(app, "#item").startswith("Dog")
            assert len([each for each in told(app) if "no longer answers" in each]) == 1
            server.dead_after = None
            await look_up(app, pilot, "cat")
            assert len(titles(app, "left")) == len(titles(app, "right")) == 4


async def test_a_server_that_is_not_there_yet_is_asked_again(home, shop):
    with QdrantServer() as server:
        server.dead_after = 0
        app = RecdemoApp(open_services(Wanted(str(shop), None, server.url, ReadOptions())))
        async with app.run_test(size=WIDE) as pilot:
            await look_up(app, pilot, "bee")
            assert said(app, "#item").startswith("Bee")
            assert "docker compose up" in note(app, "left")
            await pilot.press("f4")
            await settle(app, pilot)
            assert titles(app, "right") == ["[/] Ant", "Cat"]
            await pilot.press("f4")
            server.dead_after = None
            await look_up(app, pilot, "cat")
            await settle(app, pilot, patience=60)
            assert len(titles(app, "left")) == len(titles(app, "right")) == 4


async def test_a_collection_in_use_elsewhere_is_waited_for_and_the_rest_goes_on(
    home, shop, monkeypatch
):
    # Questions that nobody waits for any more hold the threads of a side for so long, and on a
    # slow machine all look-ups below together take longer than its 30 s.
    monkeypatch.setitem(EdgeStore.__init__.__kwdefaults__, "patience", 600.0)
    app = RecdemoApp(open_services(Wanted(str(shop), None, "embedded", ReadOptions())))
    async with app.run_test(size=WIDE) as pilot:
        await look_up(app, pilot, "bee")
        model = app.main.sides.pane("left").ready.replace("baseline:", "")
        with FileLock(lock_of(home, model)):
            for words in ("cat", "dog", "eel", "ant", "bee", "cat", "dog"):
                await look_up(app, pilot, words, but=("recommend-left",))
                assert said(app, "#item").lower().strip("[/] ").startswith(words)
                assert len(titles(app, "right")) == 4
            await until(pilot, lambda: "waiting for another recdemo" in note(app, "left"))
            await look_up(app, pilot, "cat", but=("recommend-left",))
            await until(pilot, lambda: "waiting for another recdemo" in note(app, "left"))
            assert titles(app, "left") == []
        await settle(app, pilot, patience=60)
        assert len(titles(app, "left")) == 4
        assert "waiting" not in note(app, "left")
        assert told(app) == []


async def test_an_evaluation_says_that_it_waits_for_a_collection(home, shop):
    app = RecdemoApp(open_services(Wanted(str(shop), None, "embedded", ReadOptions())))
    async with app.run_test(size=WIDE) as pilot:
        await look_up(app, pilot, "bee")
        await pilot.press("f5")
        await settle(app, pilot)
        model = app.main.sides.pane("left").ready.replace("baseline:", "")
        with FileLock(lock_of(home, model)):
            await pilot.press("f7")
            await until(pilot, lambda: "waiting for another" in said(app, "#evaluation Static"))
            await pilot.press("escape")
            await pilot.press("escape")
            await look_up(app, pilot, "cat", but=("recommend-left",))
            assert len(titles(app, "right")) == 4
        await settle(app, pilot, patience=60)
        await pilot.press("f5", "f7")
        await settle(app, pilot, patience=60)
        assert lines(app, "#results")


def lock_of(home, model):
    name = model.replace("@", ".").replace(":", "-")
    [folder] = (
        path for path in (home / "collections").iterdir() if path.is_dir() and name in path.name
    )
    return folder.with_name(f"{folder.name}.lock")


SYNOPSES = "item_id,title,synopsis\na,Ant,walks far\nb,Bee,flies home\nc,Cat,\nd,Dog,walks home\n"


async def test_an_item_without_synopsis_vector_and_truth_list_says_so(home, tmp_path):
    folder = tmp_path / "silent"
    folder.mkdir()
    (folder / "items.csv").write_text(SYNOPSES, encoding="utf-8")
    app = RecdemoApp(open_services(Wanted(str(folder), None, "embedded", ReadOptions())))
    async with app.run_test(size=WIDE) as pilot:
        await look_up(app, pilot, "cat")
        assert said(app, "#item").splitlines()[1].strip() == "no text"
        assert "it has no vector of baseline:lsa" in note(app, "left")
        assert "no truth list" in note(app, "right")
        assert titles(app, "left") == []
        await pilot.press("f4")
        await settle(app, pilot)
        assert "nobody touched it" in note(app, "right")
        await look_up(app, pilot, "ant")
        assert sorted(titles(app, "left")) == ["Bee", "Dog"]
        await pilot.press("f5", "f7")
        await settle(app, pilot)
        assert "nothing to evaluate against" in told(app)[-1]


async def test_items_that_cannot_be_read_say_so_on_the_screen(home, tmp_path):
    app = RecdemoApp(open_services(Wanted("nowhere", None, "embedded", ReadOptions())))
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "'nowhere'" in said(app, "#item"))
        assert said(app, "#item") == told(app)[0]


async def test_a_fault_of_both_sides_is_told_once_and_told_again_after_an_answer():
    fake = FakeServices()
    away = True

    def recommend(*asked):
        if away:
            raise StoreError("no store; start it")
        return fake.recommend(*asked)

    app = RecdemoApp(replace(fake.services(), recommend=recommend))
    async with app.run_test(size=WIDE) as pilot:
        for words in ("ant", "bee", "cat"):
            await look_up(app, pilot, words)
        assert told(app) == ["no store; start it"]
        away = False
        await look_up(app, pilot, "dog")
        away = True
        await look_up(app, pilot, "eel")
        assert told(app) == ["no store; start it"] * 2


async def test_a_model_that_failed_for_another_reason_than_the_store_is_not_tried_at_every_item():
    fake = FakeServices()
    fake.faults["a:two@16"] = "no key; set A_API_KEY"
    app = RecdemoApp(fake.services())
    async with app.run_test(size=WIDE) as pilot:
        for words in ("ant", "bee", "cat"):
            await look_up(app, pilot, words)
        assert fake.asked.count(("prepare", "a:two@16", False)) == 1


async def test_answers_that_are_held_up_take_no_threads_from_the_search():
    fake = FakeServices([f"Ant {letter}" for letter in "abcdefghijklmnopqrstuvwxyz"])
    held = threading.Event()

    def recommend(model, row, k, notice):
        held.wait(20)
        return fake.recommend(model, row, k, notice)

    app = RecdemoApp(replace(fake.services(), recommend=recommend))
    stuck = ("recommend-left", "recommend-right")
    async with app.run_test(size=WIDE) as pilot:
        await settle(app, pilot)
        for letter in "abcdefghijklmnopqrstuvwxyz":
            await look_up(app, pilot, f"ant {letter}", but=stuck)
            assert said(app, "#item").startswith(f"Ant {letter}")
        held.set()
        await settle(app, pilot)
        assert titles(app, "left") == ["Ant a", "Ant b", "Ant c"]
        assert len([each for each in fake.asked if each[0] == "recommend"]) <= 8


@pytest.mark.parametrize(("provider", "at_once"), [("baseline", 1), ("ollama", 2)])
def test_what_computes_here_is_built_one_after_the_other(provider, at_once, monkeypatch):
    both, running, most = threading.Barrier(2, timeout=0.5), [], []

    def build(*_):
        running.append(1)
        most.append(len(running))
        with suppress(threading.BrokenBarrierError):
            both.wait()  # until the other one is here, too, or it is clear that it does not come
        running.pop()
        return Loaded(LINE, None, None)

    spec = ModelSpec(provider, "x", 2, "native", "", "")
    monkeypatch.setattr(models, "open_embedder", lambda *_: SimpleNamespace(spec=spec))
    monkeypatch.setattr(models, "ensure_collection", build)
    asked = (None, None, None, f"{provider}:x@2", None, None, True)
    threads = [threading.Thread(target=models.prepare, args=asked) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == at_once
