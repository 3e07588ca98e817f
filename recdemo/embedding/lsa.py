"""Latent semantic analysis: TF-IDF of the texts and truncated SVD (Deerwester et al. 1990).

Up to 100,000 texts are fitted as a whole. Of a larger catalog so many are drawn and fitted, and
all are projected on what was found, a block at a time: memory then no longer grows with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
from scipy import sparse

from recdemo.embedding import FloatArray, shorten
from recdemo.errors import EmbeddingError

SEED = 0
DIMENSION = 512
FITTED = 100_000  # texts, at most
BLOCK = 8_192  # vectors given at a time


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Texts that were fitted at the largest dimension; smaller ones are its first columns."""

    dimension: int
    vectors: FloatArray | None  # (n, dimension); None where a part of the texts was fitted
    words: Any  # the fitted vectorizer
    components: FloatArray  # (dimension, words)

    def blocks(self, texts: Sequence[str], dimension: int) -> Iterator[FloatArray]:
        """Yield the vectors of all texts at *dimension*, of length 1, in their order."""
        for start in range(0, len(texts), BLOCK):
            part = slice(start, start + BLOCK)
            if self.vectors is not None:
                yield shorten(self.vectors[part], dimension)
            else:
                weights = self.words.transform(texts[part])
                projected = weights @ self.components[:dimension].T
                yield shorten(projected.astype(np.float32, copy=False), dimension)


@lru_cache(maxsize=1)
def fit(texts: tuple[str, ...]) -> Fit:
    """Fit texts once for all dimensions of a process."""
    from sklearn.decomposition import TruncatedSVD

    drawn = texts
    if len(texts) > FITTED:
        places = np.random.default_rng(SEED).choice(len(texts), FITTED, replace=False)
        drawn = tuple(texts[place] for place in np.sort(places).tolist())
    words, weights = weigh(drawn)
    svd = TruncatedSVD(min(DIMENSION, *weights.shape), random_state=SEED)
    vectors = svd.fit_transform(weights).astype(np.float32, copy=False)
    components = svd.components_.astype(np.float32, copy=False)
    return Fit(len(components), vectors if drawn is texts else None, words, components)


@lru_cache(maxsize=1)
def weigh(texts: tuple[str, ...]) -> tuple[Any, sparse.csr_matrix]:
    """Return the vectorizer and the TF-IDF weights of all words, ``(n, words)``."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    few = "baseline:lsa needs two words or more that stand in at least two texts"
    try:
        words = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2, dtype=np.float32)
        weights = words.fit_transform(texts)
    except ValueError as error:  # no word stands in two texts
        raise EmbeddingError(few) from error
    if weights.shape[1] < 2:  # which is less than the SVD takes
        raise EmbeddingError(few)
    return words, cast(sparse.csr_matrix, weights)
