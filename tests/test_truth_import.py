import gzip
import re
import textwrap
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from recdemo.cli import app
from recdemo.dataset import Dataset, open_dataset
from recdemo.errors import DatasetError, RecdemoError
from recdemo.truth import OVERLAPS, Truth, build_truth
from recdemo.truth.files import find_truth, imported_path, save_truth
from recdemo.truth.importing import import_lists
from tests import tiny

README = Path(__file__).parent.parent / "README.md"
ANT, BEE, CAT, DOG, EEL = range(5)
OVERLAP_OF = {
    "jaccard": "1e0 * s.users / (i.users + n.users - s.users)",
    "cosine": "SQRT(1e0 * s.users * s.users / (i.users * n.users))",
    "lift": "1e0 * s.users / (i.users * n.users)",
}


def readme_sql() -> str:
    """The SQL that the README tells people to run."""
    text = README.read_text(encoding="utf-8")
    start = text.index("    WITH touched AS")
    return textwrap.dedent(text[start : text.index("\n\n", start)])


def run_sql(sql: str, data: Dataset, to: Path) -> Path:
    """Run SQL over the interactions of a data set in DuckDB, and keep the result as Parquet."""
    given, ids = data.interactions(), pa.array(data.catalog.item_ids)
    if all(map(str.isdecimal, data.catalog.item_ids)):
        ids = ids.cast(pa.int64())  # as a warehouse would have them; and much faster
    users, rows = given.users[::-1], given.rows[::-1]  # not in the order of the catalog
    interactions = pa.table({"user_id": users, "item_id": ids.take(pa.array(rows))})
    with duckdb.connect() as warehouse:
        warehouse.register("interactions", interactions)
        warehouse.execute(f"COPY ({sql}) TO '{to}' (FORMAT parquet)")
    return to


def same(truth: Truth, other: Truth) -> bool:
    return (
        truth.neighbors.tobytes() == other.neighbors.tobytes()
        and truth.overlaps.tobytes() == other.overlaps.tobytes()
        and truth.rated.tolist() == other.rated.tolist()
    )


def many_ties(seed: int = 0) -> Dataset:
    """Items of one or two users each: nearly everything ties, at every place."""
    random = np.random.default_rng(seed)
    rated_by = [sorted(random.choice(6, 1 + row % 2, replace=False).tolist()) for row in range(40)]
    titles = [f"t{row}" for row in range(40)]
    return tiny.dataset(rated_by, tiny.catalog(title=titles))


@pytest.mark.parametrize("make", [tiny.dataset, many_ties])
@pytest.mark.parametrize("overlap", OVERLAPS)
def test_the_sql_of_the_readme_gives_the_lists_that_are_built(overlap, make, tmp_path):
    data = make()
    k = 2 if make is tiny.dataset else 5
    sql = readme_sql().replace("place <= 100", f"place <= {k}")
    assert OVERLAP_OF["jaccard"] in sql
    times = f" * {data.n_users}" if overlap == "lift" else ""
    sql = sql.replace(OVERLAP_OF["jaccard"], OVERLAP_OF[overlap] + times)
    imported = import_lists(run_sql(sql, data, tmp_path / "l.parquet"), data, overlap, k)
    assert same(imported.truth, build_truth(data.interactions(), overlap, k))


def test_the_readme_spells_out_the_sql_of_every_overlap():
    text = " ".join(README.read_text(encoding="utf-8").split())
    for formula in OVERLAP_OF.values():
        assert formula in text


@pytest.mark.slow
def test_the_sql_of_the_readme_gives_the_lists_of_movielens(real_data, tmp_path):
    data = open_dataset(str(real_data / "ml-1m.zip"))
    imported = import_lists(run_sql(readme_sql(), data, tmp_path / "l.parquet"), data, "jaccard")
    assert same(imported.truth, build_truth(data.interactions(), "jaccard", 100))
    bundled = open_dataset()
    assert imported.truth.hash() == find_truth(bundled, "jaccard", 100).hash()


GOOD = "item_id,neighbor_id,overlap\ni0,i1,0.75\ni1,i0,0.75\ni0,i2,0.2\ni2,i0,0.2\n"


