import io
import json
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from recdemo.dataset import bundled, open_dataset
from recdemo.dataset.movielens import open_movielens
from recdemo.dataset.titles import split_title
from recdemo.errors import DatasetError

HERE = Path(__file__).parent / "data"
DAT, CSV = HERE / "tiny-dat", HERE / "tiny-csv"


def zipped(folder: Path, path: Path, top: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, top + file.name)
    return path


def copy(folder: Path, to: Path, **changed: bytes) -> Path:
    """Copy a folder; change or add files, named like ``movies_dat``."""
    target = to / folder.name
    shutil.copytree(folder, target)
    for name, data in changed.items():
        (target / name.replace("_", ".")).write_bytes(data)
    return target


def real(name: str) -> Path:
    folder = os.environ.get("RECDEMO_TEST_DATA")
    if not folder:
        pytest.skip("RECDEMO_TEST_DATA names no folder with the real MovieLens files")
    return Path(folder) / name


@pytest.mark.parametrize(
    ("written", "title", "year"),
    [
        ("Matrix, The (1999)", "The Matrix", 1999),
        (
            "City of Lost Children, The (Cité des enfants perdus, La) (1995)",
            "The City of Lost Children (La Cité des enfants perdus)",
            1995,
        ),
        (
            "Star Maker, The (Uomo delle stelle, L') (1995)",
            "The Star Maker (L'Uomo delle stelle)",
            1995,
        ),
        ("Associate, The (L'Associe)(1982)", "The Associate (L'Associe)", 1982),
        ("Slingshot, The (Kådisbellan ) (1993)", "The Slingshot (Kådisbellan)", 1993),
        ("Wonderful, Horrible Life, A (1993) ", "A Wonderful, Horrible Life", 1993),
        ("Brink (a.k.a. Last Brink, The) (1990)", "Brink (a.k.a. The Last Brink)", 1990),
        ("Blind Side, The  (2009)", "The Blind Side", 2009),
        ("Love, etc. (1996)", "Love, etc.", 1996),
        ("Paris, Texas (1984)", "Paris, Texas", 1984),
        ("Note: Dawn (2006–2007)", "Note: Dawn", 2006),  # noqa: RUF001 - as in the file
        ("Note: Dusk (2006-)", "Note: Dusk", 2006),
        ("(500) Days (2009)", "(500) Days", 2009),
        ("Babylon 5", "Babylon 5", None),
        ("2001", "2001", None),
        ("", "", None),
    ],
)
def test_titles_read_as_people_say_them(written: str, title: str, year: int | None) -> None:
    assert split_title(written) == (title, year)


def test_a_dat_folder_is_latin_1_has_gaps_in_its_ids_and_one_unrated_movie() -> None:
    data = open_movielens(DAT)
    assert data.name == "tiny-dat"
    assert data.catalog.item_ids == ("1", "3", "7", "91", "5000")
    assert list(data.catalog.fields)[:3] == ["title", "year", "genres"]
    assert data.catalog.column("title") == (
        "The Lantern Keepers",
        "Les Éclairs perdus (Lost Flashes)",
        'Owls: A Study in "Blue"',
        "The Associate of Nobody (L'Ami)",
        "A Sea (La Mer)",
    )
    assert data.catalog.column("year") == (1931, 1950, 2001, 1982, 1999)
    assert data.catalog.column("genres")[0] == ("Drama", "Mystery")
    assert data.counts.tolist() == [4, 3, 2, 1, 0]
    assert (data.n_users, data.n_interactions) == (6, 10)
    assert data.truth_file is None


def test_movies_of_a_dat_folder_get_their_bundled_synopses_by_id() -> None:
    data = open_movielens(DAT)
    known = bundled.open_bundled().catalog
    assert "91" not in known.item_ids  # a gap in the ids of MovieLens 1M
    assert data.catalog.text(0, "synopsis") == known.text(known.item_ids.index("1"), "synopsis")
    assert data.catalog.column("directors")[0] == known.column("directors")[0]
    assert data.catalog.column("synopsis")[3] == ""
    assert data.catalog.column("directors")[3] == ()


def test_the_csv_files_of_later_releases_are_read_too() -> None:
    data = open_movielens(CSV)
    assert list(data.catalog.fields) == ["title", "year", "genres"]
    assert data.catalog.column("title") == (
        "The Lantern Keepers",
        "Les Éclairs perdus (Lost Flashes)",
        'Owls: A Study in "Blue"',
        "Nobody's Associate",
        "A Sea (La Mer)",
    )
    assert data.catalog.column("year") == (1931, 1950, 2001, None, 1999)
    assert data.catalog.column("genres")[3] == ()
    assert data.counts.tolist() == [4, 3, 2, 1, 0]


