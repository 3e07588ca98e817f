"""Embed texts with a service: requests side by side, waited for, split, checked.

The calling thread decides everything: it starts requests, waits, splits, checks and yields. Each
request has a thread of its own that does nothing but send it. So nothing is shared but a queue of
outcomes, a request starts only while someone asks for the next answer, and Ctrl-C or a generator
that is closed leaves nothing to stop: threads still under way are daemons, whose answers nobody
takes. A text that came back with status 200 is not sent again, since it has been paid for.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from recdemo.embedding import Embedded
from recdemo.embedding.batching import cut_requests
from recdemo.embedding.options import OnLong
from recdemo.embedding.refused import RefusedTexts, Trouble
from recdemo.embedding.service import Later, Reply, Service, TooMuch, Unusable
from recdemo.embedding.tokens import ESTIMATE, TokenCounter
from recdemo.embedding.watching import PACE, UNWATCHED, Pace, Watcher
from recdemo.errors import EmbeddingError

_TICK = 0.2  # seconds; some systems deliver Ctrl-C only between two waits
_CUTS = 8  # of one text that the service still finds too long
_HOPELESS = 20  # texts refused one by one, and none embedded: the fault is not in the texts


@dataclass(frozen=True, slots=True)
class _Request:
    positions: tuple[int, ...]
    attempts: int = 0  # that failed and may succeed later
    failing_since: float = 0.0


_Outcome: TypeAlias = tuple[_Request, Reply | BaseException]


def call(
    service: Service,
    texts: Sequence[str],
    *,
    dimension: int | None = None,
    on_long: OnLong = "error",
    counter: TokenCounter = ESTIMATE,
    watcher: Watcher = UNWATCHED,
    pace: Pace = PACE,
) -> Iterator[Embedded]:
    """Yield vectors as answers arrive, each text once; identical texts are not looked for.

    Texts that cannot be embedded are a `RefusedTexts` at the end, when all others have been
    yielded; texts that are surely too long are one before the first request.

    Args:
        texts: prefix included; none of them blank.
        dimension: of every vector; None where it is not known beforehand.
    """
    work = _Work(service, list(texts), dimension, on_long, counter, watcher, pace)
    work.prepare()
    yield from work.run()


@dataclass(slots=True)
class _Work:
    service: Service
    texts: list[str]  # those that are cut are cut here
    dimension: int | None
    on_long: OnLong
    counter: TokenCounter
    watcher: Watcher
    pace: Pace
    waiting: deque[_Request] = field(default_factory=deque)
    outcomes: "queue.SimpleQueue[_Outcome]" = field(default_factory=queue.SimpleQueue)
    under_way: int = 0
    at_once: int = 1  # falls when the service asks for patience, and rises again
    not_before: float = 0.0  # when the next request may start
    done: int = 0
    cuts: dict[int, int] = field(default_factory=dict)  # how often each text was cut
    troubles: dict[int, Trouble] = field(default_factory=dict)

    def prepare(self) -> None:
        """Cut texts into requests; what is surely too long is cut first, or refused."""
        limits = self.service.limits
        most = limits.text_tokens
        if self.counter.exact and most is not None:
            long = [i for i, text in enumerate(self.texts) if self.counter.count(text) > most]
            reason = f"more than {most:,} tokens"
            refused = {
                position: Trouble(self.texts[position], reason, too_long=True)
                for position in long
                if not self._shorten(position)
            }
            if refused:
                raise RefusedTexts(refused, len(self.texts), 0)
        self.at_once = limits.at_once
        self.waiting.extend(map(_Request, cut_requests(self.texts, limits, self.counter)))

    def run(self) -> Iterator[Embedded]:
        """Send all requests and yield what comes back."""
        try:
            while self.waiting or self.under_way:
                self._start()
                outcome = self._next()
                if outcome is None:
                    continue
                embedded = self._take(*outcome)
                self._start()  # before the caller stores this answer, not after
                if embedded is not None:
                    yield embedded
        except EmbeddingError:
            yield from self._last_answers()
            raise
        if self.troubles:
            self._refuse()

    def _start(self) -> None:
        """Start requests, as many as may be under way."""
        while self.waiting and self.under_way < self.at_once and self.pace.now() >= self.not_before:
            request = self.waiting.popleft()
            texts = [self.texts[position] for position in request.positions]
            send = threading.Thread(
                target=_send, args=(self.service, request, texts, self.outcomes), daemon=True
            )
            self.under_way += 1
            send.start()

    def _next(self) -> _Outcome | None:
        """Wait for an outcome, or until a request may start; None when there is none yet."""
        pause = self.not_before - self.pace.now()
        may_start = self.waiting and self.under_way < self.at_once
        if not self.under_way:
            self.pace.sleep(max(pause, 0.0))
            return None
        try:
            outcome = self.outcomes.get(timeout=min(max(pause, 0.0), _TICK) if may_start else _TICK)
        except queue.Empty:
            return None
        self.under_way -= 1
        return outcome

    def _take(self, request: _Request, outcome: Reply | BaseException) -> Embedded | None:
        """Turn an answer into vectors, and a refusal into requests to come."""
        if isinstance(outcome, Reply):
            self.at_once = min(self.at_once + 1, self.service.limits.at_once)
            return self._check(request, outcome)
        if isinstance(outcome, Later):
            self._later(request, outcome)
        elif isinstance(outcome, TooMuch | Unusable) and len(request.positions) > 1:
            half = len(request.positions) // 2
            for positions in (request.positions[half:], request.positions[:half]):
                self.waiting.appendleft(_Request(positions))
        elif isinstance(outcome, TooMuch):
            self._too_long(request.positions[0], str(outcome))
        elif isinstance(outcome, Unusable):
            self._set_aside(request.positions[0], str(outcome))
        else:
            raise outcome
        return None

    def _later(self, request: _Request, refusal: Later) -> None:
        """Pause all requests, since what one met the next would meet, and send this one again."""
        now, attempts = self.pace.now(), request.attempts
        since = request.failing_since if attempts else now
        delay = self.pace.delay(attempts, refusal.after)
        if now + delay - since > self.pace.patience:
            raise EmbeddingError(
                f"{refusal}; gave up after {now - since:,.0f} s, as the next attempt would be in "
                f"{delay:,.0f} s; what was embedded is kept, so run the same command again later"
            )
        self.at_once = max(1, self.at_once // 2)
        self.not_before = max(self.not_before, now + delay)
        self.waiting.appendleft(replace(request, attempts=attempts + 1, failing_since=since))
        self.watcher.waiting(str(refusal), delay)

    def _too_long(self, position: int, reason: str) -> None:
        """Cut a text and send it again, or give it up."""
        if self._shorten(position):
            self.waiting.appendleft(_Request((position,)))
        else:
            self._set_aside(position, reason, too_long=True)

    def _shorten(self, position: int) -> bool:
        """Cut a text that is too long; False where that is not wanted, or of no use any more."""
        cuts, text = self.cuts.get(position, 0), self.texts[position]
        if self.on_long == "error" or cuts == _CUTS:
            return False
        has, limit = self.counter.count(text), self.service.limits.text_tokens
        most = has * 3 // 4  # where no limit is known, or the service counts more than we do
        if limit is not None and has >= limit:
            most = limit - 1  # some models go wrong at the limit
        shorter = self.counter.cut(text, most)
        if not shorter.strip():
            return False
        self.texts[position] = shorter
        self.cuts[position] = cuts + 1
        if not cuts:
            self.watcher.truncated(position)
        return True

    def _set_aside(self, position: int, reason: str, too_long: bool = False) -> None:
        self.troubles[position] = Trouble(self.texts[position], reason, too_long)
        if not self.done and len(self.troubles) >= _HOPELESS:
            self._refuse()

    def _refuse(self) -> None:
        raise RefusedTexts(self.troubles, len(self.texts), self.done)

    def _check(self, request: _Request, reply: Reply) -> Embedded | None:
        """Hold an answer to count, length and use; texts without a usable vector are set aside."""
        vectors, positions = reply.vectors, np.array(request.positions)
        if len(vectors) != len(positions):
            raise EmbeddingError(
                f"the service answered {len(vectors):,} vectors to {len(positions):,} texts; "
                "none of them is used"
            )
        if self.dimension is None:
            self.dimension = vectors.shape[1]
        if vectors.shape[1] != self.dimension:
            raise EmbeddingError(
                f"asked for {self.dimension}, got {vectors.shape[1]} numbers per vector; the "
                "service does not shorten this model, or it is another model"
            )
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        good = np.isfinite(norms) & (norms > 0)
        n_good = int(good.sum())
        self.done += n_good
        self.watcher.embedded(n_good, reply.tokens)
        for i in np.flatnonzero(~good):
            reason = "a vector of zeros" if norms[i] == 0 else "a vector with NaN or infinity"
            self._set_aside(request.positions[i], reason)
        if n_good == len(good):
            return Embedded(positions, vectors, reply.tokens)
        return Embedded(positions[good], vectors[good], reply.tokens) if n_good else None

    def _last_answers(self) -> Iterator[Embedded]:
        """Yield what is answered shortly after the run has failed; no request starts any more."""
        until = time.monotonic() + self.pace.grace
        while self.under_way:
            try:
                request, outcome = self.outcomes.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                return
            self.under_way -= 1
            embedded = None
            if isinstance(outcome, Reply):
                with suppress(EmbeddingError):  # one is enough
                    embedded = self._check(request, outcome)
            if embedded is not None:
                yield embedded


def _send(
    service: Service,
    request: _Request,
    texts: Sequence[str],
    outcomes: "queue.SimpleQueue[_Outcome]",
) -> None:
    outcome: Reply | BaseException
    try:
        outcome = service.request(texts)
    except BaseException as error:  # handed to the calling thread, which raises what it cannot mend
        outcome = error
    outcomes.put((request, outcome))
