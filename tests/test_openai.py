import dataclasses
import logging
import socket
import subprocess
import sys
import time
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from recdemo.embedding import dashscope, openai
from recdemo.embedding.account import Account
from recdemo.embedding.calling import call
from recdemo.embedding.known import KnownModel, find
from recdemo.embedding.openai import OpenAIService
from recdemo.embedding.options import DEFAULT_EMBED_OPTIONS, EmbedOptions
from recdemo.embedding.refused import RefusedTexts
from recdemo.embedding.service import FloatArray, Later, Limits, Refusal, TooMuch, Unusable
from recdemo.embedding.watching import Pace
from recdemo.errors import EmbeddingError
from recdemo.settings import settings
from tests.embedding_faults import Answer, Fault, Kind, Received, ServedModel, error_answer, reply
from tests.embedding_server import EmbeddingServer

KEY = "sk-very-secret-0123456789"
Environ = Callable[..., None]


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> Iterator[Environ]:
    """Set variables for the settings; those of services are gone at first."""
    for provider in ("OPENAI", "DASHSCOPE"):
        for name in ("API_KEY", "BASE_URL", "ORG_ID", "PROJECT_ID"):
            monkeypatch.delenv(f"{provider}_{name}", raising=False)

    def set_all(**values: str) -> None:
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()

    set_all()
    yield set_all
    settings.cache_clear()


@pytest.fixture
def server(embedding_server: EmbeddingServer, environ: Environ) -> EmbeddingServer:
    """The server, which both providers are told to use."""
    environ(
        OPENAI_API_KEY=KEY,
        OPENAI_BASE_URL=embedding_server.openai_url,
        DASHSCOPE_API_KEY=KEY,
        DASHSCOPE_BASE_URL=embedding_server.dashscope_url,
    )
    embedding_server.key = KEY
    return embedding_server


def service(
    model: str = "tiny",
    dimension: int | None = None,
    known: KnownModel | None = None,
    options: EmbedOptions = DEFAULT_EMBED_OPTIONS,
) -> OpenAIService:
    return openai.open_service(model, dimension, known, options)


def own(account: Account) -> OpenAIService:
    """Take the test's server for the provider's own."""
    account = dataclasses.replace(account, is_own=True)
    return openai.open_at(account, "tiny", None, None, DEFAULT_EMBED_OPTIONS)


def collect(service: OpenAIService, texts: list[str], **options: object) -> FloatArray:
    """Embed by `call`; time passes by waiting only."""
    slept = [0.0]
    pace = Pace(grace=0.5, now=lambda: sum(slept), sleep=slept.append, chance=lambda: 0.0)
    found = np.full((len(texts), 8), np.nan, np.float32)
    for embedded in call(service, texts, pace=pace, **options):  # type: ignore[arg-type]
        found[embedded.positions] = embedded.vectors
    return found


def right(server: EmbeddingServer, texts: list[str], model: str = "tiny") -> FloatArray:
    return np.stack([server.vector(model, text) for text in texts])


def test_vectors_are_those_of_the_texts_and_tokens_those_of_the_service(server):
    answer = service().request(["a toy", "another toy story"])
    assert np.array_equal(answer.vectors, right(server, ["a toy", "another toy story"]))
    assert answer.vectors.dtype == np.float32
    assert answer.tokens == 5


def test_numbers_are_asked_for_and_dimensions_only_when_a_person_does(server):
    service().request(["a"])
    assert service(dimension=4).request(["a"]).vectors.shape == (1, 4)
    bodies = [received.body for received in server.requests]
    assert bodies[0] == {"model": "tiny", "input": ["a"], "encoding_format": "float"}
    assert bodies[1] == {**bodies[0], "dimensions": 4}


