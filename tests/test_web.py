"""``recdemo web``: who may come, how many, and what is left when they go."""

import asyncio
import re
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE

import aiohttp
import pytest
import typer
from textual import events
from textual.drivers.web_driver import WebDriver
from textual.geometry import Size
from typer.testing import CliRunner

from recdemo.cli import app
from recdemo.cli.web import clean_url, is_loopback, listening, ui_command
from recdemo.dataset.options import ReadOptions
from recdemo.errors import RecdemoError
from recdemo.ui.visit_driver import VisitDriver
from recdemo.ui.visits import cells
from tests.test_ui_real import shop
from tests.websites import apps_of, until, website

__all__ = ["shop"]  # fixture
CLEAR = "\x15"  # Ctrl-U


async def _read_until(visit: aiohttp.ClientWebSocketResponse, wanted: str) -> str:
    """Return what was drawn until the words were among it."""
    seen = ""
    async with asyncio.timeout(60):
        while wanted not in seen:
            message = await visit.receive()
            assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), seen[-500:]
            if message.type is aiohttp.WSMsgType.BINARY:
                seen += message.data.decode("utf-8", "replace")
    return seen


async def test_two_visitors_at_once_and_no_third_nor_a_page_of_another_site(home, shop):
    with website("--dataset", str(shop), "--visitors", "2") as (address, _):
        async with aiohttp.ClientSession(headers={"Origin": address}) as session:
            where = f"{address}/ws?width=120&height=36"
            async with session.ws_connect(where) as one, session.ws_connect(where) as two:
                for visit in (one, two):
                    await _read_until(visit, "Search")
                    await visit.send_json(["stdin", "bee"])
                for visit in (one, two):
                    await _read_until(visit, "[/] Ant")
                async with session.get(address) as page:
                    assert (page.status, "places are taken" in await page.text()) == (503, True)
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await session.ws_connect(where, headers={"Origin": "http://elsewhere.example"})


@pytest.mark.parametrize(
    ("host", "own"),
    [("localhost", True), ("127.0.0.1", True), ("::1", True), ("0.0.0.0", False), ("shop", False)],
)
def test_what_only_this_machine_reaches_needs_no_warning(host, own):
    assert is_loopback(host) is own


def test_the_command_of_a_visitor_is_quoted():
    read = ReadOptions(min_value=4.0)
    command = ui_command("my shop; rm -rf", "{title} $HOME", "embedded", read, True)
    assert "'my shop; rm -rf'" in command
    assert "'{title} $HOME'" in command
    assert command.endswith("--min-value 4.0 --visitor")


@pytest.mark.slow
async def test_ten_visitors_at_once_beside_an_evaluation(home, shop):
    async def visit(session, address):
        async with session.ws_connect(f"{address}/ws?width=120&height=36") as visitor:
            await _read_until(visitor, "Search")
            seen = ""
            for word, neighbor in (("bee", "[/] Ant"), ("ant", "Bee"), ("cat", "Dog")):
                await visitor.send_json(["stdin", f"{CLEAR}{word}"])
                seen += await _read_until(visitor, neighbor)
            await visitor.send_json(["stdin", CLEAR])
            return seen

    async def evaluate(visits):
        rounds = 0
        while not rounds or not visits.done():
            evaluation = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "recdemo", "evaluate", "--dataset", str(shop), "--k", "2",
                stderr=PIPE, stdout=DEVNULL,
            )  # fmt: skip
            _, said = await evaluation.communicate()
            assert evaluation.returncode == 0, said
            rounds += 1

    with website("--dataset", str(shop)) as (address, process):
        async with aiohttp.ClientSession(headers={"Origin": address}) as session:
            visits = asyncio.gather(*(visit(session, address) for _ in range(10)))
            await evaluate(visits)
            screens = await visits
        assert not [words for seen in screens if (words := re.findall("in use|cannot", seen))]
        await asyncio.to_thread(until, lambda: apps_of(process), lambda apps: not apps)


