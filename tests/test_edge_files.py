"""The folder of an embedded store: what is not recdemo's, what is broken, and full disks."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recdemo.errors import StoreError
from recdemo.store import Batch
from recdemo.store.edge import EdgeStore
from recdemo.store.edge_faults import engine_errors
from tests.stores import LINE, NEAREST, POINTS, ROWS, build_line, left_in, nearest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "collections"


@pytest.fixture
def built(folder: Path) -> Path:
    return build_line(folder)


def edit_info(built: Path, **changes: object) -> None:
    path = built / "collection.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_an_incomplete_collection_is_built_anew(built: Path) -> None:
    folder, store = built.parent, EdgeStore(built.parent)
    edit_info(built, complete=False)
    assert [info.complete for info in store.collections()] == [False]
    assert store.status(LINE.name).state == "incomplete"
    with pytest.raises(StoreError, match="incomplete"):
        store.neighbors(LINE.name, ROWS, 1)
    store.build(LINE, POINTS)
    assert nearest(folder) == NEAREST
    (built / "collection.json").unlink()
    store.build(LINE, POINTS)
    assert nearest(folder) == NEAREST


def foreign_file(path: Path) -> None:
    path.mkdir()
    (path / "letters.txt").write_text("dear")


def foreign_json(path: Path) -> None:
    path.mkdir()
    (path / "collection.json").write_text('{"vectors": {"size": 32}}')


def foreign_broken_json(path: Path) -> None:
    path.mkdir()
    (path / "collection.json").write_text("{")


def plain_file(path: Path) -> None:
    path.write_text("dear")


@pytest.mark.parametrize("make", [foreign_file, foreign_json, foreign_broken_json, plain_file])
def test_a_folder_that_is_not_ours_is_never_touched(
    folder: Path, make: Callable[[Path], None]
) -> None:
    folder.mkdir()
    path, store = folder / LINE.name, EdgeStore(folder)
    make(path)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    with pytest.raises(StoreError, match="not a collection of recdemo") as error:
        store.build(LINE, POINTS)
    assert str(path) in str(error.value)
    with pytest.raises(StoreError, match="not a collection of recdemo"):
        store.delete(LINE.name)
    with pytest.raises(StoreError, match="not a collection of recdemo"):
        store.neighbors(LINE.name, ROWS, 1)
    assert store.collections() == []
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_a_collection_of_a_newer_recdemo_is_left_alone(built: Path) -> None:
    store = EdgeStore(built.parent)
    edit_info(built, format=2, unheard_of=True)
    for use in (
        lambda: store.neighbors(LINE.name, ROWS, 1),
        lambda: store.build(LINE, POINTS),
        lambda: store.delete(LINE.name),
    ):
        with pytest.raises(StoreError, match="made by a newer recdemo"):
            use()
    assert store.collections() == []
    assert (built / "vectors.npy").exists()


def cut(pattern: str, share: float = 0.5) -> Callable[[Path], None]:
    def damage(built: Path) -> None:
        (path,) = built.rglob(pattern)
        os.truncate(path, int(path.stat().st_size * share))

    return damage


def remove(pattern: str) -> Callable[[Path], None]:
    def damage(built: Path) -> None:
        (path,) = built.rglob(pattern)
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


def overwrite(pattern: str, content: bytes) -> Callable[[Path], None]:
    def damage(built: Path) -> None:
        (path,) = built.rglob(pattern)
        path.write_bytes(content)

    return damage


DAMAGES = {
    "no shard": remove("shard"),
    "empty shard": remove("segments"),
    "no segment.json": remove("segment.json"),
    "no version": remove("version.info"),
    "no vectors of the engine": remove("chunk_0.mmap"),
    "engine's vectors cut to nothing": cut("chunk_0.mmap", 0),
    "engine's ids cut": cut("mutable_id_tracker.mappings"),
    "engine's state cut": cut("vectors/status.dat"),
    "engine's config cut": cut("edge_config.json"),
    "vectors cut": cut("vectors.npy"),
    "vectors empty": cut("vectors.npy", 0),
    "vectors of something else": overwrite("vectors.npy", b"hello"),
    "no vectors": remove("vectors.npy"),
    "rows cut": cut("rows.npy", 0.9),
    "no rows": remove("rows.npy"),
    "info cut": cut("collection.json"),
    "info not text": overwrite("collection.json", b"\xff\xfe\x00"),
    "count of something else": lambda built: edit_info(built, count=2),
    "a field missing": overwrite("collection.json", b'{"format": 1, "fingerprint": "a"}'),
    "a field of another type": lambda built: edit_info(built, dimension="2"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_collection_is_one_line_and_can_be_deleted(
    built: Path, damage: Callable[[Path], None], capfd: pytest.CaptureFixture[str]
) -> None:
    damage(built)
    with pytest.raises(StoreError, match="is damaged; remove it with") as error:
        nearest(built.parent)
    assert str(built) in str(error.value)
    assert "\n" not in str(error.value)
    EdgeStore(built.parent).delete(LINE.name)
    EdgeStore(built.parent).build(LINE, POINTS)
    assert nearest(built.parent) == NEAREST


def test_a_renamed_folder_goes_by_its_new_name(built: Path) -> None:
    built.rename(built.with_name("renamed"))
    assert [info.name for info in EdgeStore(built.parent).collections()] == ["renamed"]


def test_an_unknown_error_of_the_engine_keeps_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="something new") as error, engine_errors(tmp_path):
        raise Exception("something new")
    assert type(error.value) is Exception


def test_what_is_not_the_collections_fault_is_not_called_damage(tmp_path: Path) -> None:
    full = "Service runtime error: IO Error: No space left on device (os error 28)"
    with (
        pytest.raises(StoreError, match="No space left") as error,
        engine_errors(tmp_path, reading=True),
    ):
        raise Exception(full)
    assert "damaged" not in str(error.value)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="set RECDEMO_HOME"):
        EdgeStore(tmp_path / "file" / "collections").build(LINE, POINTS)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_folder_without_rights_is_one_line(folder: Path) -> None:
    folder.mkdir(mode=0o500)
    with pytest.raises(StoreError, match="permission denied"):
        EdgeStore(folder).build(LINE, POINTS)


def test_a_disk_without_room_is_found_out_before_anything_is_embedded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine writes to memory-mapped files; a full disk would end the process."""
    nearly_full = type(shutil.disk_usage("."))(10**9, 10**9, 3 * 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: nearly_full)
    asked = []

    def embedding() -> Iterator[Batch]:
        asked.append("for vectors")
        yield from POINTS

    with pytest.raises(StoreError, match="needs 64 MB and 3 MB are free"):
        EdgeStore(folder).build(LINE, embedding())
    assert asked == []
    assert left_in(folder) == []


def test_nothing_but_the_collection_and_its_locks_is_left_after_use(built: Path) -> None:
    nearest(built.parent)
    assert left_in(built.parent) == [LINE.name]
    assert left_in(built) == ["collection.json", "rows.npy", "shard", "vectors.npy"]
