import os

import pytest

from recdemo.dataset.catalog import Catalog
from recdemo.errors import DatasetError, StoreError
from recdemo.synopses import COLUMNS, Synopsis, SynopsisFile
from tests.describing import FakeChat, animals, rows, run


@pytest.fixture
def path(tmp_path):
    return tmp_path / "texts.csv"


def test_a_cut_last_line_is_dropped_and_its_item_asked_again(path):
    run(animals(), FakeChat(Ant="Digs", Bee="Hums", Cat="Mew, mew"), path)
    whole = path.read_bytes()
    start = whole[:-1].rfind(b"\n") + 1
    for cut in range(start + 1, whole.rfind(b",") + 1):
        path.write_bytes(whole[:cut])
        chat = FakeChat(Cat="Mew, mew")
        run(animals(), chat, path)
        assert chat.prompts == ["What is Cat?"]
        assert rows(path) == [("i0", "Digs"), ("i1", "Hums"), ("i2", "Mew, mew")]


def test_a_cut_in_the_middle_of_a_character_is_mended(path):
    run(animals("Ant"), FakeChat(Ant="é"), path)
    path.write_bytes(path.read_bytes() + "i1,é".encode()[:-1])
    run(animals("Ant", "Bee"), FakeChat(Bee="ü"), path)
    assert rows(path) == [("i0", "é"), ("i1", "ü")]


def test_a_last_line_that_only_lacks_its_line_break_is_kept(path):
    run(animals("Ant"), FakeChat(Ant="Digs"), path)
    path.write_bytes(path.read_bytes()[:-1])
    run(animals("Ant", "Bee"), FakeChat(Bee="Hums"), path)
    assert rows(path) == [("i0", "Digs"), ("i1", "Hums")]


def test_a_file_that_a_spreadsheet_saved_is_read(path):
    text = ",".join(COLUMNS) + '\r\ni0,"Two\r\nlines",me,,\r\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    chat = FakeChat(Bee="Hums")
    run(animals("Ant", "Bee"), chat, path)
    assert rows(path) == [("i0", "Two\r\nlines"), ("i1", "Hums")]


def test_repeated_and_emptied_rows_are_mended(path):
    lines = [",".join(COLUMNS), "i0,first,m,h,t", "i0,second,m,h,t", "i1,,m,h,t", ""]
    path.write_text("\n".join(lines))
    run(animals("Ant", "Bee"), FakeChat(Bee="Hums"), path)
    assert rows(path) == [("i0", "first"), ("i1", "Hums")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"item_id,text\ni0,Digs\n", "was not written by this command"),
        (b"just a note", "was not written by this command"),
        (b"\xff\xfe\n", "is not UTF-8"),
        (b"item_id,text,model,prompt_hash,created\ni0,Digs\n", "row 2: 2 fields, expected 5"),
        (b'item_id,text,model,prompt_hash,created\ni0,"Digs\n', "cannot be read as CSV"),
    ],
)
def test_a_file_of_another_kind_is_left_as_it_is(path, content, message):
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        SynopsisFile(path)
    assert path.read_bytes() == content


def test_a_file_of_another_catalog_is_left_as_it_is(path):
    run(animals(), FakeChat(Ant="a", Bee="b", Cat="c"), path)
    others = Catalog("tiny", ("x",), {"title": ("Dog",)})
    with pytest.raises(DatasetError, match="has texts of other items than tiny"):
        run(others, FakeChat(), path)


def test_another_ending_is_refused_before_anything_is_asked(tmp_path):
    with pytest.raises(DatasetError, match=r"a name that ends in \.csv"):
        SynopsisFile(tmp_path / "texts.txt")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line(path):
    run(animals("Ant"), FakeChat(Ant="Digs"), path)
    with SynopsisFile(path) as file:
        file.path = type(path)("/dev/full")
        with pytest.raises(StoreError, match="No space left on device; the texts in it are kept"):
            file.append([Synopsis("i1", "Hums", "m", "h", "t")])
