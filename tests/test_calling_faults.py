"""Random faults of a service, and what must hold whatever it does."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from recdemo.embedding.account import open_account
from recdemo.embedding.calling import call
from recdemo.embedding.openai import OPENAI, OpenAIService, open_at
from recdemo.embedding.options import DEFAULT_EMBED_OPTIONS
from recdemo.embedding.refused import RefusedTexts
from recdemo.embedding.service import FloatArray, Limits
from recdemo.embedding.watching import Pace
from recdemo.errors import EmbeddingError
from tests.embedding_faults import Fault, Kind
from tests.embedding_server import EmbeddingServer

# "shifted" and "constant" are left out: nothing in an answer of OpenAI's form shows them.
PASSING: list[Kind] = [
    "rate limit", "server error", "overloaded", "drop", "cut", "shuffled", "too much",
]  # fmt: skip
ONE_TEXT: list[Kind] = ["nan", "infinite", "zero"]
FINAL: list[Kind] = [
    "quota", "fewer", "more", "repeated", "out of range", "wrong length", "uneven", "base64",
    "nul bytes", "web page", "no data",
]  # fmt: skip


@dataclass(frozen=True)
class Schedule:
    """One run: how many texts, how they are sent, and what goes wrong."""

    n_texts: int
    per_request: int
    at_once: int
    faults: list[Fault | None]
    bad: frozenset[int]  # texts that never get a usable vector


def faults(*kinds: list[Kind]) -> st.SearchStrategy[list[Fault | None]]:
    kind = st.sampled_from([kind for some in kinds for kind in some])
    one = st.builds(Fault, kind, st.none() | st.floats(0, 20))
    return st.lists(st.none() | one, max_size=12)


def schedules(*kinds: list[Kind], bad: int = 0) -> st.SearchStrategy[Schedule]:
    return st.builds(
        Schedule,
        st.integers(1, 30),
        st.integers(1, 10),
        st.integers(1, 4),
        faults(*kinds),
        st.frozensets(st.integers(0, 29), max_size=bad),
    )


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture(scope="module")
def service(server: EmbeddingServer) -> OpenAIService:
    account = open_account(OPENAI, None, SecretStr(server.openai_url))
    return open_at(account, "tiny", None, None, DEFAULT_EMBED_OPTIONS)


def run(
    server: EmbeddingServer, service: OpenAIService, schedule: Schedule
) -> tuple[list[str], dict[int, FloatArray], EmbeddingError | None]:
    """Embed by *schedule*; return the texts, what came of them, and how it ended."""
    server.reset()
    texts = [f"text number {i}" for i in range(schedule.n_texts)]
    server.faults.extend(schedule.faults)
    server.bad_texts = {text for i, text in enumerate(texts) if i in schedule.bad}
    service.limits = Limits(schedule.per_request, at_once=schedule.at_once)
    slept = [0.0]
    pace = Pace(now=lambda: sum(slept), sleep=slept.append)
    found: dict[int, FloatArray] = {}
    ended = None
    try:
        for embedded in call(service, texts, dimension=8, pace=pace):
            for position, vector in zip(embedded.positions.tolist(), embedded.vectors, strict=True):
                assert position not in found
                found[position] = vector
    except EmbeddingError as error:
        ended = error
    server.check()
    for position, vector in found.items():
        assert np.array_equal(vector, server.vector("tiny", texts[position]))
    paid_twice = {text: times for text, times in server.paid.items() if times > 1}
    assert not paid_twice
    if ended is not None:
        assert str(ended)
        assert "\n" not in str(ended)
    return texts, found, ended


@given(schedules(PASSING))
@settings(max_examples=100, deadline=None)
def test_faults_that_pass_cost_nothing(server, service, schedule):
    # A single text that is "too much" cannot be told from one that is too long.
    texts, found, ended = run(server, service, schedule)
    if ended is None:
        assert len(found) == len(texts)
    elif isinstance(ended, RefusedTexts):
        assert Fault("too much") in [
            fault and dataclasses.replace(fault, seconds=None) for fault in schedule.faults
        ]
        assert set(found) | set(ended.positions) == set(range(len(texts)))
    else:
        assert "gave up after" in str(ended)


@given(schedules(PASSING, ONE_TEXT, bad=10))
@settings(max_examples=100, deadline=None)
def test_texts_at_fault_are_named_and_all_others_are_embedded(server, service, schedule):
    texts, found, ended = run(server, service, schedule)
    bad = schedule.bad & set(range(len(texts)))
    if isinstance(ended, RefusedTexts):
        assert bad <= set(ended.positions)
        assert set(found) | set(ended.positions) == set(range(len(texts)))
        assert set(found).isdisjoint(ended.positions)
    elif ended is None:
        assert not bad
        assert len(found) == len(texts)


@given(schedules(PASSING, ONE_TEXT, FINAL, bad=3))
@settings(max_examples=150, deadline=None)
def test_whatever_goes_wrong_no_text_is_paid_for_twice(server, service, schedule):
    texts, found, ended = run(server, service, schedule)
    assert ended is not None or len(found) == len(texts)


def test_the_fixture_serves_what_the_module_says(server, service):
    """Without faults a run succeeds, so the tests above do not pass by failing early."""
    texts, found, ended = run(server, service, Schedule(30, 7, 4, [], frozenset()))
    assert ended is None
    assert len(found) == len(texts) == 30
    assert sum(server.paid.values()) == 30
