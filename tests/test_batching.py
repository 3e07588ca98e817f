import sys
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recdemo.embedding import tokens
from recdemo.embedding.batching import cut_requests
from recdemo.embedding.service import Limits
from recdemo.embedding.tokens import ESTIMATE, TokenCounter, count_tokens, token_counter

WORDS = TokenCounter("words", True, lambda text: len(text.split()))


def test_2049_words_are_two_requests() -> None:
    requests = list(cut_requests(["word"] * 2049, Limits(texts=2048)))
    assert [len(request) for request in requests] == [2048, 1]


def test_100_texts_of_4000_tokens_keep_five_percent_below_the_limit() -> None:
    # 285,000 tokens hold 71 texts.
    texts = ["a " * 4000] * 100
    requests = list(cut_requests(texts, Limits(texts=2048, request_tokens=300_000)))
    assert [len(request) for request in requests] == [71, 29]


def test_11_texts_are_requests_of_10_and_1() -> None:
    assert list(cut_requests(["x"] * 11, Limits(texts=10))) == [tuple(range(10)), (10,)]


def test_bytes_close_a_request() -> None:
    limits = Limits(texts=10, request_bytes=5)
    assert list(cut_requests(["ab", "cd", "ef", "é", "é"], limits)) == [(0, 1), (2, 3), (4,)]


def test_a_text_above_the_limit_of_a_request_goes_alone() -> None:
    limits = Limits(texts=10, request_bytes=5)
    assert list(cut_requests(["a", "too much", "b"], limits)) == [(0,), (1,), (2,)]


def test_a_text_that_seems_too_long_goes_alone_and_the_others_stay_together() -> None:
    limits = Limits(texts=10, text_tokens=3)
    assert list(cut_requests(["a", "b", "a b c d", "c", "d"], limits)) == [(0, 1), (2,), (3, 4)]


def test_no_texts_are_no_requests() -> None:
    assert list(cut_requests([], Limits(texts=10))) == []


@given(
    st.lists(st.text(max_size=12), max_size=30),
    st.integers(1, 6),
    st.integers(1, 12),
    st.integers(1, 20),
    st.integers(1, 6),
)
def test_every_text_is_in_one_request_and_no_request_of_several_is_above_a_limit(
    texts: list[str], most: int, request_tokens: int, request_bytes: int, text_tokens: int
) -> None:
    limits = Limits(most, request_tokens, request_bytes, text_tokens)
    requests = list(cut_requests(texts, limits))
    assert [position for request in requests for position in request] == list(range(len(texts)))
    for request in requests:
        assert 1 <= len(request) <= most
        if len(request) > 1:
            inside = [texts[position] for position in request]
            assert sum(map(ESTIMATE.count, inside)) <= request_tokens * 0.95
            assert sum(len(text.encode()) for text in inside) <= request_bytes
            assert all(ESTIMATE.count(text) <= text_tokens for text in inside)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 1),
        ("abc", 1),
        ("abcd", 2),
        ("x" * 300, 100),
        ("a " * 9000, 9000),  # every word is a token at least
        ("é", 1),  # two bytes outside ASCII count as three
        ("电影院", 5),  # nine bytes: 13.5 thirds
    ],
)
def test_tokens_are_estimated_from_bytes_and_words(text: str, expected: int) -> None:
    assert ESTIMATE.count(text) == expected
    assert count_tokens(text, "ollama:bge-m3") == expected


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("one two three", 3, "one two three"),
        ("one two three four", 3, "one two three"),
        ("one  two", 1, "one"),
        ("one two", 0, ""),
    ],
)
def test_a_cut_ends_between_two_words(text: str, most: int, expected: str) -> None:
    assert WORDS.cut(text, most) == expected


def test_a_cut_of_text_without_spaces_keeps_as_much_as_fits() -> None:
    # A title, a space, and 100 Chinese characters of 1.5 tokens each: 60 tokens hold 38 of them.
    cut = ESTIMATE.cut("T " + "电" * 100, 60)
    assert ESTIMATE.count(cut) <= 60 < ESTIMATE.count(cut + "电")


@pytest.mark.parametrize(
    "character", ["e\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f466", "\u2764\ufe0f"]
)
def test_a_cut_never_parts_what_is_one_character(character: str) -> None:
    text = character * 30
    for most in range(1, ESTIMATE.count(text)):
        cut = ESTIMATE.cut(text, most)
        assert cut == character * (len(cut) // len(character))
        assert ESTIMATE.count(cut) <= most


@given(st.text(max_size=60), st.integers(0, 20))
def test_a_cut_is_a_start_of_the_text_within_the_limit(text: str, most: int) -> None:
    cut = ESTIMATE.cut(text, most)
    assert text.startswith(cut)
    assert ESTIMATE.count(cut) <= most


def fake_tiktoken(monkeypatch: pytest.MonkeyPatch, on_disk: bool) -> list[str]:
    """Put a tiktoken in place that reads its vocabulary through ``tiktoken.load.read_file``."""
    fetched: list[str] = []
    package: Any = ModuleType("tiktoken")
    load: Any = ModuleType("tiktoken.load")
    load.read_file = fetched.append

    class Encoding:
        def encode_ordinary(self, text: str) -> list[int]:
            return [1] * len(text)

    def get_encoding(name: str) -> Encoding:
        if not on_disk:
            load.read_file("https://vocabulary.example")
        return Encoding()

    package.get_encoding = get_encoding
    monkeypatch.setitem(sys.modules, "tiktoken", package)
    monkeypatch.setitem(sys.modules, "tiktoken.load", load)
    monkeypatch.setattr(tokens, "_tiktoken", tokens._tiktoken.__wrapped__)
    return fetched


def test_tokens_are_exact_where_the_vocabulary_is_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_tiktoken(monkeypatch, on_disk=True)
    counter = token_counter("openai:text-embedding-3-large")
    assert (counter.name, counter.exact, counter.count("abcd")) == ("cl100k_base", True, 4)
    assert not token_counter("ollama:bge-m3").exact


def test_the_vocabulary_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = fake_tiktoken(monkeypatch, on_disk=False)
    assert token_counter("openai:text-embedding-3-large") is ESTIMATE
    assert fetched == []
    sys.modules["tiktoken.load"].read_file("again")  # what was there is back in its place
    assert fetched == ["again"]