def test_the_own_length_of_a_model_is_not_asked_for_since_some_models_refuse_the_word(server):
    ada = find("openai", "text-embedding-ada-002")
    answer = service("text-embedding-ada-002", 1536, ada).request(["a"])
    assert answer.vectors.shape == (1, 1536)
    assert "dimensions" not in server.requests[0].body


def test_a_default_below_the_native_length_is_told_apart_from_it(server):
    known = find("dashscope", "text-embedding-v4")
    for dimension, sent in ((1024, None), (2048, 2048), (64, 64), (None, None)):
        opened = dashscope.open_service(
            "text-embedding-v4", dimension, known, DEFAULT_EMBED_OPTIONS
        )
        assert opened.request(["a"]).vectors.shape == (1, dimension or 1024)
        assert server.requests[-1].body.get("dimensions") == sent


@pytest.mark.parametrize(
    ("provider", "name", "dimension", "offered"),
    [
        ("openai", "text-embedding-ada-002", 256, "1536"),
        ("openai", "text-embedding-3-large", 4096, "1 to 3072"),
        ("dashscope", "text-embedding-v4", 100, "2048, 1536, 1024, 768, 512, 256, 128, 64"),
    ],
)
def test_a_dimension_that_is_not_offered_lists_those_that_are(
    environ, provider, name, dimension, offered
):
    module = {"openai": openai, "dashscope": dashscope}[provider]
    with pytest.raises(
        EmbeddingError, match=rf"{name} has no {dimension} dimensions; .* offers {offered}$"
    ):
        module.open_service(name, dimension, find(provider, name), DEFAULT_EMBED_OPTIONS)


def test_a_service_that_ignores_dimensions_is_noticed_by_the_length(server):
    server.always = Fault("wrong length")
    with pytest.raises(EmbeddingError, match="asked for 4, got 8"):
        collect(service(dimension=4), ["a"], dimension=4)


