import gzip
import json
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recdemo.dataset import Dataset, open_dataset
from recdemo.dataset.options import ReadOptions
from recdemo.errors import DatasetError
from tests.test_movielens import CSV, copy, zipped

Rows: TypeAlias = list[dict[str, object]]

ITEMS: Rows = [
    {"item_id": "007", "title": "Red mug", "genres": ["Kitchen", "Gift"], "year": 2001},
    {"item_id": "7", "title": "Blue mug", "genres": ["Kitchen"], "year": 1999},
    {"item_id": "x", "title": 'Lamp, "tall"', "genres": [], "year": None},
]
INTERACTIONS: Rows = [
    {"user_id": "ann", "item_id": "007", "value": 5, "timestamp": 30},
    {"user_id": "bob", "item_id": "7", "value": 3, "timestamp": 10},
    {"user_id": "bob", "item_id": "007", "value": 4, "timestamp": 20},
    {"user_id": "ann", "item_id": "007", "value": 2, "timestamp": 10},
]
ITEMS_CSV = (
    'item_id,title,genres,year\n007,Red mug,Kitchen|Gift,2001\n7,Blue mug,Kitchen,1999.0\n'
    'x,"Lamp, ""tall""",,\n'
)  # fmt: skip
INTERACTIONS_CSV = (
    "user_id,item_id,value,timestamp\nann,007,5,30\nbob,7,3,10\nbob,007,4,20\nann,007,2,10\n"
)


