import threading

import pytest

from recdemo.chat import ChatOptions, Said, open_chat, tidy
from recdemo.chat.asking import ask_all
from recdemo.embedding import parse_model
from recdemo.embedding.service import Later
from recdemo.errors import EmbeddingError
from recdemo.settings import settings
from tests import chat_server
from tests.chat_server import KEY
from tests.describing import FakeChat, animals, quick, rows, run
from tests.embedding_faults import Answer, error_answer, reply


@pytest.fixture
def path(tmp_path):
    return tmp_path / "texts.csv"


# --- Asking ---


def test_what_may_succeed_later_is_asked_again_and_nothing_else_is(path):
    waits = []
    chat = FakeChat(Ant=[Later("busy"), Later("busy", 7.0), "Digs"], Bee="Hums", Cat="Mew")
    run(animals(), chat, path, on_wait=lambda reason, seconds: waits.append((reason, seconds > 6)))
    assert sorted(rows(path)) == [("i0", "Digs"), ("i1", "Hums"), ("i2", "Mew")]
    assert len(chat.prompts) == 5
    assert waits == [("busy", False), ("busy", True)]


def test_patience_ends():
    pace = quick(patience=60.0)
    chat = FakeChat(Ant=Later("the server is busy"))
    with pytest.raises(EmbeddingError, match=r"the server is busy; gave up after \d+ s"):
        list(ask_all(chat, ["What is Ant?"], pace=pace))
    assert 30 < pace.now() <= 60


def test_requests_run_side_by_side_and_answers_under_way_are_kept_when_one_fails(path):
    both = threading.Barrier(2, timeout=10)

    class Chat(FakeChat):
        def ask(self, prompt):
            both.wait()
            return super().ask(prompt)

    chat = Chat(at_once=2, Ant=EmbeddingError("quota"), Bee="Hums", Cat="Mew")
    with pytest.raises(EmbeddingError, match="quota"):
        run(animals("Ant", "Bee"), chat, path)
    assert rows(path) == [("i1", "Hums")]


def test_a_mistake_of_ours_keeps_its_traceback(path):
    with pytest.raises(ZeroDivisionError):
        run(animals("Ant"), FakeChat(Ant=ZeroDivisionError()), path)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("  One.\n\nTwo.\t ", "One. Two."),
        ("<think>Hm.\nAn ant?</think>\n\nIt digs.", "It digs."),
        ("Half \ud83d a face\0", "Half a face"),
        ("A </think> within", "A </think> within"),
    ],
)
def test_an_answer_becomes_one_clean_line(said, text):
    assert tidy(said) == text


# --- Services ---


def ask(model, prompt="ants", **options):
    return open_chat(parse_model(model), ChatOptions(**options), lambda done, total: None).ask(
        prompt
    )


@pytest.mark.parametrize("model", ["openai:llama", "ollama:llama"])
def test_both_forms_answer_and_count_tokens(chat, model):
    assert ask(model, "two ants") == Said("On two ants", 2, 3)


def test_a_prompt_is_sent_alone_at_the_temperature_asked_for(chat):
    ask("openai:gpt")
    ask("ollama:llama", temperature=0.7)
    first, second = chat.bodies
    messages = [{"role": "user", "content": "ants"}]
    assert first == {"model": "gpt", "messages": messages, "temperature": 0.0}
    assert second["messages"] == messages
    assert second["options"] == {"temperature": 0.7, "num_predict": 1000}


@pytest.mark.parametrize(
    ("model", "said", "expected"),
    [
        ("openai:gpt", {"message": {"content": None, "refusal": "I must not"}}, "refused"),
        ("openai:gpt", {"message": {"content": "half"}, "reason": "length"}, "cut off"),
        ("openai:gpt", {"message": {"content": ""}, "reason": "content_filter"}, "refused"),
        ("ollama:llama", {"message": {"content": "half"}, "reason": "length"}, "cut off"),
    ],
)
def test_a_service_says_itself_what_is_no_text(chat, model, said, expected):
    chat.says = lambda prompt: said
    assert ask(model).trouble == expected


def test_a_prompt_that_a_filter_stops_is_no_reason_to_stop_the_others(chat):
    chat.faults.append(error_answer(400, "Output data may be bad", "data_inspection_failed"))
    assert ask("openai:gpt").trouble == "refused by the service's filter"


@pytest.mark.parametrize(
    ("answer", "refusal", "message"),
    [
        (chat_server.OVERLOADED, Later, "503"),
        (chat_server.HANGS_UP, Later, "broke"),
        (error_answer(429, "Rate limit reached", "rate_limit_exceeded"), Later, "rate limit"),
        (error_answer(429, "Quota", "insufficient_quota"), EmbeddingError, "quota .* is used up"),
        (error_answer(404, "The model `x` does not exist"), EmbeddingError, "no chat model"),
        (Answer(404, b"<html>"), EmbeddingError, "is no chat endpoint"),
        (Answer(200, b"<html>"), EmbeddingError, "is no chat endpoint"),
        (reply(200, {"choices": []}), EmbeddingError, "is no chat endpoint"),
        (reply(200, {"choices": [{"message": "text"}]}), EmbeddingError, "is no chat endpoint"),
        (
            error_answer(400, "'temperature' does not support 0 with this model"),
            EmbeddingError,
            "give it another one with --temperature 1",
        ),
    ],
)
def test_what_goes_wrong_in_openais_form_is_told_apart(chat, answer, refusal, message):
    chat.faults.append(answer)
    with pytest.raises(refusal, match=message) as told:
        ask("openai:gpt")
    assert KEY not in str(told.value)


def test_a_missing_key_is_noticed_before_anything_is_sent(chat, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    settings.cache_clear()
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY is not set"):
        ask("openai:gpt")


def test_a_chat_model_that_ollama_lacks_is_pulled_where_asked(chat, embedding_server):
    with pytest.raises(EmbeddingError, match="'ollama pull phi'"):
        ask("ollama:phi")
    embedding_server.pullable["phi"] = embedding_server.models["llama:latest"]
    assert ask("ollama:phi", pull=True).text == "On ants"


@pytest.mark.parametrize(
    ("model", "message"),
    [("baseline:lsa", "unknown chat model"), ("openai:gpt@64", "which a chat model does not have")],
)
def test_what_cannot_chat_is_refused(model, message):
    with pytest.raises(EmbeddingError, match=message):
        ask(model)
