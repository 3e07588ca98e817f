"""Ask a chat model many things: requests side by side, waited for, none asked twice.

As in `recdemo.embedding.calling`, the calling thread decides everything, and each request has a
thread of its own that only sends it; a daemon, so that Ctrl-C leaves nothing to wait for.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from recdemo.chat import Chat, Said
from recdemo.embedding.service import Later, Refusal
from recdemo.embedding.watching import PACE, Pace
from recdemo.errors import EmbeddingError

_TICK = 0.2  # seconds; some systems deliver Ctrl-C only between two waits


@dataclass(frozen=True, slots=True)
class _Request:
    position: int
    attempts: int = 0  # that failed and may succeed later
    failing_since: float = 0.0


_Outcome: TypeAlias = tuple[_Request, Said | BaseException]


def ask_all(
    chat: Chat,
    prompts: Sequence[str],
    *,
    may_start: Callable[[], bool] = lambda: True,
    on_wait: Callable[[str, float], None] = lambda reason, seconds: None,
    pace: Pace = PACE,
) -> Iterator[tuple[int, Said]]:
    """Yield the position and the answer of each prompt as they arrive.

    Args:
        may_start: is asked before each request; where it says no, none starts any more.
        on_wait: is told why no request starts for so many seconds.
    """
    work = _Work(chat, prompts, may_start, on_wait, pace)
    work.waiting.extend(map(_Request, range(len(prompts))))
    yield from work.run()


@dataclass(slots=True)
class _Work:
    chat: Chat
    prompts: Sequence[str]
    may_start: Callable[[], bool]
    on_wait: Callable[[str, float], None]
    pace: Pace
    waiting: deque[_Request] = field(default_factory=deque)
    outcomes: "queue.SimpleQueue[_Outcome]" = field(default_factory=queue.SimpleQueue)
    under_way: int = 0
    not_before: float = 0.0  # when the next request may start

    def run(self) -> Iterator[tuple[int, Said]]:
        try:
            while self.waiting or self.under_way:
                self._start()
                outcome = self._next()
                if outcome is None:
                    continue
                said = self._take(*outcome)
                if said is not None:
                    yield outcome[0].position, said
        except EmbeddingError:
            yield from self._last_answers()
            raise

    def _start(self) -> None:
        while (
            self.waiting
            and self.under_way < self.chat.at_once
            and self.pace.now() >= self.not_before
        ):
            if not self.may_start():
                self.waiting.clear()
                return
            request = self.waiting.popleft()
            prompt = self.prompts[request.position]
            send = threading.Thread(
                target=_send, args=(self.chat, request, prompt, self.outcomes), daemon=True
            )
            self.under_way += 1
            send.start()

    def _next(self) -> _Outcome | None:
        """Wait for an outcome, or until a request may start; None when there is none yet."""
        pause = max(self.not_before - self.pace.now(), 0.0)
        if not self.under_way:
            self.pace.sleep(pause)
            return None
        has_room = self.waiting and self.under_way < self.chat.at_once
        try:
            outcome = self.outcomes.get(timeout=min(pause, _TICK) if has_room else _TICK)
        except queue.Empty:
            return None
        self.under_way -= 1
        return outcome

    def _take(self, request: _Request, outcome: Said | BaseException) -> Said | None:
        if isinstance(outcome, Said):
            return outcome
        if isinstance(outcome, Later):
            self._later(request, outcome)
            return None
        if isinstance(outcome, Refusal):  # of this prompt: it is too long, say
            return Said("", trouble=str(outcome))
        raise outcome

    def _later(self, request: _Request, refusal: Later) -> None:
        """Pause all requests, since what one met the next would meet, and send this one again."""
        now, attempts = self.pace.now(), request.attempts
        since = request.failing_since if attempts else now
        delay = self.pace.delay(attempts, refusal.after)
        if now + delay - since > self.pace.patience:
            raise EmbeddingError(
                f"{refusal}; gave up after {now - since:,.0f} s; what was written is kept, so run "
                "the same command again later"
            )
        self.not_before = max(self.not_before, now + delay)
        self.waiting.appendleft(replace(request, attempts=attempts + 1, failing_since=since))
        self.on_wait(str(refusal), delay)

    def _last_answers(self) -> Iterator[tuple[int, Said]]:
        """Yield what is answered shortly after the run has failed: it is paid for."""
        until = time.monotonic() + self.pace.grace
        while self.under_way:
            try:
                request, outcome = self.outcomes.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                return
            self.under_way -= 1
            if isinstance(outcome, Said):
                yield request.position, outcome


def _send(
    chat: Chat, request: _Request, prompt: str, outcomes: "queue.SimpleQueue[_Outcome]"
) -> None:
    outcome: Said | BaseException
    try:
        outcome = chat.ask(prompt)
    except BaseException as error:  # handed to the calling thread, which raises what it cannot mend
        outcome = error
    outcomes.put((request, outcome))
