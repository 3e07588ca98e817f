import pytest

from recdemo.embedding import ollama
from recdemo.embedding.ollama_server import read_address, usable
from recdemo.embedding.options import DEFAULT_EMBED_OPTIONS
from recdemo.errors import EmbeddingError
from recdemo.settings import settings
from tests.embedding_faults import reply


@pytest.fixture
def point_at(monkeypatch):
    """Sets OLLAMA_HOST."""

    def point(host: str) -> None:
        monkeypatch.setenv("OLLAMA_HOST", host)
        settings.cache_clear()

    yield point
    settings.cache_clear()


@pytest.fixture
def server(embedding_server, point_at):
    point_at(embedding_server.url)
    return embedding_server


def open_tiny(dimension=None, options=DEFAULT_EMBED_OPTIONS, model="tiny"):
    return ollama.open_service(model, dimension, None, options)


# --- Addresses ---


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("localhost", "http://localhost:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":9", "http://127.0.0.1:9"),
        ("10.0.0.5:9", "http://10.0.0.5:9"),
        ("[::1]:9", "http://[::1]:9"),
        ("http://gpu", "http://gpu:80"),
        ("https://gpu/ollama/", "https://gpu:443/ollama"),
        ('"gpu:9"', "http://gpu:9"),
    ],
)
def test_an_address_may_lack_scheme_and_port(host, url):
    assert read_address(host).url == url


@pytest.mark.parametrize("host", ["ftp://gpu", "gpu:port", "gpu:99999", "two words", "http://[1"])
def test_an_address_that_cannot_be_read_is_one_line(host):
    with pytest.raises(EmbeddingError, match="expected HOST, HOST:PORT or http://HOST:PORT"):
        read_address(host)


def test_only_the_local_port_is_the_default():
    assert read_address("localhost").is_default
    assert not read_address("gpu").is_default
    assert not read_address("localhost:9").is_default


def test_a_password_in_the_address_is_used_and_never_shown(server, point_at):
    headers = []

    def tags(received):
        headers.append(received.headers)
        return reply(200, {"models": []})

    server.routes["GET", "/api/tags"] = tags
    point_at(server.url.replace("//", "//me:s%40cret@"))
    with pytest.raises(EmbeddingError) as told:
        open_tiny()
    assert "cret" not in str(told.value) + repr(read_address("http://me:s%40cret@gpu"))
    sent = {name.lower(): value for name, value in headers[0].items()}
    assert sent["authorization"] == "Basic bWU6c0BjcmV0"  # me:s@cret


def test_a_password_in_an_address_that_cannot_be_read_is_not_shown():
    with pytest.raises(EmbeddingError) as told:
        read_address("ftp://me:secret@gpu")
    assert "secret" not in str(told.value)


# --- What is usable ---


def test_usable_tells_what_is_pulled_and_asks_once_for_many_models(server):
    assert usable("tiny") is None
    assert usable("nope") == "not pulled; get it with 'ollama pull nope'"
    assert server.other.count(("GET", "/api/tags")) <= 2  # a moment may end between two models


def test_usable_tells_that_nobody_answers(point_at):
    point_at("127.0.0.1:9")
    assert usable("tiny").startswith("no Ollama answers at http://127.0.0.1:9; start it with")
