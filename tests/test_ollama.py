import json
import socket

import numpy as np
import pytest

from recdemo.embedding import known, ollama
from recdemo.embedding.options import DEFAULT_EMBED_OPTIONS, EmbedOptions
from recdemo.embedding.service import Later, TooMuch, Unusable
from recdemo.errors import EmbeddingError
from recdemo.settings import settings
from tests.embedding_faults import Answer, Fault, ServedModel, reply


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


def words(n: int) -> list[str]:
    return [f"text {i}" for i in range(n)]


def test_vectors_are_those_of_the_texts_in_their_order(server):
    reply = open_tiny().request(["ant", "bee with wings"])
    expected = [server.vector("tiny", text) for text in ("ant", "bee with wings")]
    np.testing.assert_array_equal(reply.vectors, expected)
    assert reply.vectors.dtype == np.float32
    assert reply.tokens == 4


def test_cutting_is_never_asked_for_and_a_dimension_only_where_one_was_named(server):
    open_tiny().request(["ant"])
    open_tiny(dimension=4).request(["ant"])
    first, second = (request.body for request in server.requests)
    assert first == {"model": "tiny", "input": ["ant"], "truncate": False}
    assert second == first | {"dimensions": 4}


def test_a_shorter_vector_is_asked_of_the_server(server):
    reply = open_tiny(dimension=4).request(["ant"])
    np.testing.assert_array_equal(reply.vectors, [server.vector("tiny", "ant", 4)])


def test_a_dimension_above_the_models_own_is_an_error_since_the_server_would_ignore_it(server):
    with pytest.raises(EmbeddingError, match=r"tiny@9 .* the model has 8"):
        open_tiny(dimension=9)
    assert server.requests == []


def test_the_context_is_that_of_the_table_and_else_the_servers(server):
    row = known.find("ollama", "nomic-embed-text")
    server.models["nomic-embed-text:latest"] = ServedModel(dimension=768, context=8192)
    service = ollama.open_service("nomic-embed-text", None, row, DEFAULT_EMBED_OPTIONS)
    assert service.limits.text_tokens == 2048
    assert open_tiny().limits.text_tokens == 100


def test_one_request_at_a_time_unless_more_are_asked_for(server):
    assert open_tiny().limits.at_once == 1
    assert open_tiny(options=EmbedOptions(concurrency=3)).limits.at_once == 3


def test_the_revision_holds_digest_version_and_an_address_that_is_not_the_default(server):
    assert open_tiny().revision == f"aaa, Ollama 0.31.0, {server.url}"
    server.models["tiny:latest"] = ServedModel(dimension=8, context=100, digest="bbb")
    assert open_tiny().revision.startswith("bbb, ")


def test_a_name_without_a_tag_and_latest_are_the_same_model(server):
    assert open_tiny(model="tiny:latest").revision == open_tiny().revision


# --- What is not there ---


def test_a_model_that_was_not_pulled_is_named_with_the_command(server):
    with pytest.raises(EmbeddingError, match=r"no model 'nope'.*'ollama pull nope', or give --pul"):
        open_tiny(model="nope")


def test_a_missing_model_is_pulled_when_asked_with_its_bytes_as_progress(server):
    server.pullable["nope"] = ServedModel(dimension=8, context=100, digest="ccc")
    seen = []
    service = ollama.open_service(
        "nope", None, None, EmbedOptions(pull=True), lambda done, total: seen.append((done, total))
    )
    assert seen == [(250, 1000), (1000, 1000)]
    assert service.revision.startswith("ccc, ")


def test_a_model_that_exists_nowhere_cannot_be_pulled(server):
    with pytest.raises(EmbeddingError, match=r"cannot pull 'nope': pull model manifest: file does"):
        open_tiny(model="nope", options=EmbedOptions(pull=True))


def test_a_model_removed_in_the_middle_is_final(server):
    service = open_tiny()
    del server.models["tiny:latest"], server.models["tiny"]
    with pytest.raises(EmbeddingError, match="ollama pull tiny"):
        service.request(["ant"])


def test_where_nobody_answers_the_address_and_the_remedy_are_told(point_at):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    point_at(f"127.0.0.1:{port}")
    with pytest.raises(EmbeddingError) as told:
        open_tiny()
    assert str(told.value) == (
        f"no Ollama answers at http://127.0.0.1:{port}; start it with 'ollama serve', "
        "or say where it is with OLLAMA_HOST"
    )


@pytest.mark.parametrize(
    "answer",
    [
        Answer(404, b"<html>not here</html>"),
        Answer(200, b"<html>welcome</html>"),
        Answer(200, b"[]"),
        Answer(200, b"\xff\xfe\0"),
        reply(200, {"version": None}),
    ],
)
def test_another_server_is_told_from_ollama(server, answer):
    server.routes["GET", "/api/version"] = lambda received: answer
    with pytest.raises(EmbeddingError, match=f"what answers at {server.url} is not Ollama"):
        open_tiny()


def test_a_server_that_wants_a_password_says_how_to_give_it(server):
    server.routes["GET", "/api/version"] = lambda received: Answer(401, b"")
    with pytest.raises(EmbeddingError, match=r"OLLAMA_HOST=http://NAME:PASSWORD@HOST:PORT"):
        open_tiny()


# --- Refusals ---