def lists(tmp_path: Path, text: str, name: str = "lists.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def items_only(tmp_path: Path) -> Path:
    """A folder that says nothing of who touched what."""
    folder = tmp_path / "shop"
    folder.mkdir()
    rows = "".join(f"i{row},item {row},{1990 + row},A\n" for row in range(5))
    (folder / "items.csv").write_text(f"item_id,title,year,genres\n{rows}", encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_lists_come_from_csv_gzip_and_parquet_in_any_order(kind, tmp_path):
    path = tmp_path / f"lists.{kind}"
    if kind == "parquet":
        rows = [
            {"neighbor_id": other, "overlap": float(value), "item_id": item}
            for item, other, value in (line.split(",") for line in GOOD.splitlines()[:0:-1])
        ]
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "csv":
        path.write_text(GOOD, encoding="utf-8")
    else:
        path.write_bytes(gzip.compress(GOOD.encode()))
    truth = import_lists(path, tiny.dataset(), "jaccard").truth
    assert truth.neighbors[[ANT, BEE, CAT]].tolist() == [[BEE, CAT], [ANT, -1], [ANT, -1]]
    assert truth.overlaps[ANT].tolist() == pytest.approx([0.75, 0.2])
    assert truth.rated.tolist() == [True, True, True, True, False]
    assert truth.source.startswith("lists.")


def test_ties_go_to_the_smaller_row_and_what_is_beyond_the_last_place_is_cut(tmp_path):
    ties = "item_id,neighbor_id,overlap\n" + "".join(
        f"i0,i{row},{value}\n" for row, value in ((3, 0.5), (1, 0.5), (2, 0.5), (4, 0.9))
    )
    data = open_dataset(str(items_only(tmp_path)))
    found = import_lists(lists(tmp_path, ties), data, "jaccard", 2)
    assert found.truth.neighbors[0].tolist() == [4, 1]
    assert "2 rows beyond place 2 are left out" in found.notes


def test_without_interactions_the_items_of_the_lists_are_the_rated_ones(tmp_path):
    data = open_dataset(str(items_only(tmp_path)))
    truth = import_lists(lists(tmp_path, GOOD), data, "jaccard").truth
    assert truth.rated.tolist() == [True, True, True, False, False]
    assert truth.n_users == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item_id,neighbor_id\ni0,i1\n", "has no column 'overlap'"),
        ("a,b,c\ni0,i1,1\n", "has no column 'item_id'"),
        ("", "is empty"),
        ("item_id,neighbor_id,overlap\n", "holds no lists: it has no row"),
        (GOOD + "x9,i0,0.5\ni0,x9,0.5\n", "1 items that .* not have, in 2 places .'x9' for one"),
        (GOOD + "i1,i1,1\n", "1 of 5 rows pair an item with itself, as 'i1' with 'i1'"),
        (GOOD + "i0,i1,0.7\n", "1 of 5 rows repeat a pair, as 'i0' with 'i1' and 0.7"),
        (GOOD + "i1,i2,0\ni2,i1,-1\n", "2 of 6 rows have no overlap above 0, as 'i1' with 'i2'"),
        (GOOD + "i1,i2,1.5\n", "1 of 5 rows have a jaccard overlap above 1, as .* and 1.5"),
        (GOOD + "i1,i2,nan\n", "line 6: expected a number in column 'overlap', got 'nan'"),
        (GOOD + "i1,i2,\ni2,i1,inf\n", "line 6: expected a number .*and 1 more such row"),
        (GOOD + ",i2,1\n", "line 6: the id in column 'item_id' is empty"),
        (GOOD + "i1,i2\n", "line 6: expected 3 fields"),
        (GOOD + "i0,i4,0.1\n", "1 of 5 rows name an item that has no interaction here, as 'i0'"),
        (GOOD + "i1,i1,1\ni1,i1,1\n", "2 of 6 rows pair .*; 1 of 6 rows repeat a pair"),
    ],
)
def test_what_no_truth_can_have_is_one_line_with_a_count_and_an_example(text, message, tmp_path):
    with pytest.raises(DatasetError, match=message) as error:
        import_lists(lists(tmp_path, text), tiny.dataset(), "jaccard")
    assert "\n" not in str(error.value)


def test_a_lift_may_be_above_one_and_a_cosine_a_rounding_above(tmp_path):
    data = open_dataset(str(items_only(tmp_path)))
    import_lists(lists(tmp_path, GOOD.replace("0.75", "2.5")), data, "lift")
    import_lists(lists(tmp_path, GOOD.replace("0.75", "1.0000000000000002")), data, "cosine")


def test_ids_stay_text(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "items.csv").write_text("item_id,title\n7,a\n007,b\n1,c\n", encoding="utf-8")
    data = open_dataset(str(folder))
    text = "item_id,neighbor_id,overlap\n007,1,0.5\n1,007,0.5\n"
    truth = import_lists(lists(tmp_path, text), data, "jaccard").truth
    assert truth.neighbors.tolist() == [[-1], [2], [1]]


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(DatasetError, match="no file"):
        import_lists(tmp_path / "lists.parquet", tiny.dataset(), "jaccard")


@pytest.mark.parametrize(
    ("k", "length", "note"),
    [
        (None, 2, "no list is longer than 2, so they serve K up to that; .* --k 3"),
        (3, 3, None),
        (2, 2, None),
    ],
)
def test_shorter_lists_serve_only_so_far_unless_they_are_said_to_be_whole(
    k, length, note, tmp_path
):
    found = import_lists(lists(tmp_path, GOOD), tiny.dataset(), "jaccard", k)
    assert found.truth.k == length
    assert bool(found.notes) == (note is not None)
    if note:
        assert re.search(note, found.notes[0])


def test_lists_that_all_end_at_the_same_place_look_cut(tmp_path):
    text = GOOD + "i1,i2,0.1\n"
    [note, *_] = import_lists(lists(tmp_path, text), tiny.dataset(), "jaccard", 3).notes
    assert "no list is longer than 2 and 2 have just that length" in note


