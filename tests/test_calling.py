import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from recdemo.embedding import Embedded
from recdemo.embedding.calling import call
from recdemo.embedding.refused import RefusedTexts
from recdemo.embedding.service import Later, Limits, Reply, TooMuch, Unusable
from recdemo.embedding.tokens import TokenCounter
from recdemo.embedding.watching import Pace, wait_line
from recdemo.errors import EmbeddingError

WORDS = TokenCounter("words", True, lambda text: len(text.split()))
ABOUT_WORDS = TokenCounter("words", False, lambda text: len(text.split()))


def right(text: str) -> list[float]:
    """The vector that every service of these tests gives a text."""
    return [1.0, float(len(text)), float(sum(map(ord, text)))]


def answer(texts: Sequence[str]) -> Reply:
    return Reply(np.array([right(text) for text in texts], np.float32), tokens=10 * len(texts))


@dataclass
class FakeService:
    """Answers rightly, unless *refuse* raises; notes what it was sent."""

    limits: Limits = field(default_factory=lambda: Limits(texts=4))
    refuse: Callable[[list[str]], Reply | None] = lambda texts: None
    revision: str = ""
    sent: list[list[str]] = field(default_factory=list)

    def request(self, texts: Sequence[str]) -> Reply:
        self.sent.append(list(texts))
        return self.refuse(list(texts)) or answer(texts)


@dataclass
class FakeClock:
    """Time that passes only by sleeping."""

    time: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def pace(self, chance: float = 1.0) -> Pace:
        return Pace(grace=1.0, now=lambda: self.time, sleep=self.sleep, chance=lambda: chance)


@dataclass
class Notes:
    """A watcher that writes down what it is told, and in which thread."""

    texts: int = 0
    tokens: int = 0
    waits: list[tuple[str, float]] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def embedded(self, texts: int, tokens: int) -> None:
        self.threads.add(threading.get_ident())
        self.texts += texts
        self.tokens += tokens

    def waiting(self, reason: str, seconds: float) -> None:
        self.threads.add(threading.get_ident())
        self.waits.append((reason, seconds))

    def truncated(self, position: int) -> None:
        self.cut.append(position)


def times(refusals: list[Exception]) -> Callable[[list[str]], Reply | None]:
    """Raise each of *refusals* once, then none."""
    left = iter(refusals)

    def refuse(texts: list[str]) -> Reply | None:
        refusal = next(left, None)
        if refusal is not None:
            raise refusal
        return None

    return refuse


def collect(
    answers: Iterator[Embedded], into: dict[int, list[float]] | None = None
) -> dict[int, list[float]]:
    """Gather vectors by position; a position that comes twice fails the test."""
    found: dict[int, list[float]] = {} if into is None else into
    for embedded in answers:
        for position, vector in zip(embedded.positions, embedded.vectors, strict=True):
            assert int(position) not in found
            found[int(position)] = vector.tolist()
    return found


def expected(texts: Sequence[str]) -> dict[int, list[float]]:
    return {i: np.array(right(text), np.float32).tolist() for i, text in enumerate(texts)}


TEN = [f"text {'x' * i}" for i in range(10)]


def test_every_text_gets_its_own_vector_and_the_watcher_is_told() -> None:
    service, notes = FakeService(), Notes()
    assert collect(call(service, TEN, watcher=notes)) == expected(TEN)
    assert service.sent == [TEN[:4], TEN[4:8], TEN[8:]]
    assert (notes.texts, notes.tokens, notes.threads) == (10, 100, {threading.get_ident()})


def test_no_texts_need_no_request() -> None:
    service = FakeService()
    assert collect(call(service, [])) == {}
    assert service.sent == []


def test_a_rate_limit_is_waited_for_as_long_as_the_service_asks() -> None:
    clock, notes = FakeClock(), Notes()
    service = FakeService(refuse=times([Later("rate limit", after=7.0)]))
    found = collect(call(service, TEN[:2], watcher=notes, pace=clock.pace(chance=0.0)))
    assert found == expected(TEN[:2])
    assert clock.slept == [7.0]
    assert notes.waits == [("rate limit", 7.0)]
    assert len(service.sent) == 2


