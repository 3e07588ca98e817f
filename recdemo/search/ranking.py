"""Which items hold all words of a query, and which of them fit it better than others.

Positions are handled as ascending arrays: the order in which hits of one tier are shown.
"""

from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import contains

import numpy as np

from recdemo.search.index import BoolArray, PositionArray, TitleIndex, decides, may_hold
from recdemo.search.spelling import Reading, Word

_BLOCK = 2048  # positions that are ranked before asking whether more are wanted


def holding(index: TitleIndex, words: Sequence[Word]) -> PositionArray:
    """Find the positions that hold every word: in a title, a director's name, or as the year."""
    everywhere = np.arange(len(index))
    may = np.ones(len(index), np.bool_)
    for word in words:
        may &= np.logical_or.reduce(
            [may_hold(index, text) | _of_year(index, everywhere, text) for text in word]
        )
    found = np.flatnonzero(may)
    for word in sorted(words, key=lambda word: -len(word[0])):  # the long ones are rare
        if not all(decides(index, spelling) for spelling in word):
            found = found[_holds_word(index, found, word)]
    return found


def title_tiers(
    index: TitleIndex, readings: Sequence[Reading], found: PositionArray
) -> Iterator[PositionArray]:
    """Yield who has the query as title, who as another title, and whose title starts with it."""
    opened = []
    for reading in readings:
        of_year = found[_of_year(index, found, reading.year)] if reading.year else found
        for article, key in reading.keys:
            likely = of_year[may_hold(index, f"\n{key}")[of_year]]
            line = f"\n  {article} {key}" if article else f"\n {key}"
            opened.append((key, line, likely[_hold(index.titles, likely, line)]))
    exact = [(key, at[_hold(index.titles, at, f"{line} \n")]) for key, line, at in opened]
    yield _merged([at[_main(index, at, key)] for key, at in exact])
    yield _merged([at for _, at in exact])
    yield _merged([at for _, _, at in opened])


def word_tiers(
    index: TitleIndex, readings: Sequence[Reading], found: PositionArray
) -> Iterator[PositionArray]:
    """Yield, block by block, who has all words in the titles as starts of words, then anywhere.

    Last comes the rest, where some word is only in a director's name or the year.
    """
    for shape in (" {}", "{}"):
        for start in range(0, len(found), _BLOCK):
            yield _in_titles(index, readings, found[start : start + _BLOCK], shape)
    yield found


def meanings(
    index: TitleIndex, readings: Sequence[Reading], found: PositionArray
) -> Iterator[PositionArray]:
    """Yield groups of what a whole query may mean, the likeliest first; the last is not empty.

    First the tiers of titles where the words of the query are whole words. Where no title starts
    so, a whole word anywhere is as good as the start of a title: "hitchcock" does not mean the
    one title with that word in it, and "ryan" neither only Ryan's Daughter nor only the private.
    """
    whole = found
    for word in readings[0].words:
        whole = whole[_holds_word(index, whole, word, " {} ")]
    yield from title_tiers(index, readings, whole)
    *_, opened = title_tiers(index, readings, found)
    yield _merged([opened, whole])
    yield _in_titles(index, readings, found, " {}")
    yield found


def _holds_word(index: TitleIndex, at: PositionArray, word: Word, shape: str = "{}") -> BoolArray:
    """Tell which positions hold the word in the titles or names, or as the year."""
    held = np.zeros(len(at), np.bool_)
    for spelling in word:
        needle = shape.format(spelling)
        held |= _of_year(index, at, spelling)
        for texts in (index.titles, index.names):
            missing = np.flatnonzero(~held)
            held[missing] = _hold(texts, at[missing], needle)
    return held


def _in_titles(
    index: TitleIndex, readings: Sequence[Reading], at: PositionArray, shape: str
) -> PositionArray:
    """Keep the positions with all words of a reading in the titles, and with its year."""
    kept = np.zeros(len(at), np.bool_)
    for reading in readings:
        fits = _of_year(index, at, reading.year) if reading.year else ~kept
        for word in reading.words:
            left = np.flatnonzero(fits)
            needles = [shape.format(spelling) for spelling in word]
            fits[left] = np.any([_hold(index.titles, at[left], text) for text in needles], axis=0)
        kept |= fits
    return at[kept]


def _of_year(index: TitleIndex, at: PositionArray, digits: str) -> BoolArray:
    """Tell where the year is or begins with *digits*: "1958", "195"; not the 2 of "Toy Story 2"."""
    if not digits.isdecimal() or len(digits) not in (3, 4):
        return np.zeros(len(at), np.bool_)
    of_year: BoolArray = index.years[at] // 10 ** (4 - len(digits)) == int(digits)
    return of_year


def _main(index: TitleIndex, at: PositionArray, key: str) -> BoolArray:
    """Tell where the first key is *key*: the title itself, not another one in parentheses."""
    first = f"\n {key} \n"
    return np.array([index.titles[position].startswith(first) for position in at], np.bool_)


def _hold(texts: Sequence[str], at: PositionArray, needle: str) -> BoolArray:
    """Tell which of the texts at some positions hold *needle*."""
    chosen = map(texts.__getitem__, at.tolist())
    return np.fromiter(map(contains, chosen, repeat(needle)), np.bool_, len(at))


def _merged(groups: list[PositionArray]) -> PositionArray:
    return groups[0] if len(groups) == 1 else np.unique(np.concatenate(groups))