def test_a_k_that_no_list_can_reach_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="below the 4 rated items"):
        import_lists(lists(tmp_path, GOOD), tiny.dataset(), "jaccard", 4)


def test_overlaps_that_the_users_here_cannot_give_are_told(tmp_path):
    path = lists(tmp_path, GOOD)  # Jaccard 3/4 and 1/5, as they are
    assert not import_lists(path, tiny.dataset(), "jaccard", 2).notes
    [note] = import_lists(path, tiny.dataset(), "cosine", 2).notes
    assert "4 of 4 overlaps are no cosine of users who touched both items here" in note


def test_imported_lists_come_first_and_are_not_those_of_other_interactions(home, tmp_path):
    data, ids = tiny.dataset(), tiny.dataset().catalog.item_ids
    found = import_lists(lists(tmp_path, GOOD), data, "jaccard", 3)
    save_truth(found.truth, ids, imported_path(data, "jaccard"))
    assert same(find_truth(data, "jaccard", 3), found.truth)
    assert find_truth(data, "jaccard", 1).source.startswith("lists.csv")
    assert not find_truth(data, "cosine", 1).source
    more = tiny.dataset([[0, 1, 2, 3], [0, 1, 2], [3, 4], [5, 4], []])
    assert not find_truth(more, "jaccard", 1).source


def test_a_k_beyond_imported_lists_is_refused_rather_than_built(home, tmp_path):
    data = tiny.dataset()
    found = import_lists(lists(tmp_path, GOOD), data, "jaccard")
    save_truth(found.truth, data.catalog.item_ids, imported_path(data, "jaccard"))
    with pytest.raises(DatasetError, match="lists of tiny serve K up to 2, not 3; choose a small"):
        find_truth(data, "jaccard", 3)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_a_folder_without_interactions_is_evaluated_on_imported_lists(home, tmp_path):
    folder, path = items_only(tmp_path), lists(tmp_path, GOOD)
    first = run("truth", "import", path, "--dataset", folder, "--k", 2)
    assert "jaccard lists of 3 items, up to 2 neighbors each" in first
    assert "the 3 items that stand in the lists count as its rated items" in first
    assert "they replace the ones imported before" in run(
        "truth", "import", path, "--dataset", folder, "--k", 2
    )
    table = run(
        "evaluate", "--dataset", folder, "--text", "{title}", "--k", "1,2", "baseline:genre"
    )
    assert "the jaccard lists of shop were imported: lists.csv" in table
    assert "Recall@2" in table
    assert "imported │ lists.csv" in run("truth", "show", "--dataset", folder, "--k", 2)
    assert "imported: lists.csv" in run("truth", "show", "item 0", "--dataset", folder, "--k", 2)
    similar = run("similar", "item 0", "--dataset", folder, "--text", "{title}",
                  "--model", "baseline:genre")  # fmt: skip
    assert "in the truth list" in similar


@pytest.mark.parametrize("kept", [0, 100, -30])
def test_imported_lists_that_were_cut_short_are_one_line(kept, home, tmp_path):
    shop = items_only(tmp_path)
    run("truth", "import", lists(tmp_path, GOOD), "--dataset", shop)
    [path] = (home / "truths").iterdir()
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DatasetError, match="cannot read the imported truth lists in"):
        open_dataset(str(shop))


def test_what_needs_interactions_says_so_beside_imported_lists(home, tmp_path):
    folder, path = items_only(tmp_path), lists(tmp_path, GOOD)
    run("truth", "import", path, "--dataset", folder)
    given = ["evaluate", "--dataset", str(folder), "--text", "{title}", "--k", "1"]
    runner = CliRunner()
    for more in (
        ["baseline:popularity"],
        ["--truth", "cosine"],
        ["--protocol", "one-shot"],
        ["--by", "popularity"],
        ["--user-bootstrap", "3"],
    ):
        asked = given[:-2] + more if "one-shot" in more else given + more
        result = runner.invoke(app, asked)
        assert isinstance(result.exception, RecdemoError)
        assert "interactions" in str(result.exception)
        assert not (home / "runs").exists()


def test_building_takes_the_place_of_imported_lists(home, tmp_path):
    folder, path = items_only(tmp_path), lists(tmp_path, GOOD)
    pairs = "".join(f"{u},i{row}\n" for row, us in enumerate(tiny.RATED_BY.values()) for u in us)
    (folder / "interactions.csv").write_text(f"user_id,item_id\n{pairs}", encoding="utf-8")
    first = run("truth", "import", path, "--dataset", folder, "--k", 2)
    assert "used for shop in place of built ones, until 'recdemo truth build'" in first
    assert "imported" in run("truth", "show", "--dataset", folder, "--k", 2)
    assert "the place of the imported jaccard lists" in run(
        "truth", "build", "--dataset", folder, "--k", 2
    )
    assert "imported" not in run("truth", "show", "--dataset", folder, "--k", 2)
    again = open_dataset(str(folder))
    assert same(find_truth(again, "jaccard", 3), build_truth(again.interactions(), "jaccard", 3))