def test_waits_double_from_half_a_second_up_to_thirty() -> None:
    clock = FakeClock()
    service = FakeService(refuse=times([Later("overloaded")] * 8))
    assert collect(call(service, TEN[:1], pace=clock.pace())) == expected(TEN[:1])
    assert clock.slept == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_jitter_makes_waits_shorter_by_up_to_half_but_never_shorter_than_asked_for() -> None:
    pace = FakeClock().pace(chance=0.0)
    assert [pace.delay(0, None), pace.delay(3, None)] == [0.25, 2.0]
    assert pace.delay(0, 9.0) == 9.0
    assert FakeClock().pace(chance=1.0).delay(0, 10.0) == 11.0
    assert pace.delay(5, 0.0) == 0.5  # "retry after 0 seconds" is no reason to hammer
    assert pace.delay(10**6, None) == 15.0


def test_a_service_that_stays_away_is_given_up_after_five_minutes() -> None:
    clock = FakeClock()

    def refuse(texts: list[str]) -> Reply | None:
        raise Later("the service is overloaded")

    with pytest.raises(
        EmbeddingError, match=r"is overloaded; gave up after 2\d\d s, .*again later"
    ):
        collect(call(FakeService(refuse=refuse), TEN, pace=clock.pace()))
    assert 270 < sum(clock.slept) <= 300


def test_a_wait_beyond_patience_is_not_begun() -> None:
    clock = FakeClock()
    service = FakeService(refuse=times([Later("rate limit", after=3600.0)]))
    with pytest.raises(EmbeddingError, match="next attempt would be in 3,600 s"):
        collect(call(service, TEN[:1], pace=clock.pace(chance=0.0)))
    assert clock.slept == []


def test_a_request_that_is_too_large_is_halved_until_it_passes() -> None:
    def refuse(texts: list[str]) -> Reply | None:
        if len(texts) > 2:
            raise TooMuch("at most two")
        return None

    service = FakeService(Limits(texts=8), refuse)
    assert collect(call(service, TEN[:8])) == expected(TEN[:8])
    assert [len(texts) for texts in service.sent] == [8, 4, 2, 2, 4, 2, 2]


def longer_than(words: int) -> Callable[[list[str]], Reply | None]:
    def refuse(texts: list[str]) -> Reply | None:
        if any(len(text.split()) > words for text in texts):
            raise TooMuch(f"the context is {words} tokens")
        return None

    return refuse


def test_a_text_that_is_too_long_is_named_after_all_others_are_embedded() -> None:
    texts = ["a", "b", "much too long", "c"]
    found: dict[int, list[float]] = {}
    with pytest.raises(RefusedTexts) as caught:
        collect(call(FakeService(refuse=longer_than(2)), texts), found)
    assert sorted(found) == [0, 1, 3]
    assert caught.value.positions == (2,)
    assert str(caught.value) == (
        "1 of 4 texts cannot be embedded: text 3 'much too long' (the context is 2 tokens); "
        "the 3 others are embedded and kept; shorten them, or have them cut with "
        "--on-long truncate"
    )


def test_a_text_that_is_surely_too_long_is_refused_before_any_request() -> None:
    service = FakeService(Limits(texts=4, text_tokens=2))
    with pytest.raises(RefusedTexts, match=r"2 of 4 texts .*text 2 'a b c' .more than 2 tokens"):
        collect(call(service, ["a", "a b c", "b", "c d e"], counter=WORDS))
    assert service.sent == []


def test_a_text_that_only_seems_too_long_is_for_the_service_to_judge() -> None:
    service = FakeService(Limits(texts=4, text_tokens=2))
    texts = ["a", "a b c", "b"]
    assert collect(call(service, texts, counter=ABOUT_WORDS)) == expected(texts)
    assert sorted(service.sent) == [["a"], ["a b c"], ["b"]]


def test_a_text_that_is_surely_too_long_is_cut_below_the_limit_once_and_counted() -> None:
    service, notes = FakeService(Limits(texts=4, text_tokens=3), longer_than(3)), Notes()
    texts = ["a", "one two three four"]
    found = collect(call(service, texts, on_long="truncate", counter=WORDS, watcher=notes))
    assert found == expected(["a", "one two"])
    assert service.sent == [["a", "one two"]]
    assert notes.cut == [1]


