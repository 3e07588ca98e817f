from pathlib import Path

import numpy as np
import pytest

from recdemo.embedding import exchange
from recdemo.embedding.cache import Cache, ModelKey, text_digest
from recdemo.embedding.exchange import Imported
from recdemo.errors import StoreError

KEYS = (ModelKey("ollama", "a", "aaa", None, "p: "), ModelKey("dashscope", "b", "", 4, "", "cut"))
TEXTS = [text_digest(f"text {i}") for i in range(10)]
VECTORS = np.random.default_rng(0).standard_normal((10, 4), np.float32)
ENDINGS = pytest.mark.parametrize("ending", [".npz", ".parquet"])


def filled(path: Path) -> Cache:
    cache = Cache(path)
    for key in KEYS:
        cache.write(key, TEXTS, VECTORS)
    return cache


@ENDINGS
def test_what_is_exported_in_parts_is_imported_with_all_it_depends_on(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "PART", 3)
    file = tmp_path / f"out{ending}"
    with filled(tmp_path / "mine") as mine, Cache(tmp_path / "yours") as yours:
        yours.write(KEYS[0], TEXTS[:4], VECTORS[:4])
        assert exchange.export(mine, file) == 20
        assert exchange.import_from(yours, file) == Imported(added=16, known=4, damaged=0)
        for key in KEYS:
            found = yours.read(key, TEXTS)
            assert np.array_equal(found.vectors, VECTORS[found.positions])
            assert len(found.positions) == 10
    assert list(tmp_path.glob("*.part")) == []


@ENDINGS
def test_only_one_model_may_be_exported(tmp_path: Path, ending: str) -> None:
    with filled(tmp_path / "mine") as mine, Cache(tmp_path / "yours") as yours:
        assert exchange.export(mine, tmp_path / f"out{ending}", "ollama:a") == 10
        exchange.import_from(yours, tmp_path / f"out{ending}")
        assert len(yours.has(KEYS[0], TEXTS)) == 10
        assert yours.has(KEYS[1], TEXTS) == set()
        with pytest.raises(StoreError, match="nothing of ollama:b to export"):
            exchange.export(mine, tmp_path / f"out{ending}", "ollama:b")


def test_vectors_that_were_altered_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "out.npz"
    with filled(tmp_path / "mine") as mine, Cache(tmp_path / "yours") as yours:
        exchange.export(mine, file, "ollama:a")
        with np.load(file) as arrays:
            changed = dict(arrays)
        changed["vectors.0"][3, 1] += 1e-6
        np.savez(file, **changed)
        assert exchange.import_from(yours, file) == Imported(added=9, known=0, damaged=1)
        assert len(yours.has(KEYS[0], TEXTS)) == 9


def test_a_vector_cannot_be_passed_off_as_that_of_another_model(tmp_path: Path) -> None:
    file = tmp_path / "out.npz"
    with filled(tmp_path / "mine") as mine, Cache(tmp_path / "yours") as yours:
        exchange.export(mine, file, "ollama:a")
        with np.load(file) as arrays:
            changed = dict(arrays)
        changed["key.0"] = np.array(str(changed["key.0"]).replace("aaa", "bbb"))
        np.savez(file, **changed)
        assert exchange.import_from(yours, file) == Imported(added=0, known=0, damaged=10)


@pytest.mark.parametrize("name", ["out.npz", "out.parquet"])
@pytest.mark.parametrize("content", [b"", b"garbage" * 50, b"PK\x03\x04", b"PAR1"])
def test_a_file_of_another_kind_is_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with Cache(tmp_path / "yours") as yours, pytest.raises(StoreError, match="cannot read"):
        exchange.import_from(yours, tmp_path / name)


def test_what_cannot_be_read_or_written_is_one_line(tmp_path: Path) -> None:
    with filled(tmp_path / "mine") as mine:
        with pytest.raises(StoreError, match=r"ends in \.npz or \.parquet"):
            exchange.export(mine, tmp_path / "out.csv")
        with pytest.raises(StoreError, match=r"cannot write .*no such file"):
            exchange.export(mine, tmp_path / "no" / "out.npz")
        with pytest.raises(StoreError, match=r"cannot read .*no such file"):
            exchange.import_from(mine, tmp_path / "none.npz")
    with (
        Cache(tmp_path / "empty") as empty,
        pytest.raises(StoreError, match="has nothing to export"),
    ):
        exchange.export(empty, tmp_path / "out.npz")


def test_a_file_of_a_newer_recdemo_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled(tmp_path / "mine") as mine:
        for ending in exchange.ENDINGS:
            file = tmp_path / f"out{ending}"
            with monkeypatch.context() as newer:
                newer.setattr(exchange, "FORMAT", 2)
                exchange.export(mine, file)
            with pytest.raises(StoreError, match="written by a newer recdemo"):
                exchange.import_from(mine, file)