@pytest.mark.parametrize("kind", ["shuffled", None])
def test_answers_in_another_order_are_placed_by_index(server, kind):
    texts = [f"text {i}" for i in range(7)]
    server.always = kind and Fault(kind)
    assert np.array_equal(service().request(texts).vectors, right(server, texts))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("fewer", "answered 3 vectors to 4 texts"),
        ("more", "answered 5 vectors to 4 texts"),
        ("repeated", "indexes are not 0 to 3"),
        ("out of range", "indexes are not 0 to 3"),
        ("uneven", "not lists of numbers of one length .lengths: 7, 8"),
        ("base64", "base64 although numbers were asked for"),
        ("nul bytes", "no embedding endpoint .its answer is no JSON"),
        ("web page", "no embedding endpoint .it answers with a web page"),
        ("no data", "no embedding endpoint .its answer holds no vectors"),
    ],
)
def test_an_answer_that_cannot_be_trusted_is_final_and_paid_for_once(server, kind, words):
    server.always = Fault(kind)
    with pytest.raises(EmbeddingError, match=words):
        collect(service(), ["a", "b", "c", "d"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "entry",
    [{"index": 0}, {"index": 0, "embedding": []}, {"index": 0, "embedding": ["x"]},
     {"index": 0, "embedding": [[1.0]]}, {"embedding": [1.0]}, {"index": "0", "embedding": [1.0]},
     {"index": True, "embedding": [1.0]}, 7],
)  # fmt: skip
def test_an_answer_of_an_odd_form_is_an_error_of_one_line(server, entry):
    place = ("POST", "/v1/embeddings")
    server.routes[place] = lambda received: reply(200, {"data": [entry]})
    with pytest.raises(EmbeddingError) as caught:
        service().request(["a"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("body", [b"[]", b"7", b"[" * 100_000, b'{"data": "x"}', b"\xff\xfe", b""])
def test_an_answer_that_is_no_object_is_an_error_of_one_line(server, body):
    server.routes["POST", "/v1/embeddings"] = lambda received: Answer(200, body)
    with pytest.raises(EmbeddingError, match="is no embedding endpoint"):
        service().request(["a"])


def test_an_error_in_an_answer_with_status_200_is_told(server):
    answer = reply(200, {"error": {"message": "model is warming up"}})
    server.routes["POST", "/v1/embeddings"] = lambda received: answer
    with pytest.raises(EmbeddingError, match="model is warming up"):
        service().request(["a"])


@pytest.mark.parametrize("kind", ["nan", "infinite"])
def test_a_number_that_is_none_is_set_aside_and_the_others_are_kept(server, kind):
    server.always = Fault(kind)
    found = np.empty(0)
    with pytest.raises(RefusedTexts, match=r"1 of 3 .* text 3 'c' .*the 2 others are embedded"):
        found = collect(service(), ["a", "b", "c"])
    assert len(server.requests) == 1
    assert found.size == 0


def test_2049_texts_are_two_requests(server):
    # The limits are those of OpenAI for a model of few numbers, the server is the test's.
    opened = own(openai.account())
    assert opened.limits == Limits(256, 300_000, text_tokens=8192, at_once=4)
    opened.limits = dataclasses.replace(opened.limits, texts=2048)
    texts = [f"w{i}" for i in range(2049)]
    assert np.array_equal(collect(opened, texts), right(server, texts))
    assert sorted(len(received.texts) for received in server.requests) == [1, 2048]


def test_100_texts_of_4000_tokens_never_exceed_the_tokens_of_a_request(server):
    server.models["tiny"] = ServedModel(dimension=8, context=8192)
    opened = own(openai.account())
    texts = [f"a{i} " + "a " * 3999 for i in range(100)]
    assert np.array_equal(collect(opened, texts), right(server, texts))
    assert sorted(len(received.texts) for received in server.requests) == [29, 71]


def test_dashscope_gets_ten_texts_at_once_and_25_for_v2(server):
    texts = [f"w{i}" for i in range(11)]
    opened = dashscope.open_service("tiny", None, None, EmbedOptions(concurrency=1))
    assert opened.limits.texts == 32  # a server of one's own
    opened = own(dashscope.account())
    assert np.array_equal(collect(opened, texts), right(server, texts))
    assert sorted(len(received.texts) for received in server.requests) == [1, 10]
    v2 = find("dashscope", "text-embedding-v2")
    assert dashscope.open_service("text-embedding-v2", None, v2, DEFAULT_EMBED_OPTIONS).limits == (
        Limits(25, text_tokens=2048, at_once=4)
    )


@pytest.mark.parametrize(
    ("name", "dimension", "texts"),
    [("3-large", None, 341), ("3-large", 3072, 341), ("3-large", 64, 2048), ("3-small", None, 682)],
)
def test_an_answer_stays_below_a_million_numbers(environ, name, dimension, texts):
    known = find("openai", f"text-embedding-{name}")
    limits = service(f"text-embedding-{name}", dimension, known).limits
    assert limits == Limits(texts, 300_000, text_tokens=8192, at_once=4)


def test_concurrency_is_what_a_person_asks_for(environ):
    assert service(options=EmbedOptions(concurrency=9)).limits.at_once == 9


def test_a_rate_limit_tells_how_long_to_wait(server):
    server.faults.extend([Fault("rate limit", 1.5), Fault("rate limit"), Fault("overloaded")])
    with pytest.raises(Later, match="rate limit at http") as caught:
        service().request(["a"])
    assert caught.value.after == 1.5
    for _ in range(2):
        with pytest.raises(Later) as caught:
            service().request(["a"])
        assert caught.value.after is None


def answering(server: EmbeddingServer, answer: Answer) -> None:
    server.routes["POST", "/v1/embeddings"] = lambda received: answer


def refusal(asked: OpenAIService | None = None) -> Exception:
    with pytest.raises((Refusal, EmbeddingError)) as caught:
        (asked or service()).request(["a"])
    return caught.value


def test_the_wait_may_be_in_milliseconds_or_a_date_or_nonsense(server):
    waits = []
    for name, value in (
        ("retry-after-ms", "250"),
        ("retry-after", "Fri, 01 Jan 2010 00:00:00 GMT"),
        ("retry-after", "Tue, 01 Jan 2999 00:00:00 GMT"),
        ("retry-after", "soon"),
        ("retry-after", "-3"),
        ("retry-after", "nan"),
    ):
        answering(server, Answer(429, b"{}", {name: value}))
        found = refusal()
        assert isinstance(found, Later)
        waits.append(found.after)
    assert waits[:2] == [0.25, 0.0]
    assert waits[2] is not None
    assert waits[2] > 1e9
    assert waits[3:] == [None, None, None]


def test_a_rate_limit_is_waited_for_and_passes(server):
    server.faults.append(Fault("rate limit", 1.0))
    assert np.array_equal(collect(service(), ["a"]), right(server, ["a"]))
    assert len(server.requests) == 2


def test_a_quota_used_up_is_final_after_one_request_and_keeps_what_was_done(server):
    texts = [f"w{i}" for i in range(70)]
    server.faults.extend([None, Fault("quota")])
    answers = call(service(options=EmbedOptions(concurrency=1)), texts)
    assert next(answers).positions.tolist() == list(range(32))
    with pytest.raises(EmbeddingError, match=r"quota .* is used up .*run the same command again"):
        next(answers)
    assert len(server.requests) == 2


def test_dashscope_says_quota_of_the_tokens_of_a_minute_which_pass(server):
    server.faults.append(Fault("quota"))
    opened = dashscope.open_service("tiny", None, None, DEFAULT_EMBED_OPTIONS)
    assert np.array_equal(collect(opened, ["a"]), right(server, ["a"]))


@pytest.mark.parametrize("kind", ["server error", "overloaded", "drop", "cut"])
def test_what_may_pass_is_tried_again(server, kind):
    server.faults.append(Fault(kind))
    assert isinstance(refusal(), Later)
    assert service().request(["a"]).tokens == 1


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 504, 529])
def test_statuses_that_may_pass(server, status):
    answering(server, Answer(status, b"<html>Bad gateway</html>", {"content-type": "text/html"}))
    assert isinstance(refusal(), Later)
    assert str(refusal()) == f"{server.openai_url} answers {status} (a web page)"


def test_a_server_that_hangs_is_given_up_in_time(server, monkeypatch):
    monkeypatch.setattr("recdemo.embedding.openai_client.open_client.__defaults__", (0.1,))
    server.faults.append(Fault("hang"))
    asked = service()
    found = refusal(asked)
    assert isinstance(found, Later)
    assert "did not answer in time" in str(found)
    assert np.array_equal(collect(asked, ["a"]), right(server, ["a"]))


def test_a_slow_first_answer_is_waited_for(server):
    server.faults.append(Fault("slow", 0.2))
    assert service().request(["a"]).tokens == 1


def test_an_address_that_does_not_answer_is_final_at_the_start(environ):
    environ(OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    started = time.monotonic()
    with pytest.raises(EmbeddingError, match=r"nobody answers at http://127.0.0.1:9/v1 .*refused"):
        collect(service(), ["a"])
    assert time.monotonic() - started < 10


def test_a_server_that_goes_away_in_between_may_come_back(server):
    asked = service()
    asked.request(["a"])
    server.close()
    found = refusal(asked)
    assert isinstance(found, Later)
    server._listen(server.port)
    assert asked.request(["a"]).tokens == 1


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, {"message": "Requested 673477 tokens, max 300000 tokens per request",
               "type": "max_tokens_per_request"}, TooMuch),
        (400, {"message": "batch size is invalid, it should not be larger than 10.",
               "code": "InvalidParameter"}, TooMuch),
        (400, {"message": "Range of input length should be [1, 8192]"}, TooMuch),
        (400, {"message": "Invalid 'input': array too long."}, TooMuch),
        (400, {"message": "This model's maximum context length is 8192 tokens, however you "
               "requested 9001 tokens"}, TooMuch),
        (400, {"message": "the input length exceeds the context length"}, TooMuch),
        (413, {"message": "batch size 64 > maximum allowed batch size 32"}, TooMuch),
        (413, {}, TooMuch),
        (422, {"message": "`inputs` must have less than 512 tokens. Given: 600"}, TooMuch),
        (500, {"message": "input is too large to process. increase the physical batch size"},
         TooMuch),
        (500, {"message": "failed to encode response: json: unsupported value: NaN"}, Unusable),
        (400, {"message": "embedding contains NaN or Inf values"}, Unusable),
        (400, {"message": "'dimensions' is too large: the maximum length is 1024"}, EmbeddingError),
        (400, {"message": "'$.input' is invalid."}, EmbeddingError),
        (402, {"message": "Insufficient balance"}, EmbeddingError),
        (400, {"message": "Access denied, please make sure your account is in good standing.",
               "code": "Arrearage"}, EmbeddingError),
    ],
)  # fmt: skip
def test_refusals_are_told_apart_by_their_words(server, status, body, expected):
    answering(server, reply(status, {"error": body}))
    assert type(refusal()) is expected


