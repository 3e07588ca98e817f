import io
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from recdemo.cli.dataset import dataset_app
from recdemo.dataset import Dataset, open_dataset
from recdemo.dataset.catalog import Catalog
from recdemo.dataset.findings import KINDS, Severity
from recdemo.dataset.options import ReadOptions
from recdemo.dataset.records import BLOCK, TextForm, read_blocks, read_records
from recdemo.dataset.validate import Report, validate
from recdemo.errors import DatasetError
from recdemo.texts import Texts, draft, fill, text_names
from tests.test_folder import folder
from tests.test_movielens import CSV, DAT, copy

HOSTILE = Path(__file__).parent / "data" / "hostile"


def check(path: Path, text: str | None = None, **options: object) -> Report:
    def drafts(catalog: Catalog) -> list[Texts]:
        return [draft(catalog, name) for name in text_names(text, catalog)]

    return validate(path, ReadOptions(**options), drafts)  # type: ignore[arg-type]


def counts(report: Report) -> dict[tuple[str, str], int]:
    return {(finding.kind, finding.file): finding.count for finding in report.findings}


def examples(report: Report, kind: str) -> tuple[str, ...]:
    [finding] = [finding for finding in report.findings if finding.kind == kind]
    return finding.examples


IN_ITEMS = {
    "encoding": 1,
    "broken-row": 4,  # no JSON, an array, an id that is a truth value, half a surrogate pair
    "empty-id": 2,  # "" and none
    "duplicate-id": 1,
    "byte-order-mark": 1,
    "blanks-around-id": 1,
}
IN_INTERACTIONS = {
    "encoding": 1,
    "broken-row": 3,  # too short, too long, a quote that never ends
    "empty-id": 2,  # a user's and an item's
    "bad-value": 2,
    "bad-timestamp": 2,
    "blanks-around-id": 1,
    "ids-alike": 3,  # 007, 7 and 7.0; 2 and 2.0; a1 and A1
    "users-alike": 1,  # eve and Eve
    "unknown-item": 3,  # 7.0, 2.0 and x9
    "interaction-of-unknown-item": 4,  # x9 twice
    "item-without-interactions": 5,  # 8, 9, 12, A1, 15
    "item-with-one-user": 2,  # 007 and a1
    "user-with-one-item": 3,  # eve, Eve and Zo?
    "repeated-pair": 1,  # ann and 1
    "few-rated-items": 1,
}
OF_CARDS = {"empty-text": 2, "repeated-text": 1}
OF_WHOLE_FILES = {
    "unreadable",
    "no-interactions",
    "no-text",
    "too-few-rated-items",
    "no-shared-users",
    "left-out-by-filters",
}


def test_every_fault_of_the_hostile_catalog_is_counted() -> None:
    report = check(HOSTILE)
    expected = {
        (kind, file): count
        for file, found in (
            ("items.jsonl", IN_ITEMS),
            ("interactions.csv", IN_INTERACTIONS),
            ("text 'card'", OF_CARDS),
        )
        for kind, count in found.items()
    }
    assert counts(report) == expected
    assert (report.n_items, report.n_users, report.n_interactions) == (11, 6, 13)
    assert not report.usable


def test_the_hostile_catalog_has_every_fault_there_is_but_those_of_whole_files() -> None:
    texts = check(HOSTILE, str(HOSTILE / "texts.csv"))
    found = {kind for kind, _ in (*counts(check(HOSTILE)), *counts(texts))}
    assert found | OF_WHOLE_FILES == set(KINDS)


def test_a_file_of_texts_is_checked_against_the_items() -> None:
    report = check(HOSTILE, str(HOSTILE / "texts.csv"))
    of_text = {kind: count for (kind, file), count in counts(report).items() if "text" in file}
    # 7 has no text; six items are not in the file
    assert of_text == {"empty-text": 7, "repeated-text": 1, "text-of-unknown-item": 1}
    assert examples(report, "text-of-unknown-item") == ("zz",)


def test_examples_name_lines_and_ids() -> None:
    report = check(HOSTILE)
    assert examples(report, "duplicate-id") == ("line 8: item id '1' repeats line 1",)
    assert examples(report, "ids-alike") == (
        "'2' in items, '2.0' in interactions",
        "'007' in items, '7' in items, '7.0' in interactions",
        "'a1' in items, 'A1' in items",
    )
    assert examples(report, "interaction-of-unknown-item") == ("7.0: 1", "2.0: 1", "x9: 2")
    assert examples(report, "repeated-text") == ("2, as 1",)
    assert examples(report, "repeated-pair") == ("user ann, item 1",)
    lines = [example.split(":")[0] for example in examples(report, "bad-timestamp")]
    assert lines == ["line 21", "line 22"]


