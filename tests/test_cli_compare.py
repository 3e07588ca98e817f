import json

import pytest
from typer.testing import CliRunner

from recdemo.cli import app
from recdemo.errors import RecdemoError
from recdemo.settings import settings


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with one run of three rows."""
    home = tmp_path_factory.mktemp("home")
    models = ("baseline:genre-year", "bundled:all-minilm-l6-v2@64,128")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECDEMO_HOME", str(home))
        settings.cache_clear()
        assert call("evaluate", *models).exit_code == 0
        yield home
    settings.cache_clear()


def call(*arguments: str):
    return CliRunner().invoke(app, arguments)


def printed(*arguments: str) -> str:
    done = call(*arguments)
    assert done.exit_code == 0, done.exception
    return done.stdout


def as_json(*arguments: str):
    return json.loads(printed(*arguments, "--format", "json"))


def test_compare_takes_the_latest_run_and_asks_its_collections_again(home):
    plain = as_json("compare", "--items", "2")
    assert [r["name"] for r in plain["rows"]] == [
        "baseline:genre-year@19",
        "bundled:all-minilm-l6-v2@128",
        "bundled:all-minilm-l6-v2@64",
    ]
    assert all(0 < c["p_holm"] < 0.05 for c in plain["comparisons"])
    assert all(0 < c["rbo"] < 1 for c in plain["comparisons"])
    assert len(plain["examples"]) == 2
    assert len(plain["examples"][0]["lists"][0]) == 5


def test_models_named_beside_a_run_choose_its_rows(home):
    plain = as_json("compare", "latest", "bundled:all-minilm-l6-v2", "--k", "10", "--no-lists")
    assert [r["dimension"] for r in plain["rows"]] == [128, 64]
    assert plain["k"] == 10
    assert plain["comparisons"][0]["rbo"] is None


def test_by_dimension_shows_the_published_models(home):
    text = printed("compare", "--by-dimension", "--format", "markdown")
    assert "| Model | Kind | 64 | 128 |" in text
    assert "_0.1127_" in text


def test_advise_says_first_that_a_free_baseline_beats_the_model(home):
    assert "A free baseline beats every model: baseline:genre-year@19 (0.1867)" in printed("advise")
    assert as_json("advise", "--items", "10")["rows"][0]["bytes"] == {"10": 760}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "nope"], "no run 'nope'"),
        (["compare", "latest", "baseline:genre-year"], "is the only row"),
        (["compare", "--k", "30"], "not all rows have K = 30"),
        (["compare", "--truth", "lift"], "no row in"),
        (["compare", "--pair", "baseline:genre-year", "x"], "no row fits 'x'"),
        (["compare", "nobody:x", "baseline:genre"], "unknown model 'nobody:x'"),
        (["compare", "--output", "no/such/folder/x"], "cannot write no/such/folder/x"),
        (["advise", "no/such.json"], "no run file"),
    ],
)
def test_what_a_user_can_fix_is_one_line(arguments, message, home):
    done = call(*arguments)
    assert isinstance(done.exception, RecdemoError)
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)
    assert done.stdout == ""


@pytest.fixture
def empty_home(tmp_path, monkeypatch):
    monkeypatch.setenv("RECDEMO_HOME", str(tmp_path))
    settings.cache_clear()
    yield tmp_path
    settings.cache_clear()


def test_two_names_of_one_model_are_evaluated_kept_as_a_run_and_found_identical(empty_home):
    plain = as_json("compare", "baseline:genre-year", "baseline:genre-year@19", "--k", "5")
    [pair] = plain["comparisons"]
    assert pair["identical"]
    assert (pair["p"], pair["rbo"]) == (1, pytest.approx(1))
    assert len(list((empty_home / "runs").glob("*.json"))) == 1