def test_csv_with_a_byte_order_mark_reads_the_same(tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    folder = copy(
        CSV,
        tmp_path,
        movies_csv=mark + (CSV / "movies.csv").read_bytes(),
        ratings_csv=mark + (CSV / "ratings.csv").read_bytes(),
    )
    assert open_movielens(folder).counts.tolist() == [4, 3, 2, 1, 0]


def test_dat_files_in_utf_8_are_not_mangled(tmp_path: Path) -> None:
    text = (DAT / "movies.dat").read_bytes().decode("latin-1")
    data = open_movielens(copy(DAT, tmp_path, movies_dat=text.encode()))
    assert data.catalog.title(1) == "Les Éclairs perdus (Lost Flashes)"


@pytest.mark.parametrize("folder", [DAT, CSV])
@pytest.mark.parametrize(("top", "name"), [("", "mine"), ("inner/", "inner")])
def test_a_zip_reads_like_its_folder_and_is_named_by_its_top_folder(
    folder: Path, top: str, name: str, tmp_path: Path
) -> None:
    inside, outside = (
        open_movielens(zipped(folder, tmp_path / "mine.zip", top)),
        open_movielens(folder),
    )
    assert inside.name == name
    assert inside.catalog.item_ids == outside.catalog.item_ids
    assert inside.catalog.fields == outside.catalog.fields
    assert np.array_equal(inside.interactions().rows, outside.interactions().rows)
    assert np.array_equal(inside.interactions().users, outside.interactions().users)


def test_only_the_very_items_of_the_bundle_make_it_ml_1m(tmp_path: Path) -> None:
    known = bundled.open_bundled().catalog
    movies = "".join(f"{item_id}::Film (2000)::Drama\n" for item_id in known.item_ids)
    folder = copy(DAT, tmp_path, movies_dat=movies.encode())
    assert open_movielens(folder).name == "ml-1m"
    (folder / "movies.dat").write_text(movies + "99999::Film (2000)::Drama\n")
    assert open_movielens(folder).name == "tiny-dat"


def test_a_title_with_the_letters_of_the_bundled_one_is_spelled_like_it(tmp_path: Path) -> None:
    known = bundled.open_bundled().catalog
    row = known.item_ids.index("1")
    other = known.title(row).replace(" ", ", ")
    line = f"1::{other} (1995)::Drama\n3::Something Else (1995)::Drama\n"
    data = open_movielens(copy(DAT, tmp_path, movies_dat=line.encode()))
    assert data.catalog.column("title") == (known.title(row), "Something Else")


def error_of(path: Path) -> str:
    with pytest.raises(DatasetError) as error:
        open_movielens(path)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_path_that_does_not_exist_or_is_no_data_set_is_an_error(tmp_path: Path) -> None:
    assert error_of(tmp_path / "none.zip").endswith("none.zip does not exist")
    assert "is no MovieLens folder or zip; expected movies.dat" in error_of(tmp_path)
    (tmp_path / "some.txt").write_text("not a zip")
    assert "some.txt: File is not a zip file" in error_of(tmp_path / "some.txt")


@pytest.mark.parametrize("name", ["movies.dat", "ratings.dat"])
def test_a_folder_without_movies_or_ratings_is_an_error(name: str, tmp_path: Path) -> None:
    folder = copy(DAT, tmp_path)
    (folder / name).unlink()
    assert f"has no {name}" in error_of(folder)


def test_two_data_sets_in_one_folder_are_not_guessed_at(tmp_path: Path) -> None:
    copy(DAT, tmp_path / "a")
    shutil.copytree(DAT, tmp_path / "a" / "other")
    assert "holds other/movies.dat and tiny-dat/movies.dat" in error_of(tmp_path / "a")


def test_duplicate_ids_are_an_error_with_both_lines(tmp_path: Path) -> None:
    folder = copy(DAT, tmp_path, movies_dat=b"1::A (2000)::X\n2::B (2000)::X\n1::C (2000)::X\n")
    assert error_of(folder).endswith("movies.dat, line 3: item id '1' repeats line 1")


def test_broken_movies_are_an_error_with_their_line(tmp_path: Path) -> None:
    folder = copy(DAT, tmp_path, movies_dat=b"1::A (2000)::X\n2::B\n")
    assert error_of(folder).endswith(
        "movies.dat, line 2: expected 3 fields separated by '::', got 2: '2::B'"
    )
    (folder / "movies.dat").write_bytes(b"::A (2000)::X\n")
    assert "line 1: the id in column 'MovieID' is empty" in error_of(folder)
    (folder / "movies.dat").write_bytes(b"")
    assert "holds no movies" in error_of(folder)


def test_csv_that_is_not_utf_8_or_lacks_a_column_is_an_error(tmp_path: Path) -> None:
    movies = b"movieId,title,genres\n1,\xe9 (2000),X\n"
    folder = copy(CSV, tmp_path, movies_csv=movies)
    assert "movies.csv, line 2: is not UTF-8 (byte 0xe9)" in error_of(folder)
    (folder / "movies.csv").write_bytes(b"id,title,genres\n1,A,X\n")
    assert "has no column 'movieId'; its columns are 'id', 'title', 'genres'" in error_of(folder)


def test_a_broken_rating_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    folder = copy(DAT, tmp_path, ratings_dat=b"1::1::5::10\n1::3::5\n")
    assert error_of(folder) == (
        f"{folder}/ratings.dat, line 2: expected 4 fields separated by '::', got 3: '1::3::5'"
    )


def test_ratings_of_no_movie_at_all_are_an_error_and_of_some_are_left_out(tmp_path: Path) -> None:
    folder = copy(DAT, tmp_path, ratings_dat=b"1::77::5::10\n")
    assert "the catalog has none of its items, '77' for one" in error_of(folder)
    (folder / "ratings.dat").write_bytes(b"")
    assert "it is empty" in error_of(folder)
    (folder / "ratings.dat").write_bytes(b"1::77::5::10\n1::3::5::10\n")
    assert open_movielens(folder).counts.tolist() == [0, 1, 0, 0, 0]


def test_a_truncated_or_altered_zip_is_an_error(tmp_path: Path) -> None:
    whole = zipped(DAT, tmp_path / "whole.zip").read_bytes()
    broken = tmp_path / "broken.zip"
    broken.write_bytes(whole[:-30])
    assert "is not a zip file" in error_of(broken)
    for place in (60, whole.index(b"ratings.dat") + 20):  # inside the data of each member
        broken.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        assert "cannot read" in error_of(broken)


def test_an_encrypted_zip_is_an_error(tmp_path: Path) -> None:
    data = bytearray(zipped(DAT, tmp_path / "locked.zip").read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # flag bit 0: encrypted
        place = data.index(mark)
        data[place + offset] |= 1
    (tmp_path / "locked.zip").write_bytes(data)
    assert "encrypted" in error_of(tmp_path / "locked.zip")


def test_movielens_1m_equals_the_bundle_in_every_field() -> None:
    data, known = open_dataset(str(real("ml-1m.zip"))), bundled.open_bundled()
    assert data.name == "ml-1m"
    assert data.catalog.item_ids == known.catalog.item_ids
    assert data.catalog.fields == known.catalog.fields
    assert np.array_equal(data.counts, known.counts)
    assert (data.n_users, data.n_interactions) == (6040, 1_000_209)


def test_titles_years_and_genres_of_movielens_1m_are_read_by_rule() -> None:
    """One title has another letter order in the synopses; no rule yields it."""
    with zipfile.ZipFile(real("ml-1m.zip")) as archive:
        lines = io.TextIOWrapper(archive.open("ml-1m/movies.dat"), "latin-1").readlines()
    found = [split_title(line.split("::")[1]) for line in lines]
    synopses = [json.loads(line) for line in real("synopses.jsonl").read_text("utf-8").splitlines()]
    differ = [
        known["movie_id"]
        for (title, year), known in zip(found, synopses, strict=True)
        if (title, year) != (known["title"], known["year"])
    ]
    assert differ == [3182]


def test_latest_small_has_its_published_counts() -> None:
    data = open_dataset(str(real("ml-latest-small.zip")))
    assert data.name == "ml-latest-small"
    assert (len(data), data.n_users, data.n_interactions) == (9742, 610, 100_836)
    years = data.catalog.column("year")
    assert (
        data.catalog.label(data.catalog.item_ids.index("171749")) == "Death Note: Desu nôto (2006)"
    )
    assert years.count(None) == 12