def test_a_request_that_the_server_finds_too_large_is_halved(server):
    texts = [f"w{i}" for i in range(8)]
    server.faults.append(Fault("too much"))
    assert np.array_equal(collect(service(), texts), right(server, texts))
    assert sorted(len(received.texts) for received in server.requests) == [4, 4, 8]


def test_a_text_beyond_the_context_is_named_or_cut(server):
    long = "a " * 150  # the model takes 100
    with pytest.raises(RefusedTexts, match=r"1 of 3 texts .* text 2 'a a .*--on-long truncate"):
        collect(service(), ["x", long, "y"])
    found = collect(service(), ["x", long, "y"], on_long="truncate")
    assert server.requests[-1].texts == [" ".join("a" * 84)]  # 150, 112, 84 words
    assert np.array_equal(found, right(server, ["x", " ".join("a" * 84), "y"]))


def test_half_a_character_is_named_and_never_sent(server):
    with pytest.raises(RefusedTexts, match=r"text 2 .*lone surrogate"):
        collect(service(), ["x", "\ud83d", "y"])
    assert {text for received in server.requests for text in received.texts} == {"x", "y"}


def test_a_wrong_key_names_its_variable_and_where_to_get_one(server, environ):
    environ(OPENAI_API_KEY="sk-wrong-0123456789")
    assert str(refusal(own(openai.account()))) == (
        f"{server.openai_url} refuses the key in OPENAI_API_KEY (Incorrect API key provided: ***); "
        "check it, or create one at https://platform.openai.com/api-keys"
    )
    environ(DASHSCOPE_API_KEY="sk-wrong-0123456789")
    found = str(refusal(own(dashscope.account())))
    assert "DASHSCOPE_API_KEY" in found
    assert "keys belong to a region" in found
    assert f"DASHSCOPE_BASE_URL={dashscope.BEIJING}" in found