@pytest.mark.parametrize(
    ("fault", "refusal", "text"),
    [
        (Fault("overloaded"), Later, "server busy"),
        (Fault("rate limit"), Later, "too many requests"),
        (Fault("server error"), Later, "runner process has terminated"),
        (Fault("drop"), Later, "broke"),
        (Fault("cut"), Later, "broke"),
        (Fault("nan"), Unusable, "NaN"),
        (Fault("too much"), TooMuch, "context length"),
    ],
)
def test_refusals_say_whether_another_request_may_mend_them(server, fault, refusal, text):
    service = open_tiny()
    server.faults.append(fault)
    with pytest.raises(refusal, match=text):
        service.request(["ant", "bee"])


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        (reply(400, {"error": "embedding contains NaN or Inf values"}), Unusable),
        (reply(500, {"error": "exceeds the available context size"}), TooMuch),
        (reply(413, {"error": "request entity too large"}), TooMuch),
        (reply(500, {"error": "model requires more system memory (9 GiB)"}), EmbeddingError),
        (reply(400, {"error": "this model does not support embeddings"}), EmbeddingError),
        (reply(400, {"error": "invalid input type"}), EmbeddingError),
        (reply(404, {"error": "404 page not found"}), EmbeddingError),
        (Answer(502, b"<html>bad gateway</html>"), Later),
        (reply(500, ["a list"]), EmbeddingError),
        (reply(200, {"embeddings": [[0.5, None]]}), Unusable),
        (reply(200, {"embeddings": "none"}), EmbeddingError),
    ],
)
def test_what_a_status_and_its_words_mean(server, answer, refusal):
    service = open_tiny()
    server.routes["POST", "/api/embed"] = lambda received: answer
    with pytest.raises(refusal):
        service.request(["ant"])


@pytest.mark.parametrize("kind", ["fewer", "more", "uneven", "no data", "web page", "nul bytes"])
def test_a_wrong_answer_is_an_error_and_never_a_vector(server, kind):
    service = open_tiny()
    server.faults.append(Fault(kind))
    with pytest.raises(EmbeddingError):
        service.request(["ant", "bee"])


def test_an_answer_without_vectors_is_an_error(server):
    service = open_tiny()
    server.routes["POST", "/api/embed"] = lambda received: reply(200, {"embeddings": []})
    with pytest.raises(EmbeddingError, match=r"answered 1 texts with 0 vectors"):
        service.request(["ant"])


def test_half_a_character_is_not_sent(server):
    service = open_tiny()
    with pytest.raises(Unusable, match="UTF-8"):
        service.request(["ant", "\ud83d"])
    assert server.requests == []


def test_after_a_restart_with_the_same_model_all_goes_on(server):
    service = open_tiny()
    service.request(["ant"])
    server.restart()
    server.faults.append(Fault("drop"))
    with pytest.raises(Later):
        service.request(["bee"])
    np.testing.assert_array_equal(service.request(["bee"]).vectors, [server.vector("tiny", "bee")])


@pytest.mark.parametrize("restarts", [False, True])
def test_a_model_pulled_anew_in_the_middle_ends_the_run_before_vectors_mix(server, restarts):
    service = open_tiny()
    service.request(["ant"])
    server.models["tiny:latest"] = ServedModel(dimension=8, context=100, digest="bbb")
    if restarts:
        server.restart()
    with pytest.raises(EmbeddingError, match=r"changed while it embedded \(it was aaa.*is bbb"):
        service.request(["bee"])


def test_a_newer_server_after_a_broken_connection_ends_the_run(server):
    service = open_tiny()
    server.faults.append(Fault("drop"))
    server.version = "0.32.0"
    with pytest.raises(Later):
        service.request(["ant"])
    with pytest.raises(EmbeddingError, match=r"it was aaa, Ollama 0.31.0.*is aaa, Ollama 0.32.0"):
        service.request(["ant"])


# --- The spot check ---


def test_the_first_batch_is_held_against_five_of_its_texts_alone(server):
    service = open_tiny()
    service.request(words(9))
    service.request(words(9))
    assert [len(request.texts) for request in server.requests] == [9, 1, 1, 1, 1, 1, 9]
    assert [request.texts[0] for request in server.requests[1:6]] == [
        f"text {i}" for i in (0, 2, 4, 6, 8)
    ]
    assert service.notices == []


def test_a_text_alone_needs_no_spot_check(server):
    service = open_tiny()
    service.request(["ant"])
    assert len(server.requests) == 1


def test_where_a_batch_is_shifted_its_texts_are_embedded_alone_and_a_person_is_told(server):
    service = open_tiny()
    server.faults.append(Fault("shifted"))
    reply = service.request(words(3))
    np.testing.assert_array_equal(reply.vectors, [server.vector("tiny", text) for text in words(3)])
    assert len(service.notices) == 1
    assert "3 of 3 differ" in service.notices[0]
    service.request(words(2))
    assert [len(request.texts) for request in server.requests[-2:]] == [1, 1]


def test_the_words_of_a_refusal_are_one_short_line(server):
    service = open_tiny()
    long = json.dumps({"error": "line\n" * 100}).encode()
    server.routes["POST", "/api/embed"] = lambda received: Answer(400, long)
    with pytest.raises(EmbeddingError) as told:
        service.request(["ant"])
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 300
