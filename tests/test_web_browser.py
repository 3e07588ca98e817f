"""``recdemo web`` in a real browser: typed into and read off the screen as a person does it."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.websites import apps_of, until, website

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

PATIENCE = 60_000  # ms
# The screen is a canvas, so it is read as a person would take a copy of it: marked with the mouse
# (Shift keeps the mouse from the app) and copied. What the terminal does not show is not in it.
COPY = """() => {
    const copy = new ClipboardEvent("copy", {clipboardData: new DataTransfer(), bubbles: true});
    document.querySelector(".xterm-helper-textarea").dispatchEvent(copy);
    return copy.clipboardData.getData("text/plain");
}"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Nothing but this machine's own pages is opened, so root needs no sandbox for them.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Browser, address: str) -> Page:
    """Open the page in a browser of its own, and wait for the app."""
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.goto(address)
    started(page)
    return page


def started(page: Page) -> None:
    page.wait_for_selector("body.-first-byte", timeout=PATIENCE)
    until(lambda: read(page), lambda seen: "title, director, year" in seen)


def read(page: Page) -> str:
    """Return the text that is on the screen."""
    screen = page.locator(".xterm-screen").bounding_box()
    assert screen is not None
    page.keyboard.down("Shift")
    page.mouse.move(screen["x"] + 1, screen["y"] + 1)
    page.mouse.down()
    page.mouse.move(screen["x"] + screen["width"] - 1, screen["y"] + screen["height"] - 1)
    page.mouse.up()
    page.keyboard.up("Shift")
    text: str = page.evaluate(COPY)
    return text


def look_up(page: Page, words: str, *wanted: str) -> None:
    """Type into the page without clicking first, until all that is wanted is on the screen."""
    page.keyboard.type(words)
    until(lambda: read(page), lambda seen: all(each in seen for each in wanted))


def test_two_visitors_look_two_movies_up_beside_each_other(chromium, home):
    with website() as (address, process):
        one = opened(chromium, address)
        assert one.title() == "recdemo"
        look_up(one, "vertigo", "Vertigo (1958)", "Rear Window")

        two = opened(chromium, address)
        look_up(two, "toy story 1995", "Toy Story (1995)", "Toy Story 2")
        until(lambda: read(one), lambda seen: "Vertigo (1958)" in seen)
        assert len(apps_of(process)) == 2

        two.close()
        one.keyboard.press("Control+q")
        one.wait_for_selector("text=You have left it.")
        until(lambda: apps_of(process), lambda apps: not apps)
        one.click("text=Open it again")
        started(one)
        look_up(one, "vertigo", "Vertigo (1958)", "Rear Window")
        [app] = apps_of(process)
    one.wait_for_selector("text=recdemo web has ended")
    assert process.returncode == 0
    assert not Path(f"/proc/{app}").exists()


def test_the_page_asks_nobody_else(chromium, home):
    with website() as (address, _):
        page = chromium.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        page.wait_for_selector("body.-first-byte", timeout=PATIENCE)
        assert any("RobotoMono" in url for url in asked)
        assert [url for url in asked if not url.startswith(address)] == []


def test_a_visitor_too_many_is_told_and_let_in_once_there_is_a_place(chromium, home):
    with website("--visitors", "1") as (address, _):
        one, two = opened(chromium, address), chromium.new_page()
        two.goto(address)
        assert "The only place is taken." in two.inner_text("body")
        one.close()
        started(two)


def test_an_app_that_dies_leaves_no_dead_page(chromium, home):
    with website() as (address, process):
        page = opened(chromium, address)
        os.kill(int(apps_of(process)[0]), signal.SIGKILL)
        page.wait_for_selector("text=Open it again")


def test_apps_end_with_a_server_that_is_killed(chromium, home):
    with website() as (address, process):
        page = opened(chromium, address)
        [app] = apps_of(process)
        process.kill()
        process.wait()
        page.wait_for_selector("text=recdemo web has ended")
        until(lambda: Path(f"/proc/{app}").exists(), lambda alive: not alive)
