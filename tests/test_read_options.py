import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from recdemo.cli import app
from recdemo.dataset import bundled, download, open_dataset
from recdemo.dataset.options import ReadOptions
from recdemo.errors import DatasetError, RecdemoError
from recdemo.settings import settings
from tests.test_folder import error_of, folder, opened
from tests.test_movielens import CSV, DAT, copy

SHOP = "asin,brand,title\nB01,Acme,Mug\nB02,Bo,Cup\n"
REVIEWS = "reviewer,asin,stars,day\nu,B01,5,2020-01-02\nu,B02,2,2020-01-01T10:00:00Z\nv,B01,1,7\n"
MAPPED = {"item_id": "asin", "user_id": "reviewer", "value": "stars", "timestamp": "day"}


def test_columns_of_other_names_are_mapped(tmp_path: Path) -> None:
    path = folder(tmp_path, **{"items.csv": SHOP, "interactions.csv": REVIEWS})
    data = opened(path, **MAPPED)
    assert (data.catalog.item_ids, list(data.catalog.fields)) == (
        ("B01", "B02"),
        ["brand", "title"],
    )
    times = data.interactions().timestamps
    assert times is not None
    assert times.tolist() == [1577923200, 1577872800, 7]  # 2020-01-02, 2020-01-01 at ten, as is
    assert opened(path, **MAPPED, min_value=2).counts.tolist() == [1, 1]
    assert opened(path, **MAPPED | {"timestamp": ""}).interactions().timestamps is None


def test_the_items_may_call_their_id_what_they_like(tmp_path: Path) -> None:
    touched = REVIEWS.replace("asin", "item_id")
    path = folder(tmp_path, **{"items.csv": SHOP, "interactions.csv": touched})
    assert opened(path, item_id="asin", user_id="reviewer").counts.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "items.csv has no column 'item_id'; its columns are 'asin', 'brand', 'title'; name "
             "the one with the ids with --item-id"),
        ({"item_id": "asn"}, "items.csv has no column 'asn'; its columns are 'asin',"),
        ({"item_id": "asin"}, "interactions.csv has no column 'user_id'; its columns are "
                              "'reviewer', 'asin', 'stars', 'day'; name the one with the users"),
        (MAPPED | {"value": "star"}, "has no column 'star'"),
        (MAPPED | {"timestamp": "date"}, "has no column 'date'"),
        (MAPPED | {"value": "value", "min_value": 1}, "with the values with --value"),
        (MAPPED | {"value": "day", "min_value": 1}, "line 2: expected a number in column 'day'"),
    ],
)  # fmt: skip
def test_a_typo_in_a_column_is_an_error_that_lists_the_columns(
    options: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = folder(tmp_path, **{"items.csv": SHOP, "interactions.csv": REVIEWS})
    assert message in error_of(path, **options)


# Four users: a touches 1, 2 and 3, b 1 and (with a low value) 2, c 1, d 3.
CHAIN = "user_id,item_id,value\n" + "".join(
    f"{user},{item},{value}\n"
    for user, item, value in [
        ("a", 1, 5), ("a", 2, 5), ("a", 3, 5), ("b", 1, 5), ("b", 2, 2), ("c", 1, 5), ("d", 3, 5),
    ]
)  # fmt: skip
THREE = "item_id,title\n1,A\n2,B\n3,C\n"


@pytest.mark.parametrize(
    ("options", "counts", "n_users"),
    [
        ({}, [3, 2, 2], 4),
        ({"min_value": 3}, [3, 1, 2], 4),
        ({"min_user_interactions": 2}, [2, 2, 1], 2),  # c and d go
        ({"min_interactions": 3}, [3, 0, 0], 3),  # d has nothing left
        # Users first: c and d go, so 3 has one user and is not rated; a stays with 1 and 2.
        ({"min_user_interactions": 2, "min_interactions": 2}, [2, 2, 0], 2),
        # Once each: a is left with 1 alone and stays all the same.
        ({"min_value": 3, "min_user_interactions": 3, "min_interactions": 1}, [1, 1, 1], 1),
        ({"min_value": 3, "min_user_interactions": 1, "min_interactions": 3}, [3, 0, 0], 3),
    ],
)
def test_filters_apply_to_values_then_users_then_items_each_once(
    options: dict[str, object], counts: list[int], n_users: int, tmp_path: Path
) -> None:
    data = opened(folder(tmp_path, **{"items.csv": THREE, "interactions.csv": CHAIN}), **options)
    assert (data.counts.tolist(), data.n_users) == (counts, n_users)
    assert len(data.notes) == bool(options)


def test_filters_that_leave_nothing_are_an_error_that_says_what_each_took(tmp_path: Path) -> None:
    path = folder(tmp_path, **{"items.csv": THREE, "interactions.csv": CHAIN})
    assert error_of(path, min_value=3, min_interactions=9).endswith(
        "has no interaction left: 1 below the value 3 are left out; 6 of items with fewer than "
        "9 users are left out"
    )
    with pytest.raises(DatasetError, match="--min-interactions 0; expected at least 1"):
        ReadOptions(min_interactions=0)


def test_filters_work_on_movielens_too_and_columns_do_not() -> None:
    assert opened(CSV).counts.sum() == 10
    assert opened(CSV, min_user_interactions=2).counts.sum() < 10
    assert "cannot use --item-id and --value" in error_of(CSV, item_id="asin", value="x")


def test_filters_on_the_bundle_need_the_raw_ratings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "fetched", lambda name: None)
    with pytest.raises(DatasetError, match="recdemo dataset fetch ml-1m"):
        open_dataset("ml-1m", ReadOptions(min_value=4))
    with pytest.raises(DatasetError, match="cannot use --item-id and --encoding with ml-1m"):
        open_dataset("ml-1m", ReadOptions(item_id="asin", encoding="utf-8"))
    known = bundled.open_bundled().catalog
    movies = "".join(f"{item_id}::Film (2000)::Drama\n" for item_id in known.item_ids)
    raw = copy(DAT, tmp_path, movies_dat=movies.encode(), ratings_dat=b"1::1::5::1\n1::2::3::1\n")
    monkeypatch.setattr(download, "fetched", lambda name: raw)
    data = open_dataset("ml-1m", ReadOptions(min_value=4))
    assert (data.name, data.truth_file, data.n_interactions) == ("ml-1m", None, 1)