def test_a_text_that_the_service_finds_too_long_is_cut_and_sent_again() -> None:
    service, notes = FakeService(Limits(texts=4, text_tokens=3), longer_than(3)), Notes()
    found = collect(
        call(
            service, ["one two three four"], on_long="truncate", counter=ABOUT_WORDS, watcher=notes
        )
    )
    assert found == expected(["one two"])
    assert service.sent == [["one two three four"], ["one two"]]
    assert notes.cut == [0]


def test_a_cut_goes_on_where_the_service_counts_more_than_we_do() -> None:
    # The limit is not known.
    service, notes = FakeService(refuse=longer_than(5)), Notes()
    text = "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10"
    assert collect(
        call(service, [text], on_long="truncate", counter=ABOUT_WORDS, watcher=notes)
    ) == expected(["w1 w2 w3 w4 w5"])  # 10, 7, 5 words
    assert notes.cut == [0]


def test_a_text_that_no_cut_mends_ends_in_an_error() -> None:
    def refuse(texts: list[str]) -> Reply | None:
        raise TooMuch("always")

    with pytest.raises(RefusedTexts, match="always"):
        collect(call(FakeService(refuse=refuse), ["one two three"], on_long="truncate"))


def bad_text(texts: list[str]) -> Reply | None:
    if "bad" in texts:
        raise Unusable("NaN")
    return None


def test_one_bad_text_is_found_and_the_other_nine_are_embedded() -> None:
    texts = [*TEN[:6], "bad", *TEN[6:9]]
    service, found = FakeService(Limits(texts=10), bad_text), dict[int, list[float]]()
    with pytest.raises(RefusedTexts, match=r"1 of 10 texts .* text 7 'bad' .NaN.*the 9 others"):
        collect(call(service, texts), found)
    wanted = expected(texts)
    del wanted[6]
    assert found == wanted
    assert service.sent.count(["bad"]) == 1


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_is_set_aside_and_not_paid_for_again(wrong: float) -> None:
    def refuse(texts: list[str]) -> Reply | None:
        vectors = answer(texts).vectors.copy()
        vectors[1, 2] = wrong
        return Reply(vectors, 40)

    service, notes, found = FakeService(refuse=refuse), Notes(), dict[int, list[float]]()
    with pytest.raises(RefusedTexts, match=r"text 2 'text x' .a vector with NaN or infinity"):
        collect(call(service, TEN[:4], watcher=notes), found)
    assert sorted(found) == [0, 2, 3]
    assert len(service.sent) == 1
    assert (notes.texts, notes.tokens) == (3, 40)


def test_a_vector_of_zeros_is_never_given_out() -> None:
    service = FakeService(refuse=lambda texts: Reply(np.zeros((len(texts), 3), np.float32)))
    with pytest.raises(RefusedTexts, match=r"3 of 3 texts .*a vector of zeros"):
        collect(call(service, TEN[:3]))


def test_tiny_vectors_are_not_zeros() -> None:
    tiny = np.full((1, 3), 1e-40, np.float32)
    service = FakeService(refuse=lambda texts: Reply(tiny))
    assert len(collect(call(service, TEN[:1]))) == 1


def test_a_model_that_embeds_nothing_is_given_up_after_twenty_texts() -> None:
    def refuse(texts: list[str]) -> Reply | None:
        raise Unusable("NaN")

    service = FakeService(Limits(texts=1), refuse)
    with pytest.raises(RefusedTexts, match=r"20 of 100 texts .* and 17 more"):
        collect(call(service, ["x"] * 100))
    assert len(service.sent) == 20


@pytest.mark.parametrize("n", [3, 5])
def test_fewer_or_more_vectors_than_texts_are_final(n: int) -> None:
    service = FakeService(refuse=lambda texts: Reply(np.ones((n, 3), np.float32)))
    with pytest.raises(EmbeddingError, match=f"answered {n} vectors to 4 texts"):
        collect(call(service, TEN[:4]))
    assert len(service.sent) == 1


def test_a_wrong_length_names_both_numbers_and_nothing_of_the_answer_is_used() -> None:
    service = FakeService(refuse=lambda texts: Reply(np.ones((len(texts), 1024), np.float32)))
    found: dict[int, list[float]] = {}
    with pytest.raises(EmbeddingError, match="asked for 256, got 1024"):
        collect(call(service, TEN[:4], dimension=256), found)
    assert found == {}


