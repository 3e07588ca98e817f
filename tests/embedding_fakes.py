"""A service in this process, for tests of what stands between a service and an evaluation."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset import Dataset
from recdemo.embedding import shorten
from recdemo.embedding.service import Limits, Reply
from tests import tiny


def full_vector(text: str, native: int) -> NDArray[np.float32]:
    """Return the unit vector that every fake service gives to a text."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(native)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


@dataclass
class FakeService:
    """Answers three texts at a time; one token is one word."""

    native: int = 8
    dimension: int | None = None
    revision: str = ""
    limits: Limits = field(default_factory=lambda: Limits(texts=3))
    before: Callable[[Sequence[str]], None] = lambda texts: None  # raises what goes wrong
    requests: list[list[str]] = field(default_factory=list)

    def request(self, texts: Sequence[str]) -> Reply:
        self.requests.append(list(texts))
        self.before(texts)
        vectors = np.array([full_vector(text, self.native) for text in texts])
        tokens = sum(len(text.split()) for text in texts)
        return Reply(
            vectors if self.dimension is None else shorten(vectors, self.dimension), tokens
        )

    @property
    def sent(self) -> list[str]:
        return [text for request in self.requests for text in request]


def items(*texts: str) -> Dataset:
    """Return a data set of items with these texts, each touched by one user."""
    catalog = tiny.catalog(title=[f"Item {i}" for i in range(len(texts))], synopsis=list(texts))
    return tiny.dataset([[0]] * len(texts), catalog)
