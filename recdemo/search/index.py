"""The index behind the title search: comparable texts, and which letters stand where.

Items stand at *positions*, most popular first, so that whoever takes the first hits takes the
best. A bit per position and *gram*, one to three letters in a row, tells in microseconds where
a word cannot be; only the rest is looked at. For 100,000 items these bits are 45 MB.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset.catalog import Catalog, Value, as_text
from recdemo.search.spelling import spellings, title_keys

BoolArray: TypeAlias = NDArray[np.bool_]
PositionArray: TypeAlias = NDArray[np.int64]

_CHUNK = 256  # items at a time; a multiple of 8, since 8 of them share a byte
_N_LETTERS = 28  # the most frequent letters of a catalog are told apart from all else
_FIRST_SHARED = _N_LETTERS + 2  # class of a UTF-16 unit: the blank, the line end, those letters
_N_SINGLES = 256  # classes; what is not such a letter shares the rest
_N_COARSE = 36  # classes where two or three are in a row
_COARSE = np.arange(_N_SINGLES, dtype=np.uint32)
_COARSE[_FIRST_SHARED:] = _COARSE[_FIRST_SHARED:] % (_N_COARSE - _FIRST_SHARED) + _FIRST_SHARED
_TRIPLE_BITS = 11  # triples share 2,048 grams by a hash
_FIRST_TRIPLE = _N_SINGLES + _N_COARSE**2
_N_GRAMS = _FIRST_TRIPLE + (1 << _TRIPLE_BITS)
_SAMPLE = 2000  # titles that tell which letters are frequent
NO_YEAR = 9_999_999  # after all others in order, and none that a query could mean


@dataclass(frozen=True, slots=True, eq=False)
class TitleIndex:
    """All titles made comparable: a line for each key, a blank before and after every word."""

    catalog: Catalog
    order: NDArray[np.int32]  # (n_items,) the row at each position
    titles: tuple[str, ...]  # "\n matrix \n  the matrix \n"; two blanks, and then an article
    names: tuple[str, ...]  # "\n lana wachowski \n": the directors
    years: NDArray[np.int32]  # (n_items,) `NO_YEAR` where it is missing
    letters: str  # those told apart from all else
    classes: NDArray[np.uint8]  # (65536,) class of each UTF-16 unit
    grams: NDArray[np.uint8]  # (n_grams, n_items / 8) a bit per position: is the gram there

    def __len__(self) -> int:
        return len(self.titles)


def build_index(
    catalog: Catalog, counts: Sequence[int] | NDArray[np.int32] | None = None
) -> TitleIndex:
    """Index the titles of a catalog; where there is no title, the item id.

    Args:
        counts: ``(n_items,)`` how popular each item is; decides between equally good hits.
    """
    if counts is not None and len(counts) != len(catalog):
        raise ValueError(f"{len(counts)} counts for {len(catalog)} items")
    years = np.array([_year(value) for value in _column(catalog, "year")], np.int32)
    popular = np.zeros(len(catalog)) if counts is None else np.asarray(counts, np.float64)
    order = np.lexsort((years, -popular)).astype(np.int32)  # stable, so the row comes last
    rows = order.tolist()
    titles = tuple(_title_text(catalog.title(row)) for row in rows)
    names = _name_texts(catalog, rows)
    letters = _frequent_letters(titles)
    classes = _classes(letters)
    grams = _grams_held(titles, names, classes)
    return TitleIndex(catalog, order, titles, names, years[order], letters, classes, grams)


def may_hold(index: TitleIndex, text: str) -> BoolArray:
    """Tell where *text* may be in a title or a name, and where it cannot be, ``(n_items,)``."""
    bits = np.bitwise_and.reduce(index.grams[_grams_of(index, text)], axis=0)
    return np.unpackbits(bits, count=len(index)).view(np.bool_)


def decides(index: TitleIndex, text: str) -> bool:
    """Tell whether `may_hold` is sure: so it is of one or two letters that are told apart."""
    return len(text) <= 2 and all(letter in index.letters for letter in text)


def grams_shared(index: TitleIndex, text: str) -> NDArray[np.uint16]:
    """Count how many different grams of *text* each position holds, ``(n_items,)``."""
    shared = np.zeros(len(index), np.uint16)  # narrow, since this is done for every gram
    for bits in index.grams[_grams_of(index, text)]:
        shared += np.unpackbits(bits, count=len(index))
    return shared


def _column(catalog: Catalog, field: str) -> tuple[Value, ...]:
    return catalog.fields.get(field, (None,) * len(catalog))


def _year(value: Value) -> int:
    text = as_text(value).strip()[:4]
    return int(text) if text.isdecimal() else NO_YEAR


def _title_text(title: str) -> str:
    lines: dict[str, None] = {}  # in order, without repeating any
    for article, key in title_keys(title):
        lines[f" {key} \n"] = None
        if article:
            lines[f"  {article} {key} \n"] = None
    return "\n" + "".join(lines)


def _name_texts(catalog: Catalog, rows: list[int]) -> tuple[str, ...]:
    directors = _column(catalog, "directors")
    texts = {value: _name_text(as_text(value)) for value in set(directors)}
    return tuple(texts[directors[row]] for row in rows)


def _name_text(names: str) -> str:
    return "\n" + "".join(f" {spelling} \n" for spelling in spellings(names))


def _frequent_letters(titles: tuple[str, ...]) -> str:
    step = max(1, len(titles) // _SAMPLE)
    frequent = Counter("".join(titles[::step])).most_common()
    letters = [letter for letter, _ in frequent if letter not in " \n" and ord(letter) < 0x10000]
    return "".join(letters[:_N_LETTERS])


def _classes(letters: str) -> NDArray[np.uint8]:
    units = np.arange(0x10000)
    classes = (units % (_N_SINGLES - _FIRST_SHARED) + _FIRST_SHARED).astype(np.uint8)
    classes[[ord(character) for character in f" \n{letters}"]] = np.arange(len(letters) + 2)
    return classes


def _grams_held(
    titles: tuple[str, ...], names: tuple[str, ...], classes: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    held = np.zeros((_N_GRAMS, -(-len(titles) // 8)), np.uint8)
    for start in range(0, len(titles), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        encoded = [
            f"{title}{name}{_openings(title)}".encode("utf-16-le")
            for title, name in zip(titles[chunk], names[chunk], strict=True)
        ]
        positions = np.repeat(np.arange(len(encoded)), [len(text) // 2 for text in encoded])
        found = np.zeros((_N_GRAMS, len(encoded)), np.bool_)
        for grams in _grams(b"".join(encoded), classes):
            grams *= len(encoded)  # in place and flat: much faster than found[grams, positions]
            grams += positions[: len(grams)]  # a gram across two texts does no harm
            found.ravel()[grams] = True
        packed = np.packbits(found, axis=1)
        held[:, start // 8 : start // 8 + packed.shape[1]] = packed
    return held


def _openings(title: str) -> str:
    """Grams that say how a line begins: its end mark right before its first letters."""
    return "".join([f"\n{line[:2]}" for line in title.split("\n ")[1:]])


def _grams_of(index: TitleIndex, text: str) -> NDArray[np.intp]:
    return np.unique(np.concatenate(_grams(text.encode("utf-16-le"), index.classes)))


def _grams(
    encoded: bytes, classes: NDArray[np.uint8]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    singles = classes[np.frombuffer(encoded, "<u2")]
    coarse = _COARSE[singles]
    pairs = coarse[:-1] * np.uint32(_N_COARSE) + coarse[1:]
    triples = pairs[:-1] * np.uint32(_N_COARSE) + coarse[2:]
    triples = (triples * np.uint32(2_654_435_761)) >> np.uint32(32 - _TRIPLE_BITS)
    return (
        singles.astype(np.intp),
        pairs.astype(np.intp) + _N_SINGLES,
        triples.astype(np.intp) + _FIRST_TRIPLE,
    )