async def test_nobody_comes_by_a_name_that_is_not_this_machine_s(home, shop):
    elsewhere = {"Host": "elsewhere.example", "Origin": "http://elsewhere.example"}
    with website("--dataset", str(shop)) as (address, _):
        async with aiohttp.ClientSession(headers=elsewhere) as session:
            async with session.get(address) as page:
                assert (page.status, "--public-url" in await page.text()) == (403, True)
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await session.ws_connect(f"{address}/ws")


async def test_what_no_browser_sends_does_no_harm(home, shop):
    with website("--dataset", str(shop)) as (address, process):
        async with aiohttp.ClientSession(headers={"Origin": address}) as session:
            async with session.ws_connect(f"{address}/ws?width=1e9&height=-1") as visit:
                await _read_until(visit, "title")
                for sent in ("", "[", "[]", "7", '["stdin"]', '["stdin", 7]', '["resize", {}]',
                             '["resize", {"width": "wide", "height": 4}]', '["jump", 1]',
                             '["resize", {"width": 99999999, "height": 99999999}]'):  # fmt: skip
                    await visit.send_str(sent)
                await visit.send_bytes(b"\xff")
                await visit.send_json(["resize", {"width": 100, "height": 30}])
                await visit.send_json(["stdin", "bee"])
                await _read_until(visit, "[/] Ant")
            await asyncio.to_thread(until, lambda: apps_of(process), lambda apps: not apps)


@pytest.mark.parametrize(("wanted", "given"), [(-3, 1), (0, 1), (80, 80), (10**9, 1000)])
def test_a_screen_has_a_size_that_can_be_drawn(wanted, given):
    assert cells(wanted) == given


def test_an_address_that_cannot_be_listened_at_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RecdemoError, match=f"127.0.0.1:{port}: Address already in use; choose"):
            listening("127.0.0.1", port)
    with pytest.raises(RecdemoError, match=r"cannot listen at 192.0.2.1:8000: .*; choose"):
        listening("192.0.2.1", 8000)  # of nobody: kept for examples
    with pytest.raises(RecdemoError, match=r"cannot listen at no such host:8000: .*; choose"):
        listening("no such host", 8000)


def test_all_addresses_of_a_name_have_one_port():
    opened = listening("localhost", 0)
    assert len({each.getsockname()[1] for each in opened}) == 1
    for each in opened:
        each.close()


@pytest.mark.parametrize(
    "wrong",
    ["shop.example", "http://", "ftp://x", "https://x:99999", "https://me:secret@x", "https://x?y",
     "https://[x", "//x"],
)  # fmt: skip
def test_a_public_url_that_no_browser_could_go_to_is_wrong_usage(wrong):
    with pytest.raises(typer.BadParameter, match="expected https://HOST/PATH"):
        clean_url(wrong)
    assert CliRunner().invoke(app, ["web", "--public-url", wrong]).exit_code == 2


def test_a_public_url_loses_its_last_slash():
    assert clean_url("https://shop.example/recdemo/") == "https://shop.example/recdemo"


async def test_a_window_that_changes_while_the_app_starts_has_its_size(home, shop):
    with website("--dataset", str(shop)) as (address, _):
        async with aiohttp.ClientSession(headers={"Origin": address}) as session:
            for _ in range(3):
                async with session.ws_connect(f"{address}/ws?width=80&height=1") as visit:
                    await visit.send_json(["resize", {"width": 100, "height": 30}])
                    await _read_until(visit, "\x1b[30;1H")  # the last line is drawn


async def test_a_size_that_comes_while_the_app_starts_is_told_after_the_first_one(monkeypatch):
    told: list[tuple[int, int]] = []

    class App:
        def post_message(self, event: events.Resize) -> None:
            told.append((event.size.width, event.size.height))

        async def _post_message(self, event: events.Resize) -> None:
            self.post_message(event)

    def start(driver: WebDriver) -> None:  # as Textual's does, by way of the loop
        first = events.Resize(Size(80, 24), Size(80, 24))
        asyncio.run_coroutine_threadsafe(driver._app._post_message(first), loop)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(WebDriver, "start_application_mode", start)
    driver = VisitDriver.__new__(VisitDriver)
    driver._app = App()
    driver.start_application_mode()
    driver.on_meta("resize", {"width": 100, "height": 30})
    while len(told) < 2:
        await asyncio.sleep(0)
    assert told == [(80, 24), (100, 30)]