def test_all_answers_have_the_length_of_the_first() -> None:
    lengths = iter([3, 4])
    service = FakeService(refuse=lambda texts: Reply(np.ones((len(texts), next(lengths)), "f4")))
    with pytest.raises(EmbeddingError, match="asked for 3, got 4"):
        collect(call(service, TEN[:8]))


def test_a_final_error_ends_the_run_after_what_was_answered() -> None:
    service = FakeService(refuse=lambda texts: None)
    service.refuse = lambda texts: fail("quota used up") if TEN[4] in texts else None
    found: dict[int, list[float]] = {}
    with pytest.raises(EmbeddingError, match="quota used up"):
        collect(call(service, TEN), found)
    assert sorted(found) == [0, 1, 2, 3]
    assert len(service.sent) == 2  # the third request never starts


def fail(words: str) -> Reply | None:
    raise EmbeddingError(words)


def test_a_mistake_of_a_programmer_keeps_its_type() -> None:
    def refuse(texts: list[str]) -> Reply | None:
        raise ZeroDivisionError("oops")

    with pytest.raises(ZeroDivisionError, match="oops"):
        collect(call(FakeService(refuse=refuse), TEN))


@dataclass
class HeldService:
    """Each request waits until the test lets it go."""

    limits: Limits
    revision: str = ""
    arrived: "queue.Queue[tuple[list[str], queue.Queue[Exception | None]]]" = field(
        default_factory=queue.Queue
    )

    def request(self, texts: Sequence[str]) -> Reply:
        gate: queue.Queue[Exception | None] = queue.Queue()
        self.arrived.put((list(texts), gate))
        refusal = gate.get(timeout=10)
        if refusal is not None:
            raise refusal
        return answer(texts)


def in_thread(service: HeldService, texts: Sequence[str]) -> "queue.Queue[object]":
    """Run a call in a thread; the queue gets each answer, and at the end its error or None."""
    out: queue.Queue[object] = queue.Queue()

    def run() -> None:
        try:
            for embedded in call(service, texts, pace=FakeClock().pace()):
                out.put(embedded.positions.tolist())
        except EmbeddingError as error:
            out.put(error)
        else:
            out.put(None)

    threading.Thread(target=run, daemon=True).start()
    return out


def test_requests_are_under_way_at_once_and_answers_come_as_they_arrive() -> None:
    service = HeldService(Limits(texts=1, at_once=3))
    out = in_thread(service, ["a", "b", "c", "d"])
    gates = dict(
        (texts[0], gate) for texts, gate in [service.arrived.get(timeout=10) for _ in range(3)]
    )
    assert sorted(gates) == ["a", "b", "c"]
    assert service.arrived.empty()  # no more than three
    gates["b"].put(None)
    assert out.get(timeout=10) == [1]
    (texts, gate) = service.arrived.get(timeout=10)
    assert texts == ["d"]
    for held, position in ((gate, 3), (gates["c"], 2), (gates["a"], 0)):
        held.put(None)
        assert out.get(timeout=10) == [position]
    assert out.get(timeout=10) is None


def test_the_next_request_is_under_way_while_the_caller_stores_an_answer() -> None:
    second = threading.Event()

    def refuse(texts: list[str]) -> Reply | None:
        if texts == ["b"]:
            second.set()
        return None

    answers = call(FakeService(Limits(texts=1), refuse), ["a", "b"])
    next(answers)
    assert second.wait(timeout=10)
    assert len(collect(answers)) == 1


def test_answers_under_way_when_the_run_fails_are_still_given_out() -> None:
    failing: queue.Queue[threading.Thread] = queue.Queue()

    def refuse(texts: list[str]) -> Reply | None:
        if texts == ["a"]:
            failing.put(threading.current_thread())
            raise EmbeddingError("quota used up")
        failing.get(timeout=10).join()  # so that the run has failed when this one answers
        return None

    service, found = FakeService(Limits(texts=1, at_once=2), refuse), dict[int, list[float]]()
    with pytest.raises(EmbeddingError, match="quota used up"):
        collect(call(service, ["a", "b", "c"]), found)
    assert sorted(found) == [1]
    assert sorted(service.sent) == [["a"], ["b"]]  # c was never sent


