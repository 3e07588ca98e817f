import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from recdemo.cli.dataset import dataset_app
from recdemo.dataset.download import fetch
from recdemo.errors import DatasetError
from recdemo.settings import settings
from tests.test_movielens import CSV, DAT, copy, zipped


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("RECDEMO_HOME", str(tmp_path / "home"))
    settings.cache_clear()
    yield tmp_path / "home"
    settings.cache_clear()


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(dataset_app, [str(argument) for argument in arguments])


def rows(result: Result) -> dict[str, str]:
    """Read a table of two columns; a label that repeats nothing starts a row."""
    found: dict[str, str] = {}
    for line in result.stdout.splitlines():
        cells = [cell.strip() for cell in line.split("│")[1:-1]]
        if len(cells) == 2 and cells[0]:
            found[cells[0]] = cells[1]
    return found


def test_fetch_from_a_zip_tells_counts_and_folder(tmp_path: Path, home: Path) -> None:
    result = run("fetch", "ml-latest-small", "--from", zipped(CSV, tmp_path / "mine.zip"))
    assert result.exit_code == 0
    assert result.stdout == (
        "ml-latest-small: 5 movies, 6 users, 10 ratings, from a zip, "
        f"now in {home}/datasets/ml-latest-small\n"
    )


def test_fetch_of_what_is_there_says_so_and_succeeds(home: Path) -> None:
    fetch("ml-latest-small", CSV)
    result = run("fetch", "ml-latest-small")
    assert result.exit_code == 0
    assert result.stdout.startswith("ml-latest-small is there already: 5 movies")


def test_fetch_of_something_else_is_an_error(home: Path) -> None:
    result = run("fetch", "ml-1m", "--from", DAT)
    assert isinstance(result.exception, DatasetError)
    assert "is not ml-1m as published: it has 5 movies" in str(result.exception)


def test_show_counts_a_path() -> None:
    shown = rows(run("show", CSV))
    assert shown["data set"] == "tiny-csv"
    assert (shown["items"], shown["rated items"], shown["users"]) == ("5", "4", "6")
    assert shown["interactions"] == "10"
    assert shown["density"] == "33.33% of all pairs of a user and an item"  # 10 of 5 x 6
    assert shown["interactions per rated item"] == "median 2.5, most 4"
    assert shown["field title"] == "complete"
    assert (shown["field year"], shown["field genres"]) == ("1 missing", "1 missing")
    assert shown["years"] == "1931 to 2001"
    assert shown["raw interactions"].startswith("in ")
    assert "doi 10.1145/2827872" in run("show", CSV).stdout


def test_show_of_the_bundle_says_that_raw_interactions_are_not_here() -> None:
    result = run("show")
    shown = rows(result)
    assert (shown["items"], shown["rated items"], shown["users"]) == ("3,883", "3,706", "6,040")
    assert shown["raw interactions"] == "not here; get them with 'recdemo dataset fetch ml-1m'"
    assert "research use" in shown["terms"]


def test_show_finds_what_was_fetched_by_its_name(home: Path) -> None:
    fetch("ml-latest-small", CSV)
    shown = rows(run("show", "ml-latest-small"))
    assert shown["raw interactions"] == f"in {home}/datasets/ml-latest-small"


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    folder = copy(CSV, tmp_path).rename(tmp_path / "[red]odd[")
    assert rows(run("show", folder))["data set"] == "[red]odd["


def test_fetch_and_show_load_nothing_heavy_before_they_run() -> None:
    code = "import sys, recdemo.cli.dataset; print({'pandas', 'pooch', 'numpy'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
