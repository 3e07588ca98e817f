import signal
import subprocess
import sys
import threading

import pytest

from recdemo import cli
from tests.describing import rows


@pytest.fixture
def shop(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "items.csv").write_text("item_id,title\n1,Ant\n2,Bee\n3,Cat\n")
    return folder


def arguments(shop, *more, model="openai:gpt"):
    return ["describe", model, "--dataset", str(shop), "--prompt", "{title}", *more]


@pytest.fixture
def command(shop, monkeypatch, capsys):
    """Runs the command in the folder beside the shop; returns its output and what it says."""
    monkeypatch.chdir(shop.parent)

    def run(*more, code=0, **options):
        monkeypatch.setattr(sys, "argv", ["recdemo", *arguments(shop, *more, **options)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        assert ended.value.code == code, err
        return out, err

    return run


def test_the_command_writes_the_texts_and_says_how_to_use_them(chat, shop, command):
    out, _ = command()
    assert sorted(rows(shop.parent / "synopses.csv")) == [
        ("1", "On Ant"),
        ("2", "On Bee"),
        ("3", "On Cat"),
    ]
    assert "3 texts by openai:gpt written to synopses.csv, which holds 3 now" in out
    assert "3 tokens read, 6 written: cost not known" in out
    assert "use them with --text synopses.csv" in out
    out, _ = command()
    assert "nothing to ask: 3 items have a text in synopses.csv" in out
    assert len(chat.prompts) == 3


def test_items_beyond_the_limit_are_told_of(chat, command):
    out, _ = command("--limit", "1")
    assert "cost not known; 2 items are beyond --limit" in out
    assert chat.prompts == ["Ant"]


def test_items_without_a_text_are_listed_with_the_command_to_try_again(chat, shop, command):
    chat.says = lambda prompt: "unknown" if prompt == "Bee" else f"On {prompt}"
    _, err = command(code=1)
    assert "1 items have no text: 2 (refused: 'unknown')" in err
    assert f"try again with: recdemo describe openai:gpt --dataset {shop}" in err
    assert len(rows(shop.parent / "synopses.csv")) == 2


def test_a_dry_run_asks_nobody(chat, shop, command):
    out, _ = command("--dry-run", model="openai:gpt-4o-mini")
    assert "3 texts to write with openai:gpt-4o-mini, in 3 requests; 0 items have a text" in out
    assert chat.prompts == []
    assert not (shop.parent / "synopses.csv").exists()


def test_a_price_that_nobody_knows_cannot_be_limited(chat, command):
    _, err = command("--max-cost", "1", code=1)
    assert "the price of openai:gpt is not known, so --max-cost cannot be kept" in err
    assert chat.prompts == []


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_run_stopped_in_the_middle_keeps_what_is_done_and_goes_on(chat, shop, command, how, code):
    third = threading.Event()

    def says(prompt):
        if prompt == "Cat" and not third.is_set():
            third.set()
            chat.server.released.wait(30)
        return f"On {prompt}"

    chat.says = says
    process = subprocess.Popen(
        [sys.executable, "-m", "recdemo", *arguments(shop, "--concurrency", "1")],
        cwd=shop.parent, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert third.wait(60)  # so the first two are written
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "Traceback" not in err
    if how is signal.SIGINT:
        assert "2 of 3 texts are in synopses.csv" in err
        assert "go on with: recdemo describe openai:gpt" in err
    assert rows(shop.parent / "synopses.csv") == [("1", "On Ant"), ("2", "On Bee")]
    command()
    assert chat.prompts == ["Ant", "Bee", "Cat", "Cat"]
    assert rows(shop.parent / "synopses.csv")[2] == ("3", "On Cat")