def test_a_request_that_hangs_does_not_hold_up_a_run_that_has_failed() -> None:
    service = HeldService(Limits(texts=1, at_once=2))
    out: list[str] = []

    def fail_first() -> None:
        held = dict((t[0], gate) for t, gate in [service.arrived.get(timeout=10) for _ in "ab"])
        held["a"].put(EmbeddingError("quota used up"))

    threading.Thread(target=fail_first, daemon=True).start()
    pace = Pace(grace=0.01)
    with pytest.raises(EmbeddingError, match="quota used up"):
        out.extend(str(e.positions) for e in call(service, ["a", "b", "c"], pace=pace))
    assert out == []


def test_closing_the_generator_starts_no_request_and_waits_for_none() -> None:
    service = HeldService(Limits(texts=1, at_once=2))
    answers = call(service, ["a", "b", "c", "d", "e"])

    def let_one_go() -> None:
        service.arrived.get(timeout=10)[1].put(None)

    threading.Thread(target=let_one_go, daemon=True).start()
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    seen = 1
    while not service.arrived.empty():  # those that had started before
        service.arrived.get()
        seen += 1
    assert seen <= 3


def test_a_service_that_asks_for_patience_gets_one_request_and_then_more_again() -> None:
    service = HeldService(Limits(texts=1, at_once=3))
    out = in_thread(service, ["a", "b", "c", "d"])
    for gate in [service.arrived.get(timeout=10)[1] for _ in range(3)]:
        gate.put(Later("rate limit"))
    gate = service.arrived.get(timeout=10)[1]
    with pytest.raises(queue.Empty):
        service.arrived.get(timeout=0.1)
    gate.put(None)
    for gate in [service.arrived.get(timeout=10)[1] for _ in range(2)]:
        gate.put(None)
    service.arrived.get(timeout=10)[1].put(None)
    results = [out.get(timeout=10) for _ in range(5)]
    assert sorted(str(result) for result in results) == ["None", "[0]", "[1]", "[2]", "[3]"]


def test_the_longest_wait_that_is_asked_for_holds_for_all() -> None:
    clock, first = FakeClock(), queue.Queue[threading.Thread]()
    left = {"a", "b"}

    def refuse(texts: list[str]) -> Reply | None:
        if texts[0] not in left:
            return None
        left.remove(texts[0])
        if texts == ["a"]:
            first.put(threading.current_thread())
            raise Later("rate limit", after=100.0)
        first.get(timeout=10).join()  # so that this one is heard of last
        raise Later("rate limit", after=1.0)

    service = FakeService(Limits(texts=1, at_once=2), refuse)
    found = collect(call(service, ["a", "b"], pace=clock.pace(chance=0.0)))
    assert found == expected(["a", "b"])
    assert clock.slept == [100.0]


INTERRUPTED = """
import os, threading
import numpy as np
from recdemo.embedding.calling import call
from recdemo.embedding.service import Limits, Reply

def say(word):
    os.write(1, f"{word}\\n".encode())  # in one piece, whatever else is said

class Service:
    limits, revision = Limits(texts=1, at_once=2), ""

    def request(self, texts):
        if texts[0] != "first":
            say("hangs")
            threading.Event().wait()
        return Reply(np.ones((1, 3), np.float32))

for embedded in call(Service(), ["first", "second", "third"]):
    say("embedded")
"""


def test_ctrl_c_ends_a_run_whose_requests_hang() -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert run.stdout is not None
        lines = sorted(run.stdout.readline() for _ in range(3))
        run.send_signal(signal.SIGINT)
        said, error = run.communicate(timeout=30)
    finally:
        run.kill()
    assert lines == ["embedded\n", "hangs\n", "hangs\n"]
    assert said == ""
    assert "KeyboardInterrupt" in error
    assert run.returncode != 0


def test_a_wait_is_never_said_to_be_of_no_time() -> None:
    assert wait_line("busy", 0.3) == "waiting 1 s: busy"
    assert wait_line("busy", 12.6) == "waiting 13 s: busy"