def test_options_survive_a_run_file() -> None:
    options = ReadOptions(item_id="asin", min_value=3.5, min_user_interactions=5)
    assert options.as_settings() == {
        "item_id": "asin", "min_value": 3.5, "min_user_interactions": 5,
    }  # fmt: skip
    assert ReadOptions.from_settings(json.loads(json.dumps(options.as_settings()))) == options
    assert ReadOptions().as_settings() == {}
    with pytest.raises(DatasetError, match="it used max_value, which this version"):
        ReadOptions.from_settings({"max_value": 3})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("RECDEMO_HOME", str(tmp_path / "home"))
    settings.cache_clear()
    yield tmp_path / "home"
    settings.cache_clear()


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    "command",
    ["evaluate", "similar", "truth build", "truth show", "dataset show", "dataset validate"],
)
def test_every_command_that_reads_items_has_the_options(command: str) -> None:
    shown = run(*command.split(), "--help").stdout
    for field in ReadOptions.__dataclass_fields__:
        assert f"--{field.replace('_', '-')}" in shown


def test_commands_read_as_they_are_told_and_runs_keep_how(tmp_path: Path, home: Path) -> None:
    path = folder(tmp_path, **{"items.csv": SHOP, "interactions.csv": REVIEWS + "u,zz,5,9\n"})
    texts = tmp_path / "mine.csv"
    texts.write_text("item_id,text\nB01,a mug\nB02,a cup\nB03,a pot\n")
    columns = ("--item-id", "asin", "--user-id", "reviewer", "--value", "stars")
    more = ("--timestamp", "day", "--min-value", "2", "--dataset", path, "--text", texts)
    found = run("evaluate", "baseline:random@2", "--k", "1", *columns, *more, "--format", "json")
    assert found.exception is None
    result = json.loads(found.stdout)
    assert result["dataset"] | {"name": "good", "users": 1, "interactions": 2} == result["dataset"]
    assert [row["text"] for row in result["rows"]] == ["mine"]
    assert "1 of 4 interactions are left out" in found.stderr
    assert "1 texts of 'mine' are left out" in found.stderr
    again = run("evaluate", "--like", "latest", "--format", "json")
    assert json.loads(again.stdout)["rows"][0]["recall"] == result["rows"][0]["recall"]
    assert f"the same numbers as {result['id']}" in again.stderr
    shown = run("similar", "mug", "--model", "baseline:random@2", *columns, *more)
    assert "Cup" in shown.stdout
    listed = run("truth", "show", "mug", "--k", "1", *columns, *more[:-2])
    assert "Cup" in listed.stdout
    assert "interactions" in run("dataset", "show", path, *columns, *more[:2]).stdout


def test_similar_works_on_a_catalog_alone_and_evaluate_says_what_it_lacks(
    tmp_path: Path, home: Path
) -> None:
    path = folder(tmp_path, **{"items.csv": SHOP, "readme.txt": ""})
    shown = run("similar", "mug", "--dataset", path, "--item-id", "asin", "--model",
                "baseline:random@2")  # fmt: skip
    assert "Cup" in shown.stdout
    for command in (["evaluate"], ["evaluate", "--k", "1"], ["truth", "build"], ["truth", "show"]):
        found = run(*command, "--dataset", path, "--item-id", "asin")
        assert isinstance(found.exception, RecdemoError)
        assert "says nothing of who touched what" in str(found.exception)


def test_users_who_share_no_items_leave_nothing_to_measure(tmp_path: Path, home: Path) -> None:
    touched = "user_id,item_id\na,1\nb,2\nc,3\n"
    path = folder(tmp_path, **{"items.csv": THREE, "interactions.csv": touched})
    found = run("evaluate", "baseline:random@2", "--k", "1", "--dataset", path)
    assert "no user of good touched two rated items" in str(found.exception)