def test_a_server_that_wants_a_key_says_which_variable(server, environ):
    environ(OPENAI_API_KEY="  ")
    assert str(refusal()).startswith(f"{server.openai_url} wants a key (")
    assert str(refusal()).endswith("set OPENAI_API_KEY")


def test_a_server_of_ones_own_needs_no_key(server, environ):
    server.key = None
    environ(OPENAI_API_KEY="")
    assert service().request(["a"]).tokens == 1


@pytest.mark.parametrize("module", [openai, dashscope])
def test_a_missing_key_is_told_before_anything_is_sent(environ, module):
    variable = f"{module.account().provider.variable}_API_KEY"
    opened = module.open_service("tiny", None, None, DEFAULT_EMBED_OPTIONS)
    with pytest.raises(EmbeddingError, match=rf"^{variable} is not set; create a key at https://"):
        opened.request(["a"])
    assert module.usable("tiny").startswith(f"{variable} is not set")
    environ(**{variable: KEY})
    assert module.usable("tiny") is None


@pytest.mark.parametrize("key", ["sk-a b", "sk-a\nb", "sk-“quoted”"])
def test_a_key_that_cannot_be_one_is_not_shown(environ, key):
    environ(OPENAI_API_KEY=key)
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY holds a character") as caught:
        service()
    assert key not in str(caught.value)
    assert "OPENAI_API_KEY" in (openai.usable("tiny") or "")