def folder(to: Path, **files: bytes | str) -> Path:
    """Write files named like ``items.csv`` into a new folder."""
    path = to / "good"
    path.mkdir()
    for name, data in files.items():
        (path / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def lines(rows: Rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def parquet(rows: Rows) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return bytes(sink.getvalue())


def files(kind: str, items: Rows = ITEMS, zip: bool = False) -> dict[str, bytes]:
    if kind == "csv":
        found = {"items.csv": ITEMS_CSV.encode(), "interactions.csv": INTERACTIONS_CSV.encode()}
    else:
        write = parquet if kind == "parquet" else lambda rows: lines(rows).encode()
        found = {f"items.{kind}": write(items), f"interactions.{kind}": write(INTERACTIONS)}
    return {f"{name}.gz": gzip.compress(data) for name, data in found.items()} if zip else found


def opened(path: Path, **options: object) -> Dataset:
    return open_dataset(str(path), ReadOptions(**options))  # type: ignore[arg-type]


def error_of(path: Path, **options: object) -> str:
    with pytest.raises(DatasetError) as error:
        opened(path, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def pairs(data: Dataset) -> list[tuple[int, int]]:
    found = data.interactions()
    return list(zip(found.users.tolist(), found.rows.tolist(), strict=True))


@pytest.mark.parametrize(
    ("kind", "zip"),
    [("csv", False), ("csv", True), ("jsonl", False), ("jsonl", True), ("parquet", False)],
)
def test_csv_json_lines_and_parquet_read_the_same(kind: str, zip: bool, tmp_path: Path) -> None:
    path = folder(tmp_path, **files(kind, zip=zip))
    for data in (opened(path), opened(zipped(path, tmp_path / "z.zip", "good/"))):
        assert data.name == "good"
        assert data.catalog.item_ids == ("007", "7", "x")
        assert data.catalog.column("title") == ("Red mug", "Blue mug", 'Lamp, "tall"')
        assert data.catalog.column("genres") == (("Kitchen", "Gift"), ("Kitchen",), ())
        assert data.catalog.column("year") == (2001, 1999, None)
        assert pairs(data) == [(0, 0), (1, 1), (1, 0)]  # ann's latest entry stands first
        assert data.counts.tolist() == [2, 1, 0]
        times = data.interactions().timestamps
        assert times is not None
        assert times.tolist() == [30, 10, 20]


def test_ids_are_text_whatever_their_type(tmp_path: Path) -> None:
    items = lines([{"item_id": 7, "a": 1}, {"item_id": "007", "a": 2}, {"item_id": 8.0, "a": 3}])
    touched = lines([{"item_id": "7", "user_id": 1}, {"item_id": 8, "user_id": 1.0}])
    data = opened(folder(tmp_path, **{"items.jsonl": items, "interactions.jsonl": touched}))
    assert data.catalog.item_ids == ("7", "007", "8")
    assert (pairs(data), data.n_users) == ([(0, 0), (0, 2)], 1)


def test_parquet_of_other_types_reads_the_same(tmp_path: Path) -> None:
    seconds = np.array([30, 10], "datetime64[s]").astype("datetime64[ns]")
    plain = {"item_id": pa.array([7, 8]), "user_id": pa.array(["a", "b"]).dictionary_encode()}
    odd = {"item_id": pa.array([7.0, 8.0]), "user_id": pa.array(["a", "b"], pa.string_view())}
    items = parquet([{"item_id": 7, "t": "x"}, {"item_id": 8, "t": "y"}])
    for i, columns in enumerate((plain, odd)):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns | {"timestamp": pa.array(seconds)}), sink)
        (tmp_path / str(i)).mkdir()
        both = {"items.parquet": items, "interactions.parquet": bytes(sink.getvalue())}
        data = opened(folder(tmp_path / str(i), **both))
        assert pairs(data) == [(0, 0), (1, 1)]
        times = data.interactions().timestamps
        assert times is not None
        assert times.tolist() == [30, 10]


def test_a_row_of_parquet_that_is_at_fault_is_named(tmp_path: Path) -> None:
    rows: Rows = [*INTERACTIONS, {"user_id": None, "item_id": "7", "value": 1, "timestamp": 1}]
    items, touched = ITEMS_CSV.encode(), parquet(rows)
    path = folder(tmp_path, **{"items.csv": items, "interactions.parquet": touched})
    found = error_of(path)
    assert "interactions.parquet, row 5: the id in column 'user_id' is empty" in found


def test_fields_that_are_neither_lists_nor_years_are_text(tmp_path: Path) -> None:
    row = {"item_id": "a", "price": 12.0, "new": True, "size": {"cm": 3}, "no": None, "tags": []}
    path = folder(tmp_path, **{"items.jsonl": lines([row, {"item_id": "b", "more": "é"}])})
    fields = opened(path).catalog.fields
    assert [fields[name][0] for name in ("price", "new", "size", "no", "tags", "more")] == [
        "12", "true", '{"cm": 3}', "", (), "",
    ]  # fmt: skip
    assert fields["more"][1] == "é"


def test_years_and_lists_are_told_by_what_they_hold(tmp_path: Path) -> None:
    text = "item_id,year,tags,note\na,c. 1900,red,x|y\nb,1900,blue|tall,\n"
    fields = opened(folder(tmp_path, **{"items.csv": text})).catalog.fields
    assert fields["year"] == ("c. 1900", 1900)
    assert fields["tags"] == (("red",), ("blue", "tall"))
    assert fields["note"] == ("x|y", "")


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_the_header_tells_the_separator(separator: str, tmp_path: Path) -> None:
    items = f"item_id{separator}title\n1{separator}A, b\n"
    touched = f"user_id{separator}item_id\nu{separator}1\n"
    path = folder(tmp_path, **{"items.csv": items, "interactions.tsv": touched})
    data = opened(path)
    assert (data.catalog.column("title"), data.counts.tolist()) == (("A, b",), [1])


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_the_header_may_be_quoted_whatever_the_separator(separator: str, tmp_path: Path) -> None:
    items = f'"item_id"{separator}"title"\n"1"{separator}"A"\n'
    touched = f'"user_id"{separator}"item_id"\n"u"{separator}"1"\n'
    path = folder(tmp_path, **{"items.csv": items, "interactions.csv": touched})
    data = opened(path)
    assert (data.catalog.column("title"), data.counts.tolist()) == (("A",), [1])


def test_a_separator_inside_a_quoted_name_of_a_column_is_none(tmp_path: Path) -> None:
    path = folder(tmp_path, **{"items.csv": 'item_id,"a;b;c"\n1,x\n'})
    assert list(opened(path).catalog.fields) == ["a;b;c"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_another_encoding_is_read_where_it_is_named(encoding: str, tmp_path: Path) -> None:
    both = {
        "items.csv": "item_id,title\né,Café\n".encode(encoding),
        "interactions.csv": "user_id,item_id\nu,é\n".encode(encoding),
    }
    data = opened(folder(tmp_path, **both), encoding=encoding)
    assert (data.catalog.column("title"), data.counts.tolist()) == (("Café",), [1])


def test_an_encoding_that_is_not_named_is_an_error_that_says_how(tmp_path: Path) -> None:
    path = folder(tmp_path, **{"items.csv": "item_id,title\na,b\né,Café\n".encode("latin-1")})
    assert error_of(path).endswith(
        "items.csv, line 3: is not UTF-8 (byte 0xe9); save the file as that, or name its "
        "encoding with --encoding"
    )
    assert "line 3: is not ASCII" in error_of(path, encoding="ascii")
    (path / "items.csv").write_bytes("item_id\né\n".encode("utf-16"))
    assert "read it with --encoding utf-16" in error_of(path)
    for odd in ("klingon", "base64"):
        with pytest.raises(DatasetError, match=f"unknown encoding '{odd}'"):
            ReadOptions(encoding=odd)


def test_a_catalog_alone_can_be_opened_and_says_what_evaluating_needs(tmp_path: Path) -> None:
    data = opened(folder(tmp_path, **{"items.csv": ITEMS_CSV}))
    assert (data.counts.tolist(), data.n_users, data.n_rated) == ([0, 0, 0], 0, 0)
    with pytest.raises(DatasetError, match=r"good says nothing of who touched what.*add inter"):
        data.interactions()
    with pytest.raises(DatasetError, match="who touched what"):
        data.require_interactions()


def test_unknown_items_are_left_out_and_told(tmp_path: Path) -> None:
    touched = INTERACTIONS_CSV + "ann,zz,5,1\n"
    data = opened(folder(tmp_path, **{"items.csv": ITEMS_CSV, "interactions.csv": touched}))
    [note] = data.notes
    assert note.endswith(
        "1 of 5 interactions are left out, since the catalog does not have their items "
        "('zz' for one)"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x.csv": "a"}, "holds no data set; expected items.csv, .jsonl or .parquet and inter"),
        ({"movies.csv": "a"}, "has no ratings.csv; a MovieLens data set needs it"),
        ({"interactions.csv": INTERACTIONS_CSV}, "holds no data set; expected items.csv"),
        ({"items.csv": ITEMS_CSV, "items.jsonl": lines(ITEMS)}, "items.jsonl; expected one of"),
        ({"items.csv": ""}, "items.csv is empty; expected a line that names the columns"),
        ({"items.csv": "item_id,title\n"}, "items.csv holds no items"),
        ({"items.jsonl": ""}, "items.jsonl is empty; expected one JSON object per line"),
        ({"items.csv": "item_id,t\n1,a\n2,b\n1,c\n"}, "line 4: item id '1' repeats line 2"),
        ({"items.csv": "item_id,t\n1,a\n ,b\n"}, "line 3: the id in column 'item_id' is empty"),
        ({"items.csv": "item_id,t,t\n1,a,b\n"}, "has more than one column 't'"),
        ({"items.csv": "item_id,t\n1,a,b\n"}, "line 2: expected 2 fields separated by ','"),
        ({"items.csv": b"PK\x03\x04 and so on"}, "is a zip or an Excel file"),
        ({"items.csv": gzip.compress(b"item_id\n1\n")}, "is gzipped; give it a name that ends"),
        ({"items.csv": parquet([])}, "is a Parquet file; give it a name that ends"),
        ({"items.csv": b"\x89PNG\r\n\x1a\n\0\0"}, "line 1: is not UTF-8"),
        ({"items.csv.gz": b"item_id\n1\n"}, "items.csv.gz: Not a gzipped file"),
        ({"items.parquet": ITEMS_CSV}, "cannot read"),
        ({"items.jsonl": '[{"item_id": 1}]\n'}, "line 1: expected a JSON object, got an array"),
        ({"items.jsonl": '{"item_id": [1]}\n'}, "expected text or a number, got [1] in column"),
        ({"items.csv": ITEMS_CSV, "interactions.csv": ""}, "interactions.csv is empty"),
        ({"items.csv": ITEMS_CSV, "interactions.csv": "user_id,item_id\n"}, "no interaction: it"),
        ({"items.csv": ITEMS_CSV, "interactions.csv": "user_id,item_id\nu,9\n"}, "'9' for one"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line(
    given: dict[str, bytes | str], message: str, tmp_path: Path
) -> None:
    assert message in error_of(folder(tmp_path, **given))


def test_a_file_in_place_of_its_folder_is_an_error(tmp_path: Path) -> None:
    path = folder(tmp_path, **{"items.csv": ITEMS_CSV})
    assert error_of(path / "items.csv").endswith("is a file; expected the folder that holds it")
    assert "does not exist" not in error_of(tmp_path / "none")


def test_movielens_comes_before_an_own_data_set_in_the_same_folder(tmp_path: Path) -> None:
    path = copy(CSV, tmp_path)
    (path / "items.csv").write_text(ITEMS_CSV)
    assert len(opened(path)) == 5
    (path / "ratings.csv").unlink()
    assert len(opened(path)) == 3


def test_a_description_may_be_longer_than_the_csv_module_allows_of_itself(tmp_path):
    (tmp_path / "items.csv").write_text(f"item_id,description\na,{'z' * 300_000}\nb,y\n")
    (tmp_path / "interactions.csv").write_text("user_id,item_id\nann,a\nann,b\n")
    catalog = open_dataset(str(tmp_path)).catalog
    assert [len(catalog.text(row, "description")) for row in (0, 1)] == [300_000, 1]
