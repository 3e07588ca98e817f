"""Different texts with the same vector: a sign that a server drops or confuses texts."""

import hashlib
from collections.abc import Sequence

from recdemo.embedding import FloatArray

_SHOWN = 2  # pairs
_START = 60  # characters of each text


class Twins:
    """Looks at all vectors of a model as they pass."""

    def __init__(self) -> None:
        self._first: dict[bytes, str] = {}  # hash of a vector -> the first text that has it
        self._groups: dict[bytes, list[str]] = {}  # of two texts or more

    @property
    def count(self) -> int:
        """How many texts share their vector with a different one."""
        return sum(map(len, self._groups.values()))

    def look(self, texts: Sequence[str], vectors: FloatArray) -> None:
        """Take note of the vectors of *texts*, each of which comes once."""
        for text, vector in zip(texts, vectors, strict=True):
            digest = hashlib.blake2b(vector.tobytes(), digest_size=16).digest()
            first = self._first.setdefault(digest, text)
            if first is not text:
                self._groups.setdefault(digest, [first]).append(text)

    def warning(self, model: str) -> str:
        """Say how many there are, with two examples."""
        pairs = [
            f"{_start(group[0])} and {_start(group[1])}"
            for group in list(self._groups.values())[:_SHOWN]
        ]
        return (
            f"{self.count:,} different texts have the same vector as another one by {model}: "
            f"{'; '.join(pairs)}; it may cut or confuse texts, so check it before you trust it"
        )


def _start(text: str) -> str:
    return repr(text if len(text) <= _START else text[: _START - 1] + "…")
