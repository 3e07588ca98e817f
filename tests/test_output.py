import os
import subprocess
import sys

import pytest

from recdemo.cli.output import printable, show
from recdemo.errors import StoreError
from tests.test_cli import recdemo

ONE_LIST = ("similar", "id:73", "--model", "baseline:genre", "--k", "1")


def shell(redirected: str, home):
    """Run a command whose stdout a shell has turned elsewhere."""
    command = f"{sys.executable} -m recdemo {' '.join(ONE_LIST)} {redirected}"
    environment = {**os.environ, "RECDEMO_HOME": str(home)}
    done = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stderr.splitlines()


def test_what_a_terminal_would_obey_is_not_shown():
    assert printable("\x1b[31mred\x07 \u202eabc\x9b1m\n\ttab é ✓") == "[31mred abc1m\n\ttab é ✓"


def test_a_title_cannot_steer_the_terminal(tmp_path):
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "items.csv").write_text("item_id,title,genres\na,one \x1b[2J,X\nb,two,X\nc,six,Y\n")
    (shop / "interactions.csv").write_text("user_id,item_id\n1,a\n1,b\n2,a\n2,c\n")
    asked = ("similar", "id:b", "--dataset", str(shop), "--model", "baseline:genre")
    done = recdemo(*asked, home=tmp_path)
    assert "one [2J" in done.stdout
    assert "\x1b" not in done.stdout
    done = recdemo("similar", "one six", "--dataset", str(shop), home=tmp_path, code=1)
    assert "\x1b" not in done.stderr
    kept = recdemo(*asked, "--format", "csv", home=tmp_path)
    assert "one \x1b[2J" in kept.stdout  # programs get the title as it is


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here is always full")
def test_a_full_disk_behind_stdout_is_one_line(tmp_path):
    code, lines = shell("> /dev/full", tmp_path)
    assert code == 1
    assert lines == ["recdemo: cannot write the result to stdout: No space left on device"]


def test_a_stdout_that_is_closed_is_one_line(tmp_path):
    code, lines = shell(">&-", tmp_path)
    assert code == 1
    assert lines == [
        "recdemo: cannot write the result: stdout is closed; name a file with --output"
    ]


def test_what_the_encoding_of_stdout_lacks_is_shown_by_its_number(tmp_path):
    done = recdemo(*ONE_LIST, home=tmp_path, PYTHONIOENCODING="ascii")
    assert "Les Mis\\xe9rables (1995)" in done.stdout
    assert "v in the truth list" in done.stdout
    assert "-----" in done.stdout


def test_a_file_that_cannot_be_written_leaves_no_part_of_it(tmp_path):
    (tmp_path / "table.csv").mkdir()
    with pytest.raises(StoreError, match=r"cannot write .*table\.csv"):
        show("text", tmp_path / "table.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