def test_values_that_are_no_numbers_are_an_error_only_where_they_are_read() -> None:
    def severity(report: Report) -> Severity:
        [found] = [finding for finding in report.findings if finding.kind == "bad-value"]
        return found.severity

    assert severity(check(HOSTILE)) is Severity.WARNING
    assert severity(check(HOSTILE, min_value=1)) is Severity.ERROR


ITEMS = "item_id,title,x\n" + "".join(f"{i},Thing number {i},x\n" for i in range(12))
INTERACTIONS = "user_id,item_id,value,timestamp\n" + "".join(
    f"{user},{item},1,5\n" for user in "ab" for item in range(12)
)


def faulty() -> list[tuple[str, dict[str, bytes], dict[str, object], str | None]]:
    items, interactions = ITEMS.encode(), INTERACTIONS.encode()
    return [
        ("", {}, {}, None),
        ("encoding", {"items.csv": items + b"x,\xe9,x\n"}, {}, None),
        ("encoding", {"interactions.csv": interactions + b"\xe9,1,1,1\n"}, {}, None),
        ("broken-row", {"items.csv": items + b"x,y\n"}, {}, None),
        ("broken-row", {"interactions.csv": interactions + b"x,y\n"}, {}, None),
        ("broken-row", {"interactions.csv": interactions + b'x"y,"1"2,1,1\n'}, {}, None),
        ("empty-id", {"items.csv": items + b" ,y,x\n"}, {}, None),
        ("empty-id", {"interactions.csv": interactions + b",1,1,1\n"}, {}, None),
        ("duplicate-id", {"items.csv": items + b" 3,y,x\n"}, {}, None),
        ("bad-timestamp", {"interactions.csv": interactions + b"c,1,1,soon\n"}, {}, None),
        ("", {"interactions.csv": interactions + b"c,1,1,soon\n"}, {"timestamp": ""}, None),
        ("", {"interactions.csv": interactions + b"c,1,good,5\n"}, {}, None),
        ("bad-value", {"interactions.csv": interactions + b"c,1,good,5\n"}, {"min_value": 1}, None),
        ("empty-text", {"items.csv": items + b"x,,x\n"}, {}, None),
        ("", {"items.csv": items + b"x,,x\n"}, {}, "{title} {x}"),
        ("no-text", {}, {}, "{plot}"),
        ("no-text", {"items.csv": items.replace(b"title", b"t")}, {}, None),
        ("unreadable", {"items.csv": b""}, {}, None),
        ("unreadable", {"items.csv": b"item_id,title\n"}, {}, None),
        ("unreadable", {"items.csv": items.replace(b"title", b"x")}, {}, None),
        ("unreadable", {"items.jsonl": b'{"item_id": 1}\n'}, {}, None),
        ("unreadable", {"interactions.csv": b""}, {}, None),
        ("unreadable", {"interactions.csv": b"user,item_id\na,1\n"}, {}, None),
        ("unreadable", {}, {"item_id": "asin"}, None),
        ("unreadable", {}, {"value": "stars", "min_value": 1}, None),
        ("unreadable", {"interactions.parquet": b"PAR1 no more"}, {}, None),
        ("too-few-rated-items", {"interactions.csv": b"user_id,item_id\na,zz\n"}, {}, None),
        ("too-few-rated-items", {"interactions.csv": b"user_id,item_id\n"}, {}, None),
        ("too-few-rated-items", {}, {"min_value": 2}, None),
        ("too-few-rated-items", {}, {"min_interactions": 3}, None),
        ("no-shared-users", {"interactions.csv": b"user_id,item_id\na,1\nb,2\n"}, {}, None),
    ]


@pytest.mark.parametrize(("kind", "files", "options", "text"), faulty())
def test_what_is_an_error_here_stops_an_evaluation_and_nothing_else_does(
    kind: str,
    files: dict[str, bytes],
    options: dict[str, object],
    text: str | None,
    tmp_path: Path,
) -> None:
    given = {"items.csv": ITEMS.encode(), "interactions.csv": INTERACTIONS.encode()} | files
    if "interactions.parquet" in files:
        del given["interactions.csv"]
    path = folder(tmp_path, **given)
    report = check(path, text, **options)
    errors = {found.kind for found in report.findings if found.severity is Severity.ERROR}
    assert errors == ({kind} if kind else set())

    def evaluation() -> Dataset:
        data = open_dataset(str(path), ReadOptions(**options))  # type: ignore[arg-type]
        for name in text_names(text, data.catalog):
            fill(data.catalog, name)
        return data

    if kind == "no-shared-users":  # which the truth finds; see its tests
        assert evaluation().n_rated == 2
    elif kind:
        with pytest.raises(DatasetError):
            evaluation()
    else:
        assert evaluation().n_rated == 12


