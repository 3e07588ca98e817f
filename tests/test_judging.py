import os
import signal
from functools import partial

import numpy as np
import pytest

from recdemo import judging
from recdemo.errors import EmbeddingError, StoreError
from recdemo.judging import judges
from recdemo.plans import Request, carry_out
from recdemo.protocols import Judgment
from recdemo.runs import differences
from recdemo.scoring.recall import Scores
from recdemo.store.edge import EdgeStore
from tests import tiny
from tests.fakes import MemoryStore

REQUEST = Request(
    models=("baseline:popularity", "baseline:genre", "baseline:random@3", "baseline:random@4"),
    ks=(1, 2),
)


class FakeJudge:
    """Says in which process it judged, or whether that is deaf to Ctrl-C; ends it, or refuses."""

    ks = (1,)
    n_queries = 1
    n_rated = 2

    def light(self):
        return self

    def judge(self, store, name):
        if name == "end":
            os._exit(1)
        if name == "refuse":
            raise EmbeddingError("no vector for what is asked")
        held = name == "deaf" and signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        value = np.array([[float(held if name == "deaf" else os.getpid())]])
        return [Judgment("overlap", "jaccard", Scores(np.zeros(1, np.int32), (1,), value, value))]


def process_of(answer) -> int:
    return int(answer().judgments[0].scores.recall[0, 0])


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    monkeypatch.setattr(judging, "n_processors", lambda: 2)


def test_processes_give_the_numbers_of_one(home, tmp_path):
    folder = tmp_path / "collections"
    store = EdgeStore(folder)
    alone = carry_out(REQUEST, store, "embedded", dataset=tiny.dataset())
    reopen = partial(EdgeStore, folder)
    beside = carry_out(REQUEST, store, "embedded", dataset=tiny.dataset(), reopen=reopen)
    assert differences(alone, beside) == []
    assert [row.recall for row in alone.rows] == [row.recall for row in beside.rows]


def test_several_collections_are_judged_in_other_processes():
    with judges(MemoryStore(), FakeJudge(), MemoryStore, 3) as beside:
        answers = [beside(name) for name in "abc"]
        assert os.getpid() not in {process_of(answer) for answer in answers}


@pytest.mark.parametrize(("reopen", "n"), [(None, 9), (MemoryStore, 2)])
def test_few_collections_or_a_store_of_this_process_are_judged_here(reopen, n):
    with judges(MemoryStore(), FakeJudge(), reopen, n) as here:
        assert process_of(here("a")) == os.getpid()


def test_an_error_in_a_process_comes_back_as_it_was():
    with judges(MemoryStore(), FakeJudge(), MemoryStore, 3) as beside:
        answer = beside("refuse")
        with pytest.raises(EmbeddingError, match="no vector for what is asked"):
            answer()


def test_a_process_that_is_ended_from_outside_is_one_line():
    with judges(MemoryStore(), FakeJudge(), MemoryStore, 3) as beside:
        answer = beside("end")
        with pytest.raises(StoreError, match="ended from outside"):
            answer()


def test_an_error_here_does_not_wait_for_the_work_there():
    def interrupted() -> None:
        with judges(MemoryStore(), FakeJudge(), MemoryStore, 9) as beside:
            for name in "abcdefghi":
                beside(name)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be held here")
def test_a_process_is_deaf_to_ctrl_c_from_its_first_moment_and_this_one_is_not():
    with judges(MemoryStore(), FakeJudge(), MemoryStore, 3) as beside:
        assert process_of(beside("deaf")) == 1
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
