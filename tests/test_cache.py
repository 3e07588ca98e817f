import dataclasses
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recdemo.embedding import cache_file
from recdemo.embedding.cache import CUT, Cache, ModelKey, text_digest
from recdemo.errors import EmbeddingError, StoreError

KEY = ModelKey("openai", "small", "", None, "")
TEXTS = [text_digest(f"text {i}") for i in range(300)]
VECTORS = np.random.default_rng(0).standard_normal((300, 16), np.float32)


def open_at(folder: Path, notices: list[str] | None = None) -> Cache:
    return Cache(folder / "embeddings.sqlite", (notices if notices is not None else []).append)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder with a cache of 300 vectors, closed."""
    with open_at(tmp_path) as cache:
        cache.write(KEY, TEXTS, VECTORS)
    return tmp_path


def check_all_served_is_right(cache: Cache, at_least: int) -> int:
    found = cache.read(KEY, TEXTS)
    assert len(found.positions) == len(set(found.positions.tolist()))
    assert len(found.positions) >= at_least
    assert np.array_equal(found.vectors, VECTORS[found.positions].reshape(found.vectors.shape))
    return len(found.positions)


def test_what_was_written_comes_back_and_nothing_else(tmp_path: Path) -> None:
    with open_at(tmp_path) as cache:
        cache.write(KEY, TEXTS[:2], VECTORS[:2])
        cache.write(KEY, TEXTS[1:3], VECTORS[1:3])
    with open_at(tmp_path) as cache:
        found = cache.read(KEY, [TEXTS[7], TEXTS[2], TEXTS[0]])
        assert sorted(found.positions.tolist()) == [1, 2]
        assert np.array_equal(found.vectors, VECTORS[[2, 0]][np.argsort(found.positions) - 0])
        assert cache.has(KEY, TEXTS[:9]) == set(TEXTS[:3])
        assert cache.length(KEY) == 16


@pytest.mark.parametrize(
    "change",
    [
        {"provider": "dashscope"},
        {"name": "large"},
        {"revision": "http://localhost:1/v1"},
        {"dimension": 16},
        {"prefix": "clustering: "},
        {"rule": CUT},
    ],
)
def test_a_vector_belongs_to_all_that_it_depends_on(filled: Path, change: dict[str, Any]) -> None:
    other = dataclasses.replace(KEY, **change)
    with open_at(filled) as cache:
        assert len(cache.read(other, TEXTS).positions) == 0
        assert cache.has(other, TEXTS) == set()
        assert cache.length(other) is None
        cache.write(other, TEXTS[:1], VECTORS[5:6])
        assert np.array_equal(cache.read(other, TEXTS).vectors, VECTORS[5:6])
        assert check_all_served_is_right(cache, 300)


def test_one_letter_of_one_text_is_another_text(tmp_path: Path) -> None:
    before, after = ([text_digest(t) for t in ("a", "b", last)] for last in ("c", "d"))
    with open_at(tmp_path) as cache:
        cache.write(KEY, before, VECTORS[:3])
        assert set(after) - cache.has(KEY, after) == {text_digest("d")}


def test_half_a_surrogate_pair_has_a_digest_of_its_own() -> None:
    assert text_digest("\ud83d") != text_digest("\ud83e")


def test_another_length_than_before_is_refused(filled: Path) -> None:
    with open_at(filled) as cache:
        with pytest.raises(EmbeddingError, match=r"of 8 numbers, and of 16 before"):
            cache.write(KEY, [text_digest("new")], np.ones((1, 8), np.float32))
        assert cache.has(KEY, [text_digest("new")]) == set()


def test_the_newest_revision_comes_first(tmp_path: Path) -> None:
    with open_at(tmp_path) as cache:
        for revision in ("aaa", "bbb"):
            key = dataclasses.replace(KEY, revision=revision)
            cache.write(key, TEXTS[:1], VECTORS[:1])
        assert cache.revisions(KEY) == ["bbb", "aaa"]


@pytest.mark.parametrize("seed", range(6))
def test_no_altered_vector_is_ever_served_whatever_byte_is_flipped(
    filled: Path, seed: int, tmp_path: Path
) -> None:
    path = filled / "embeddings.sqlite"
    whole = path.read_bytes()
    chosen = random.Random(seed)
    for _ in range(25):
        place = chosen.randrange(len(whole) if chosen.random() < 0.8 else 300)
        flipped = bytes([whole[place] ^ (1 << chosen.randrange(8))])
        path.write_bytes(whole[:place] + flipped + whole[place + 1 :])
        # refused where the byte is in the header: its version, or its encoding of text
        with suppress(StoreError), open_at(filled) as cache:
            check_all_served_is_right(cache, 0)
            cache.write(KEY, TEXTS, VECTORS)
            check_all_served_is_right(cache, 300)
        for left in filled.glob("embeddings*"):
            left.unlink()


def test_a_file_cut_short_is_set_aside_and_what_is_good_of_it_kept(filled: Path) -> None:
    path = filled / "embeddings.sqlite"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20_000])  # more than a page
    notices: list[str] = []
    with open_at(filled, notices) as cache:
        served = check_all_served_is_right(cache, 50)
        assert served < 300
        cache.write(KEY, TEXTS, VECTORS)
        check_all_served_is_right(cache, 300)
    [aside] = filled.glob("embeddings.damaged-*.sqlite")
    assert len(notices) == 1
    assert f"set aside as {aside.name}; {served} vectors could be read" in notices[0]


def test_three_thousand_bytes_less_at_the_end_lose_no_vector_silently(filled: Path) -> None:
    path = filled / "embeddings.sqlite"
    path.write_bytes(path.read_bytes()[:-3000])
    notices: list[str] = []
    with open_at(filled, notices) as cache:
        served = check_all_served_is_right(cache, 0)
    assert notices or served == 300


def test_a_vector_altered_on_disk_is_dropped_counted_and_written_anew(filled: Path) -> None:
    path = filled / "embeddings.sqlite"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(VECTORS[7].tobytes(), VECTORS[8].tobytes()))
    notices: list[str] = []
    with open_at(filled, notices) as cache:
        assert check_all_served_is_right(cache, 299) == 299
        assert check_all_served_is_right(cache, 299) == 299
        cache.write(KEY, TEXTS, VECTORS)
        check_all_served_is_right(cache, 300)
    assert len(notices) == 1
    assert "1 of 300 vectors of openai:small" in notices[0]


def test_what_is_no_database_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "embeddings.sqlite").write_bytes(b"not a database" * 100)
    notices: list[str] = []
    with open_at(tmp_path, notices) as cache:
        cache.write(KEY, TEXTS, VECTORS)
        check_all_served_is_right(cache, 300)
    [aside] = tmp_path.glob("embeddings.damaged-*")
    assert aside.read_bytes() == b"not a database" * 100
    assert len(notices) == 1


def test_damage_found_while_writing_is_set_aside_too(filled: Path) -> None:
    notices: list[str] = []
    with open_at(filled, notices) as cache:
        (filled / "embeddings.sqlite").write_bytes(b"x" * 200_000)
        cache.write(KEY, TEXTS, VECTORS)
        check_all_served_is_right(cache, 300)
    assert len(notices) == 1


def test_a_cache_of_a_newer_recdemo_is_left_alone(filled: Path) -> None:
    path = filled / "embeddings.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {cache_file.VERSION + 1}")
    connection.close()
    whole = path.read_bytes()
    with pytest.raises(StoreError, match="written by a newer recdemo; update recdemo"):
        open_at(filled)
    assert path.read_bytes() == whole


def test_a_database_of_others_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "embeddings.sqlite")
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with pytest.raises(StoreError, match="is not a cache of recdemo"):
        open_at(tmp_path)
    assert [path.name for path in tmp_path.glob("embeddings.damaged-*")] == []


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot use the cache .*; set RECDEMO_HOME"):
        open_at(tmp_path / "home")


def test_a_full_disk_is_one_line_and_what_was_written_stays(filled: Path) -> None:
    more = [text_digest(f"more {i}") for i in range(5000)]
    vectors = np.ones((5000, 16), np.float32)
    with open_at(filled) as cache:
        cache.attempt(lambda connection: connection.execute("PRAGMA max_page_count = 6").fetchall())
        with pytest.raises(StoreError, match=r"no room for embeddings in .*full"):
            cache.write(KEY, more, vectors)
        assert cache.has(KEY, more) == set()
        check_all_served_is_right(cache, 300)


def test_a_file_that_another_process_holds_for_good_is_one_line(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_file, "PATIENCE", 0.05)
    holder = sqlite3.connect(filled / "embeddings.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with open_at(filled) as cache:
        check_all_served_is_right(cache, 300)  # reading goes on
        with pytest.raises(StoreError, match="another process has held the cache"):
            cache.write(KEY, [text_digest("new")], VECTORS[:1])
    holder.close()


def test_several_who_write_at_once_lose_nothing(tmp_path: Path) -> None:
    def fill() -> None:
        with open_at(tmp_path) as cache:
            for start in range(0, 300, 10):
                cache.write(KEY, TEXTS[start : start + 10], VECTORS[start : start + 10])
                check_all_served_is_right(cache, 10)

    threads = [threading.Thread(target=fill) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_at(tmp_path) as cache:
        check_all_served_is_right(cache, 300)


WRITER = """
import sys
from pathlib import Path
from tests.test_cache import KEY, TEXTS, VECTORS, open_at
with open_at(Path(sys.argv[1])) as cache:
    for start in range(0, 300, 30):
        cache.write(KEY, TEXTS[start : start + 30], VECTORS[start : start + 30])
        print(start + 30, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("batches", [0, 1, 4, 9])
def test_a_kill_loses_at_most_the_batch_under_way(tmp_path: Path, batches: int) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=os.getcwd(),
    )  # fmt: skip
    assert writer.stdout is not None
    for _ in range(batches):
        writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    notices: list[str] = []
    with open_at(tmp_path, notices) as cache:
        kept = check_all_served_is_right(cache, 30 * batches)
        assert kept % 30 == 0
        cache.write(KEY, TEXTS, VECTORS)
        check_all_served_is_right(cache, 300)
    assert notices == []
