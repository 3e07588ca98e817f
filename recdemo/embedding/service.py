"""What a provider file implements, and how its answers and refusals are told apart.

A provider knows one thing: to send one request. Cutting texts into requests, sending several at
once, waiting, splitting, checking and keeping are the same for all of them and live above it
(`recdemo.embedding.calling`, `recdemo.embedding.cache`). So a provider file stays small, and what
it raises is one of the refusals below, never a foreign exception.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request to a service may hold."""

    texts: int  # per request
    request_tokens: int | None = None  # over all texts of a request
    request_bytes: int = 4 * 2**20  # of the texts, UTF-8
    text_tokens: int | None = None  # the context of the model; None: not known
    at_once: int = 1  # requests under way at the same time


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """The answer to one request."""

    vectors: FloatArray  # (b, dimension) in the order of the texts, as many as texts
    tokens: int = 0  # used, as the service counts them; 0 where it does not tell


class Service(Protocol):
    """Embeds a handful of texts with one request; implementations need not inherit from it.

    A provider module has two functions: ``open_service(model, dimension, known, options) ->
    Service``, where *dimension* is what the service is asked for (None: the model's own) and
    *known* the row of ``models.toml`` or None; and ``usable(model) -> str | None``, which tells
    within a second or two why the model cannot be used right now, with the remedy.
    """

    @property
    def limits(self) -> Limits:
        """What one request may hold."""
        ...

    @property
    def revision(self) -> str:
        """What else the vectors depend on: a base URL of one's own, a model's digest."""
        ...

    def request(self, texts: Sequence[str]) -> Reply:
        """Embed *texts*, prefix included, with one request.

        Raises a `Refusal`, or an `EmbeddingError`, which is final: wrong key, unknown model,
        quota exhausted, nobody answers. Does not retry. Called from several threads at once
        where ``limits.at_once`` is above 1.
        """
        ...


class Refusal(Exception):
    """A request failed in a way that another request may mend."""


class Later(Refusal):
    """The same request may succeed later: rate limit, overload, time-out, broken connection."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after  # seconds that the service asks to wait


class TooMuch(Refusal):
    """The request holds too much; half of it may pass. Of a single text: it is too long."""


class Unusable(Refusal):
    """One of the texts cannot be embedded (NaN, say); the others may pass without it."""
