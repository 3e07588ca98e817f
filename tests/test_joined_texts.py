import gzip
import json
from pathlib import Path

import pytest

from recdemo.dataset.catalog import Catalog
from recdemo.dataset.options import ReadOptions
from recdemo.errors import DatasetError
from recdemo.texts import Texts, fill, portable, text_names
from tests import tiny

ANIMALS = tiny.catalog(title=["Ant", "Bee", "Cat"])  # i0, i1, i2
CSV = 'item_id,text\ni2,"A cat, it purrs."\ni0,An ant.\ni1,A bee.\n'


def joined(path: Path, data: str | bytes, **options: str) -> Texts:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return fill(ANIMALS, str(path), ReadOptions(**options))  # type: ignore[arg-type]


def test_texts_are_joined_by_item_id_whatever_their_order(tmp_path: Path) -> None:
    texts = joined(tmp_path / "mine.csv", CSV)
    assert texts.values == ("An ant.", "A bee.", "A cat, it purrs.")
    assert (texts.name, texts.unknown, texts.notes) == ("mine", (), ())
    filled = fill(tiny.catalog(t=["An ant.", "A bee.", "A cat, it purrs."]), "{t}")
    assert texts.hash == filled.hash  # so equal texts share their vectors


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".csv.gz"])
def test_json_lines_and_gzips_are_joined_too(ending: str, tmp_path: Path) -> None:
    rows = [{"item_id": f"i{i}", "text": f"Text {i}", "note": None} for i in range(3)]
    text = CSV if "csv" in ending else "".join(json.dumps(row) + "\n" for row in rows)
    data = gzip.compress(text.encode()) if ending.endswith(".gz") else text
    texts = joined(tmp_path / f"my.own{ending}", data)
    assert texts.values[0] == ("An ant." if "csv" in ending else "Text 0")
    assert texts.name == "my.own"


def test_texts_of_unknown_items_are_left_out_and_told(tmp_path: Path) -> None:
    texts = joined(tmp_path / "mine.csv", CSV + "zz,A zebu\nyy,A yak\n")
    assert texts.unknown == ("zz", "yy")
    assert texts.notes == (
        "2 texts of 'mine' are left out, since the catalog does not have their items "
        "(item_id zz, yy)",
    )
    assert texts.hash == joined(tmp_path / "mine.csv", CSV).hash


def test_items_without_a_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    with pytest.raises(DatasetError) as error:
        joined(path, 'item_id,text\ni1,A bee.\ni2," "\n')
    assert str(error.value) == (
        f"{path} has no text for 2 of 3 items (item_id i0, i2); add them, or use --on-empty skip"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (CSV + "i0,Again\n", "mine.csv, line 5: item id 'i0' repeats line 3"),
        ("item_id,txt\ni0,a\n", "has no column 'text'; its columns are 'item_id', 'txt'; a file"),
        ("id,text\ni0,a\n", "has no column 'item_id'; its columns are 'id', 'text'; a file of"),
        ("item_id,text\n0,a\n1,b\n", "has texts of other items: its ids are 0, 1, those of tiny"),
        ("item_id,text\ni0,a,b\n", "line 2: expected 2 fields separated by ',', got 3"),
        ("", "mine.csv is empty"),
        (b"item_id,text\ni0,\xe9\n", "line 2: is not UTF-8"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_joined_is_one_line(
    data: str | bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DatasetError) as error:
        joined(tmp_path / "mine.csv", data)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"none\.csv does not exist"):
        fill(ANIMALS, str(tmp_path / "none.csv"))


def test_the_id_may_be_called_as_in_the_items_and_the_encoding_is_theirs(tmp_path: Path) -> None:
    data = "asin\ttext\ni0\té\ni1\tb\ni2\tc\n".encode("latin-1")
    texts = joined(tmp_path / "mine.csv", data, item_id="asin", encoding="latin-1")
    assert texts.values == ("é", "b", "c")
    assert joined(tmp_path / "mine.csv", CSV, item_id="asin").values[0] == "An ant."


def test_files_and_names_can_be_asked_for_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a, b.csv").write_text(CSV)
    assert text_names("card, mine.csv,other.jsonl", ANIMALS) == ["card", "mine.csv", "other.jsonl"]
    assert text_names("a, b.csv", ANIMALS) == ["a, b.csv"]  # a file that is there
    assert text_names("{title}.csv", ANIMALS) == ["{title}.csv"]
    with pytest.raises(DatasetError, match="two texts called 'mine'"):
        text_names("mine.csv,x/mine.jsonl", ANIMALS)
    with pytest.raises(DatasetError, match="two texts called 'card'"):
        text_names("card,card.csv", ANIMALS)


def test_a_run_keeps_the_whole_path_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert portable("card,x/mine.csv") == f"card,{tmp_path.resolve()}/x/mine.csv"
    assert portable("{title}.csv") == "{title}.csv"
    assert portable(None) is None


def test_a_field_may_have_blanks_in_its_name() -> None:
    goods = Catalog("shop", ("1",), {"Product Name": ("Mug",), "title": ("x",)})
    assert fill(goods, "{Product Name} ({title})").values == ("Mug (x)",)
