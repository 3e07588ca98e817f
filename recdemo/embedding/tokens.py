"""How many tokens a text has: exactly where that can be told here, else an estimate.

tiktoken is optional, and it fetches its vocabulary from the network when that is not on disk yet.
That is never let happen: a blocked network would make a count hang or fail. The estimate errs on
the safe side for nearly all texts: it says rather too many tokens than too few.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

WORD = 40  # characters that a cut goes back, at most, to end between two words
_ENCODING = "cl100k_base"  # of all embedding models of OpenAI so far


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts the tokens of a text."""

    name: str
    exact: bool  # as the service counts; False: an estimate
    count: Callable[[str], int]

    def cut(self, text: str, tokens: int) -> str:
        """Return the longest start of *text* that has at most so many tokens.

        It ends between two words where words are of a usual length, and never within a
        character that is made of several.
        """
        if self.count(text) <= tokens:
            return text
        end = bisect_right(range(1, len(text)), tokens, key=lambda end: self.count(text[:end]))
        while end > 0:
            end = _between_words(text, _between_characters(text, end))
            if self.count(text[:end]) <= tokens:  # a start may have more tokens than a longer one
                break
            end -= 1
        return text[:end].rstrip()


def token_counter(model: str) -> TokenCounter:
    """Return the best counter at hand for a model, ``provider:name``."""
    if model.startswith("openai:text-embedding-"):
        return _tiktoken() or ESTIMATE
    return ESTIMATE


def count_tokens(text: str, model: str) -> int:
    """Return the tokens of *text*; ``token_counter(model).exact`` tells whether that is sure."""
    return token_counter(model).count(text)


def estimate_tokens(text: str) -> int:
    """Return bytes / 3, rounded up, but no fewer than words.

    Outside ASCII it is bytes / 2: a Chinese character, three bytes, may well be two tokens.
    """
    if text.isascii():
        thirds = len(text)
    else:
        ascii_bytes = len(text.encode("ascii", "ignore"))
        others = len(text.encode("utf-8", "surrogatepass")) - ascii_bytes
        thirds = ascii_bytes + others + -(-others // 2)
    return max(-(-thirds // 3), len(text.split()))


ESTIMATE = TokenCounter("estimate", False, estimate_tokens)


class _OfflineError(Exception):
    """tiktoken was about to fetch its vocabulary."""


@cache
def _tiktoken() -> TokenCounter | None:
    try:
        tiktoken: Any = import_module("tiktoken")
        loader: Any = import_module("tiktoken.load")
        fetch = loader.read_file
    except (ImportError, AttributeError):  # not there, or of a version that is not understood
        return None

    def refuse(address: str) -> bytes:
        raise _OfflineError(address)

    loader.read_file = refuse  # what is on disk is read by other means
    try:
        encoding = tiktoken.get_encoding(_ENCODING)
    except _OfflineError:
        return None
    finally:
        loader.read_file = fetch
    return TokenCounter(_ENCODING, True, lambda text: len(encoding.encode_ordinary(text)))


def _between_words(text: str, end: int) -> int:
    """Return the last end of a word up to *end*, or *end* itself where none is near."""
    if end >= len(text) or text[end].isspace():
        return end
    for place in range(end - 1, max(end - WORD, 0), -1):
        if text[place].isspace():
            return place
    return end


def _between_characters(text: str, end: int) -> int:
    """Return an end up to *end* that keeps marks and joined emoji with what they belong to."""
    while 0 < end < len(text) and (_joins(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    return end


def _joins(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me", "Mc") or character in (
        "\u200d\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"  # joiner, skin tones
    )
