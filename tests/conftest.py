import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from recdemo.settings import settings
from tests import chat_server
from tests.embedding_server import EmbeddingServer
from tests.servers import any_server, real_server

__all__ = ["any_server", "real_server"]  # fixtures


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-docker",
        action="store_true",
        help="fail where a test lacks Docker or an image, instead of skipping",
    )


# The same examples on every machine: a check before landing must not depend on luck.
hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.load_profile("same")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A RECDEMO_HOME of the test's own."""
    monkeypatch.setenv("RECDEMO_HOME", str(tmp_path))
    settings.cache_clear()
    yield tmp_path
    settings.cache_clear()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with the real MovieLens files, which may not be redistributed."""
    folder = Path(os.environ.get("RECDEMO_TEST_DATA", "/nonexistent"))
    if not (folder / "ml-1m.zip").exists():
        pytest.skip("RECDEMO_TEST_DATA names no folder with the real MovieLens files")
    return folder


@pytest.fixture
def embedding_server() -> Iterator[EmbeddingServer]:
    """A server that speaks the embedding APIs; the test fails when it breaks their rules."""
    with EmbeddingServer() as server:
        yield server
    server.check()


@pytest.fixture
def chat(
    embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[chat_server.FakeChat]:
    """A server that chats, which OpenAI's form and Ollama are told to use."""
    embedding_server.key = chat_server.KEY
    monkeypatch.setenv("OPENAI_API_KEY", chat_server.KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", embedding_server.openai_url)
    monkeypatch.setenv("OLLAMA_HOST", embedding_server.url)
    settings.cache_clear()
    yield chat_server.serve(embedding_server, lambda prompt: f"On {prompt}")
    settings.cache_clear()
