"""How titles and queries are compared: without case, accents, punctuation and articles.

A *key* is a title made comparable: ``Les Misérables`` has the key ``miserables`` and the
article ``les``. Inner punctuation can be dropped or count as a blank, since people type both
``mash`` and ``spider man``; a text with any has a key for each.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

Word: TypeAlias = tuple[str, ...]
"""One word of a query in its spellings, any of which may be found."""

_MARK = "-"  # stands for all punctuation until it is dropped or becomes a blank
_APOSTROPHES = "'`´ʹʻʼʽ‘’‛′＇"  # noqa: RUF001 (dropped: nobody types "schindler s list")
_LETTERS = {
    **{"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th"},
    **{"ħ": "h", "ŧ": "t", "ŋ": "n", "ı": "i", "ĸ": "k", "ə": "e"},  # noqa: RUF001
    "&": " and ",
}
# Combining classes that are part of a letter: vowel signs of Indic scripts, the nukta, the
# voicing of kana, the virama. All others are accents.
_KEPT_CLASSES = (0, 7, 8, 9)

_FRENCH = ("le", "la", "les", "l", "un", "une")
_OTHERS = ("el", "los", "las", "una", "il", "lo", "gli", "der", "das", "ein", "eine")
_ARTICLES = frozenset(("the", "a", "an", *_FRENCH, *_OTHERS))
# After a comma at the end these, too, are articles; at the start they are English words.
_LAST_ARTICLES = _ARTICLES | {"die", "i", "o", "os", "as", "de", "det", "den", "en", "et"}

_ALIAS = re.compile(r",?\s*\ba\.?k\.?a\.?:?\s+", re.IGNORECASE)
_INSIDE = re.compile(r"\(([^()]*)\)")
_YEAR = re.compile(r"\(?\b([0-9]{4})\b\)?")


class _Folding(dict[int, str]):
    """The table of `str.translate`; a character is added when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _folded(chr(code))
        return folded


_FOLDING = _Folding()


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a query."""

    words: tuple[Word, ...]  # all of them must be found
    keys: tuple[tuple[str, str], ...]  # (article or "", key) of the query taken as a title
    year: str = ""  # what was read as the year and is no part of the keys

    def without_article(self) -> "Reading":
        """Leave out the leading article, where there is one and more than it."""
        if len(self.words) < 2 or not self.keys[0][0]:
            return self
        keys = tuple(dict.fromkeys(("", key) for _, key in self.keys))
        return replace(self, words=self.words[1:], keys=keys)


def read_query(text: str) -> list[Reading]:
    """Read a query as it stands and, if it holds one, with its last year set apart.

    No word, no reading: a query of blanks and punctuation gives an empty list.
    """
    readings = [_reading(text)]
    years = list(_YEAR.finditer(text))
    if years:
        start, end = years[-1].span()
        rest = _reading(f"{text[:start]} {text[end:]}")
        readings.append(replace(rest, year=years[-1][1]))
    return [reading for reading in readings if reading.words]


def title_keys(title: str) -> Iterator[tuple[str, str]]:
    """Yield (article, key) of a title, of its other titles in parentheses, of all of it."""
    title = title.strip()
    opening = title.find(" (")
    if opening < 0 or not title.endswith(")"):
        yield from _keys(_comparable(title))
        return
    yield from _keys(_comparable(title[:opening]))
    for inside in _INSIDE.findall(title[opening:]):
        for other in _ALIAS.split(inside):
            yield from _keys(_comparable(other))
    yield from _keys(_comparable(title))


def spellings(text: str) -> Word:
    """Return the text without inner punctuation and, if it has any, with blanks for it."""
    return _spellings(_comparable(text))


def _reading(text: str) -> Reading:
    comparable = _comparable(text)
    words = dict.fromkeys(_spellings(token) for token in comparable.split())
    return Reading(tuple(word for word in words if word), tuple(_keys(comparable)))


def _keys(comparable: str) -> Iterator[tuple[str, str]]:
    for spelling in _spellings(comparable):
        first, _, rest = spelling.partition(" ")
        yield (first, rest) if rest and first in _ARTICLES else ("", spelling)


def _spellings(comparable: str) -> Word:
    dropped = _single_blanks(comparable.replace(_MARK, ""))
    if _MARK not in comparable or not dropped:
        return (dropped,) if dropped else ()
    apart = _single_blanks(comparable.replace(_MARK, " "))
    return (dropped,) if apart == dropped else (dropped, apart)


def _single_blanks(text: str) -> str:
    return " ".join(text.split()) if "  " in text else text.strip()


def _comparable(text: str) -> str:
    """Fold every character, and move an article from the end (``Matrix, The``) to the front."""
    # Composed before the table is asked, and after: kana have two forms of their voicing.
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).translate(_FOLDING))
    if _MARK in folded:
        start, _, end = folded.rpartition(_MARK)
        if end.strip() in _LAST_ARTICLES and not start.isspace():
            return f"{end} {start}"
    return folded


def _folded(character: str) -> str:
    if character in _APOSTROPHES:
        return ""
    pieces = unicodedata.normalize("NFKD", character).casefold()
    blank = " " if "\N{FRACTION SLASH}" in pieces else ""  # 8½ is 8 1/2, not 81/2
    return blank + "".join(map(_folded_piece, unicodedata.normalize("NFKD", pieces)))


def _folded_piece(piece: str) -> str:
    if piece in _LETTERS:
        return _LETTERS[piece]
    if unicodedata.combining(piece) not in _KEPT_CLASSES:
        return ""
    category = unicodedata.category(piece)
    if category in ("Cf", "Me") or "VARIATION SELECTOR" in unicodedata.name(piece, ""):
        return ""
    if category[0] in "LMN":
        return piece
    return " " if category[0] in "CZ" else _MARK
