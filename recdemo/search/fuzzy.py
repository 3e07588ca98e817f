"""Titles that are spelled nearly like a query, for when none holds its words.

The grams shared with the query pick a few hundred titles; rapidfuzz then compares words with
words. A missing, an extra or a wrong letter is one slip, and so is a swap of neighbors.
"""

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from recdemo.search.index import NO_YEAR, TitleIndex, grams_shared
from recdemo.search.spelling import Reading

_POOL = 500  # titles that are compared
_WORK = 40_000  # words of titles that are compared, divided by those of the query and one
_SHORTEST = 3  # characters; below, everything is like everything
_LONGEST = 80  # characters of the query that are looked at
_NEAR = 0.75  # share of the letters that must agree


def nearest(index: TitleIndex, reading: Reading) -> list[int]:
    """Find the positions whose titles or names are nearly the query, the nearest first."""
    words = " ".join(spellings[0] for spellings in reading.words)[:_LONGEST].split()
    if len("".join(words)) < _SHORTEST or not len(index):
        return []
    pool = _pool(index, f" {' '.join(words)} ")
    texts = [_words_of(index, position) for position in pool]
    n_words = np.cumsum([len(text) for text in texts])
    until = int(np.searchsorted(n_words, _WORK // (1 + len(words)))) + 1
    pool, texts = pool[:until], texts[:until]
    keys = [index.titles[position].split("\n", 2)[1].strip() for position in pool]
    by_start = _start_agreement("".join(words), [key.replace(" ", "") for key in keys])
    agreement = np.maximum(_word_agreement(words, texts), by_start).round(2)
    whole = cdist([" ".join(words)], keys, scorer=OSA.normalized_similarity)[0].round(2)
    best = np.lexsort((np.array(pool), -whole, -agreement))
    return [pool[i] for i in best if agreement[i] >= _NEAR]


def _words_of(index: TitleIndex, position: int) -> list[str]:
    year = index.years[position]
    words = f"{index.titles[position]}{index.names[position]}".split()
    return [*words, "?" if year == NO_YEAR else str(year)]  # "?" is in no query


def _pool(index: TitleIndex, text: str) -> list[int]:
    ranks = grams_shared(index, text) * np.int64(len(index)) - np.arange(len(index))
    likely = np.argpartition(-ranks, min(_POOL, len(index)) - 1)[:_POOL]
    pool: list[int] = likely[np.argsort(-ranks[likely])].tolist()
    return pool


def _word_agreement(words: list[str], texts: list[list[str]]) -> NDArray[np.float32]:
    """Compare each word with the best of a text; the mean over the letters, per text.

    The last word may be unfinished, so it is compared with beginnings of words as well.
    """
    ids = {word: i for i, word in enumerate(dict.fromkeys(w for text in texts for w in text))}
    known = list(ids)
    agreement = cdist(words, known, scorer=OSA.normalized_similarity, dtype=np.float32)
    beginnings = [word[: len(words[-1]) + 1] for word in known]
    unfinished = cdist(words[-1:], beginnings, scorer=OSA.normalized_similarity, dtype=np.float32)
    agreement[-1] = np.maximum(agreement[-1], unfinished[0])
    lengths = [len(text) for text in texts]
    flat = np.array([ids[word] for text in texts for word in text])
    starts = np.cumsum([0, *lengths[:-1]])
    best = np.maximum.reduceat(agreement[:, flat], starts, axis=1)  # (n_words, n_texts)
    weights = np.array([len(word) for word in words], np.float32)
    mean: NDArray[np.float32] = weights @ best / weights.sum()
    return mean


def _start_agreement(query: str, keys: list[str]) -> NDArray[np.float32]:
    """Compare the query, blanks left out, with the start of each key: ``starwars``."""
    starts = [key[: len(query)] for key in keys]
    agreement: NDArray[np.float32] = cdist(
        [query], starts, scorer=OSA.normalized_similarity, dtype=np.float32
    )[0]
    return agreement
