"""The store that a command opens: where it is named, and how it is asked."""

from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from recdemo.cli import app
from recdemo.dataset.options import ReadOptions
from recdemo.settings import settings
from recdemo.workbench.wanted import Wanted, location_of


def commands(command: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], set[str]]:
    """The options of every command, by the words that call it."""
    if not hasattr(command, "commands"):
        return {path: {name for each in command.params for name in each.opts}}
    found: dict[tuple[str, ...], set[str]] = {}
    for name, part in command.commands.items():
        found |= commands(part, (*path, name))
    return found


def test_whatever_opens_a_store_can_ask_it_by_grpc():
    options = commands(typer.main.get_command(app))
    opening = {path for path, names in options.items() if "--store" in names}
    assert {("ui",), ("web",), ("report",), ("evaluate",), ("collections", "list")} <= opening
    assert opening == {path for path, names in options.items() if "--grpc" in names}


@pytest.mark.parametrize("command", ["ui", "web"])
def test_grpc_without_a_server_is_wrong_usage(home, command):
    done = CliRunner().invoke(app, [command, "--grpc"])
    assert done.exit_code == 2
    assert "http://HOST:6333" in done.output


def test_a_store_that_nobody_names_is_the_one_of_the_settings(home, monkeypatch):
    wanted = Wanted("ml-1m", None, None, ReadOptions())
    monkeypatch.setenv("RECDEMO_STORE", "http://127.0.0.1:1")
    settings.cache_clear()
    assert location_of(wanted) == "http://127.0.0.1:1"
