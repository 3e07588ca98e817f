"""Settings: what the environment and ``.env`` may hold, and what is told of what they may not."""

from pathlib import Path

import pytest

from recdemo.errors import RecdemoError
from recdemo.settings import settings


@pytest.fixture(autouse=True)
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("RECDEMO_STORE", "RECDEMO_STORE_GRPC", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(home)
    return home


def test_the_environment_comes_before_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".env").write_text("RECDEMO_STORE=http://a:6333\nOPENAI_API_KEY=x\n")
    assert settings().store == "http://a:6333"
    settings.cache_clear()
    monkeypatch.setenv("RECDEMO_STORE", "http://b:6333")
    assert settings().store == "http://b:6333"
    assert settings().openai_api_key is not None


def test_what_is_empty_counts_as_not_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text("RECDEMO_STORE_GRPC=\nOPENAI_API_KEY=\n")
    monkeypatch.setenv("RECDEMO_STORE", "")
    assert (settings().store, settings().store_grpc) == ("embedded", False)
    assert settings().openai_api_key is None


def test_a_file_that_is_no_text_is_one_line_that_names_it(folder: Path) -> None:
    (folder / ".env").write_bytes(b"OPENAI_API_KEY=\xff")
    with pytest.raises(RecdemoError, match="is not UTF-8; write it anew, or move it away") as said:
        settings()
    assert str(folder / ".env") in str(said.value)


def test_a_value_that_cannot_be_used_is_one_line_that_names_the_variable_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECDEMO_STORE_GRPC", "s3cret")
    with pytest.raises(
        RecdemoError, match="cannot use RECDEMO_STORE_GRPC: input should be"
    ) as said:
        settings()
    assert "s3cret" not in str(said.value)
    assert "\n" not in str(said.value)