def test_space_around_a_key_is_no_part_of_it(server, environ):
    environ(OPENAI_API_KEY=f" {KEY}\n")
    assert service().request(["a"]).tokens == 1


def test_an_unknown_model_and_a_wrong_address_are_told_apart(server, environ):
    assert str(refusal(service("nope"))) == (
        f"{server.openai_url} has no embedding model 'nope' (The model `nope` does not exist)"
    )
    environ(OPENAI_BASE_URL=f"{server.url}/v2")
    assert "is no embedding endpoint (404, no such address: /v2/embeddings)" in str(refusal())


def test_what_a_key_may_not_do_is_told_in_the_words_of_the_service(server):
    answering(server, reply(403, {"error": {"message": f"Project of {KEY} has no access."}}))
    assert str(refusal()) == (
        f"{server.openai_url} does not allow 'tiny' to the key in OPENAI_API_KEY "
        "(Project of *** has no access)"
    )


def test_long_words_of_a_service_are_shortened_to_one_line(server):
    answering(server, reply(400, {"error": {"message": "no\n\nsuch\tthing " * 100}}))
    found = str(refusal())
    assert "\n" not in found
    assert len(found) < 300


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("localhost:8000/v1", "'localhost:8000/v1'; expected"),
        ("ftp://host/v1", "'ftp://host/v1'; expected"),
        ("http://", "expected an address such as"),
        ("http://host:port/v1", "cannot read the address"),
        ("http://[::1/v1", "cannot read the address"),
        ("user:hunter2@host/v1", "cannot use the address; expected"),
    ],
)
def test_an_address_that_cannot_be_one_is_an_error(environ, url, words):
    environ(OPENAI_BASE_URL=url)
    with pytest.raises(EmbeddingError) as caught:
        service()
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "revision"),
    [
        ("", ""),
        ("https://api.openai.com/v1/", ""),
        ("https://eu.api.openai.com/v1", ""),
        ("https://api.openai.com.evil.example/v1", "https://api.openai.com.evil.example/v1"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("http://me:hunter2@[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_the_revision_is_the_address_unless_it_is_the_providers_own(environ, url, revision):
    environ(OPENAI_BASE_URL=url)
    assert service().revision == revision


def test_all_regions_of_dashscope_are_its_own(environ):
    assert dashscope.account().address == ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1")
    for url in (dashscope.BEIJING, "https://x.cn-beijing.maas.aliyuncs.com/compatible-mode/v1"):
        environ(DASHSCOPE_BASE_URL=url)
        opened = dashscope.open_service("tiny", None, None, DEFAULT_EMBED_OPTIONS)
        assert opened.revision == ""
        assert opened.limits.texts == 10


def test_what_the_environment_says_of_openai_does_not_go_to_dashscope(server, environ):
    environ(OPENAI_ORG_ID="org-mine", OPENAI_PROJECT_ID="proj-mine", OPENAI_API_KEY="sk-openai")
    dashscope.open_service("tiny", None, None, DEFAULT_EMBED_OPTIONS).request(["a"])
    sent = str(server.requests[0].headers)
    assert KEY in sent
    assert not any(word in sent for word in ("org-mine", "proj-mine", "sk-openai"))


def test_a_server_is_usable_while_somebody_listens(server, environ):
    assert openai.usable("tiny") is None
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    environ(OPENAI_BASE_URL=f"http://me:hunter2@127.0.0.1:{port}/v1")
    found = openai.usable("tiny") or ""
    assert found.startswith(f"nobody answers at http://127.0.0.1:{port}/v1 (")
    assert "start the server, or correct OPENAI_BASE_URL" in found


@pytest.mark.parametrize("proxy", ["socks5://me:hunter2@127.0.0.1:1", "odd://me:hunter2@host"])
def test_a_proxy_that_cannot_be_used_is_an_error_without_its_password(environ, proxy):
    environ(OPENAI_BASE_URL="http://embeddings.example/v1", ALL_PROXY=proxy)
    found = refusal()
    assert isinstance(found, EmbeddingError)
    assert "check the proxy" in str(found)
    assert "hunter2" not in "".join(traceback.format_exception(found))


def test_looking_at_a_model_does_not_load_the_client():
    code = (
        "import sys; from recdemo.embedding import dashscope, openai; "
        "from recdemo.embedding.options import DEFAULT_EMBED_OPTIONS as options; "
        "openai.usable('x'); dashscope.open_service('x', None, None, options); "
        "sys.exit('openai' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


FAULTS: list[Kind] = [
    "rate limit", "quota", "server error", "overloaded", "too much", "drop", "cut", "fewer",
    "repeated", "uneven", "base64", "nul bytes", "web page", "no data",
]  # fmt: skip


def test_a_name_and_a_password_in_the_address_are_sent_as_such(server, environ):
    server.key = None
    environ(OPENAI_BASE_URL=server.openai_url.replace("://", "://me:hunter%402@"))
    service().request(["a"])
    headers = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert headers["authorization"] == "Basic bWU6aHVudGVyQDI="  # me:hunter@2


def echo(received: Received) -> Answer:
    """A server that says back all it was told."""
    headers = {name.lower(): value for name, value in received.headers.items()}
    return error_answer(400, f"bad authorization: {headers['authorization']}")


def confess(asked: OpenAIService) -> list[str]:
    """Return all that a failed request can be made to say."""
    try:
        asked.request(["a", "b"])
    except (Refusal, EmbeddingError) as error:
        frames = traceback.TracebackException.from_exception(error, capture_locals=True)
        return [str(error), repr(error), "".join(frames.format()), repr(asked)]
    return []


def test_nothing_secret_is_in_messages_tracebacks_reprs_and_logs(server, environ, caplog):
    """Frames are printed with their local variables, as crash reports do."""
    password = "hunter2-secret"
    caplog.set_level(logging.DEBUG)
    server.key = None
    address = server.openai_url.replace("://", f"://me:{password}@")
    environ(OPENAI_BASE_URL=address)
    said = [repr(settings()), str(settings()), repr(openai.account())]

    def note(asked: OpenAIService) -> None:
        said.extend(confess(asked))

    for kind in FAULTS:
        server.faults.append(Fault(kind))
        note(service())
    server.routes["POST", "/v1/embeddings"] = echo
    note(service())
    environ(OPENAI_BASE_URL=server.openai_url)
    note(service())
    server.routes["POST", "/v1/embeddings"] = lambda received: error_answer(
        401, f"Incorrect API key: {KEY}; see {address}"
    )
    note(service())
    environ(OPENAI_BASE_URL=f"http://me:{password}@127.0.0.1:9/v1")
    note(service())
    assert len(said) == 3 + 4 * (len(FAULTS) + 4)
    everything = "\n".join([*said, caplog.text])
    assert "127.0.0.1" in everything
    assert KEY not in everything
    assert KEY[3:] not in everything
    assert password not in everything
    assert b64encode(f"me:{password}".encode()).decode() not in everything
