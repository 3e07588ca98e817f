"""What the embedding server of the tests serves, receives and answers, and how it fails."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Kind: TypeAlias = Literal[
    # Refusals: nothing was embedded.
    "rate limit",  # 429, with retry-after where seconds are given
    "quota",  # 429 insufficient_quota
    "server error",  # 500
    "overloaded",  # 503
    "too much",  # 400, more tokens than one request may hold
    "hang",  # no answer until the server ends, or for the seconds given
    "drop",  # hangs up without a word
    # Answers with status 200.
    "cut",  # half an answer, then hangs up
    "slow",  # answers after the seconds given
    "fewer",  # one vector is missing
    "more",  # one vector too many
    "shuffled",  # in another order, the index of each being right
    "repeated",  # one index twice
    "out of range",  # an index beyond the texts
    "shifted",  # every vector stands one place too far on, the indexes being wrong
    "wrong length",  # vectors with eight numbers more than asked for
    "uneven",  # the last vector has one number less than the others
    "nan",  # a NaN in the last vector (OpenAI's form), or Ollama's error 500
    "infinite",  # numbers too large for float32 in the last vector
    "zero",  # a vector of zeros, the last one
    "constant",  # one vector for all texts
    "base64",  # base64 where numbers were asked for
    "nul bytes",  # NUL bytes in place of an answer
    "web page",  # HTML in place of an answer
    "no data",  # JSON of another kind
]


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail; `Kind` tells what each does."""

    kind: Kind
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model of the server."""

    dimension: int
    context: int  # tokens, one a word
    default: int | None = None  # numbers given where none are asked for; None: all
    shortens: bool = True  # takes ``dimensions`` in OpenAI's form
    texts: int | None = None  # per request of OpenAI's form, where not that of the address
    digest: str = "aaa"
    family: str = "bert"
    quantization: str = "F16"
    capabilities: tuple[str, ...] = ("embedding",)


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    bytes: int

    @property
    def texts(self) -> list[str]:
        given = self.body.get("input", [])
        return [given] if isinstance(given, str) else list(given)

    @property
    def tokens(self) -> int:
        return sum(count_words(text) for text in self.texts)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back; status 0 hangs up, ``cut`` hangs up in the middle."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


def reply(status: int, value: object, **headers: str) -> Answer:
    """Answer with JSON; ``retry_after="1"`` becomes the header ``retry-after: 1``."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(status, json.dumps(value).encode(), named)


def error_answer(status: int, message: str, code: str | None = None, **headers: str) -> Answer:
    """Answer as OpenAI does when it refuses."""
    body = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return reply(status, {"error": body}, **headers)


def count_words(text: str) -> int:
    return len(text.split())


def unit_vector(seed: str, dimension: int, shortened: int | None = None) -> NDArray[np.float32]:
    """Return numbers that *seed* decides, cut to *shortened* and of length 1."""
    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    full = np.random.default_rng(list(digest[:16])).standard_normal(dimension)
    cut = full[:shortened]
    return (cut / np.linalg.norm(cut)).astype(np.float32)


def spoil(fault: Fault | None, vectors: NDArray[np.float32]) -> list[list[float]]:
    """Apply what a fault does to the vectors themselves, ``(n, dimension)``."""
    kind = fault.kind if fault else None
    if kind == "constant":
        vectors = np.repeat(vectors[:1], len(vectors), axis=0)
    elif kind == "shifted":
        vectors = np.roll(vectors, 1, axis=0)
    elif kind == "wrong length":
        vectors = np.hstack([vectors, vectors[:, :8]])
    rows: list[list[float]] = vectors.tolist()
    last = {"nan": float("nan"), "infinite": 1e300, "zero": 0.0}
    if kind in last:
        rows[-1] = [last[kind]] * len(rows[-1]) if kind == "zero" else [last[kind], *rows[-1][1:]]
    elif kind == "uneven":
        rows[-1] = rows[-1][:-1]
    elif kind == "fewer":
        rows = rows[:-1]
    elif kind == "more":
        rows.append(rows[-1])
    return rows