def test_a_catalog_without_interactions_cannot_be_evaluated(tmp_path: Path) -> None:
    report = check(folder(tmp_path, **{"items.csv": ITEMS.encode()}))
    assert counts(report) == {("no-interactions", ""): 1}
    assert not report.usable


def test_a_fault_of_the_items_does_not_hide_those_of_the_interactions(tmp_path: Path) -> None:
    path = folder(tmp_path, **{"items.csv": b"", "interactions.csv": b"user_id,item_id\na\n,b\n"})
    found = counts(check(path))
    assert found["broken-row", "interactions.csv"] == 1
    assert found["empty-id", "interactions.csv"] == 1
    assert found["unreadable", ""] == 1


@pytest.mark.parametrize("source", [DAT, CSV])
def test_movielens_folders_are_checked_too(source: Path, tmp_path: Path) -> None:
    report = check(source)
    assert (report.n_items, report.n_users, report.n_interactions) == (5, 6, 10)
    ratings = {DAT: "ratings.dat", CSV: "ratings.csv"}[source]
    assert counts(report)["item-without-interactions", ratings] == 1
    bad = b"userId,movieId,rating,timestamp\n1,1,good,5\n1,3,4,5\n"
    if source is CSV:
        report = check(copy(CSV, tmp_path, ratings_csv=bad))
        assert counts(report)["bad-value", "ratings.csv"] == 1
        assert not report.usable  # the reader of MovieLens reads ratings, filter or not


def test_filters_are_said_to_leave_out_what_they_do(tmp_path: Path) -> None:
    path = folder(tmp_path, **{
        "items.csv": ITEMS.encode(),
        "interactions.csv": INTERACTIONS.encode() + b"c,1,1,5\n",
    })  # fmt: skip
    report = check(path, min_user_interactions=2)
    assert examples(report, "left-out-by-filters") == (
        "1 of users with fewer than 2 items are left out",
    )
    assert counts(report)["user-with-one-item", "interactions.csv"] == 1  # before the filter


def records(text: str) -> tuple[list[list[str]], list[int]]:
    faults: list[int] = []
    blocks = read_blocks(io.BytesIO(text.encode()), "x.csv", "utf-8", lambda fault: None, BLOCK)
    found = read_records(blocks, "x.csv", TextForm(), lambda fault: faults.append(fault.line))
    return [record.fields for record in found], faults


def test_a_stray_quote_costs_one_line_and_not_those_behind_it() -> None:
    assert records('a,1\n"b,2\nc,3\nd,"4"\n') == ([["a", "1"], ["c", "3"], ["d", "4"]], [2])
    assert records('a,1\n"b"x,2\nc,3\n') == ([["a", "1"], ["c", "3"]], [2])
    assert records('"a,1\n"b,2\n"c,3\nd,4\n') == ([["d", "4"]], [1, 2, 3])


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(dataset_app, ["validate", *map(str, arguments)])


def test_the_command_exits_with_1_where_an_evaluation_would_stop(tmp_path: Path) -> None:
    hostile = run(HOSTILE)
    assert hostile.exit_code == 1
    assert "An evaluation would stop." in hostile.stdout
    good = folder(tmp_path, **{
        "items.csv": ITEMS.encode(), "interactions.csv": INTERACTIONS.encode()
    })  # fmt: skip
    fine = run(good)
    assert (fine.exit_code, fine.stdout) == (
        0,
        "good: 12 items, 2 users, 24 interactions. Nothing to tell.\n",
    )


def test_findings_are_written_as_json(tmp_path: Path) -> None:
    shutil.copytree(HOSTILE, tmp_path / "[red]x")
    result = run(tmp_path / "[red]x", "--format", "json", "--item-id", "item_id")
    found = json.loads(result.stdout)
    assert (found["name"], found["usable"], found["n_items"]) == ("[red]x", False, 11)
    assert {
        "kind": "duplicate-id",
        "severity": "error",
        "file": "items.jsonl",
        "count": 1,
        "examples": ["line 8: item id '1' repeats line 1"],
        "effect": "stops at the first such row",
    } in found["findings"]


def test_what_is_no_data_set_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="holds no data set"):
        check(tmp_path)
