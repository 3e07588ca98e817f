"""Baselines: what costs nothing, and every model must beat.

``random`` knows nothing, ``genre`` and ``genre-year`` look at two fields, ``popularity`` looks
at behavior, ``lsa`` counts the words of the text.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import cast

import numpy as np
from scipy import sparse

from recdemo.dataset import Dataset
from recdemo.dataset.catalog import Value
from recdemo.embedding import Embedded, Embedder, FloatArray, ModelName, ModelSpec, shorten
from recdemo.errors import EmbeddingError
from recdemo.texts import Texts

SEED = 0
RANDOM_DIMENSION = 384  # where none is asked for
LSA_DIMENSION = 512
BEHAVIOR = "looks at behavior"  # what is said of such a baseline
SMALL = 2_000  # items, below which the words may not be enough for all dimensions
GENRE_WEIGHT = 10  # one genre more or less counts as much as about seven years


@dataclass(frozen=True, slots=True)
class _Computed:
    """An embedder whose vectors are computed in one go, in row order."""

    spec: ModelSpec
    compute: Callable[[Sequence[str]], FloatArray]

    def embed(self, texts: Sequence[str]) -> Iterator[Embedded]:
        """Yield the vectors of the whole catalog."""
        vectors = self.compute(texts)
        yield Embedded(np.arange(len(vectors)), vectors)


def connect(name: ModelName, dataset: Dataset, texts: Texts) -> Embedder:
    """Open the baseline *name*; a catalog without the fields it needs is an error."""
    if name.name == "random":
        return _random(name, dataset)
    if name.name == "lsa":
        return _lsa(name, dataset, texts)
    if name.name == "popularity":
        return _popularity(name, dataset)
    if name.name in ("genre", "genre-year"):
        return _genre(name, dataset)
    raise EmbeddingError(
        f"unknown baseline {str(name)!r}; expected baseline:random, genre, genre-year, "
        "popularity or lsa"
    )


def _random(name: ModelName, dataset: Dataset) -> _Computed:
    dimension = name.dimension or RANDOM_DIMENSION

    def compute(texts: Sequence[str]) -> FloatArray:
        random = np.random.default_rng(SEED)
        return random.standard_normal((len(dataset), dimension), np.float32)

    revision = f"numpy {version('numpy')}, seed {SEED}"
    note = "one draw of vectors; its interval does not cover other draws"
    return _Computed(_spec(name, dimension, revision, note, reads_text=False), compute)


def _popularity(name: ModelName, dataset: Dataset) -> _Computed:
    counts = np.maximum(dataset.counts, 1)
    vectors = np.log(counts).astype(np.float32)[:, None]
    revision = hashlib.sha256(counts.tobytes()).hexdigest()[:16]
    return _Computed(
        _fixed(name, 1, revision, BEHAVIOR),
        lambda texts: vectors,
    )


def _genre(name: ModelName, dataset: Dataset) -> _Computed:
    fields = ["genres", "year"] if name.name == "genre-year" else ["genres"]
    for field in fields:
        if field not in dataset.catalog.fields:
            raise EmbeddingError(f"{name} needs the field {field!r}, which {dataset.name} lacks")
    columns = [dataset.catalog.fields[field] for field in fields]
    vectors = GENRE_WEIGHT * _one_hot(columns[0])
    note = ""
    if len(columns) == 2:
        years, note = _years(columns[1])
        vectors = np.hstack([vectors, years[:, None]])
    if vectors.shape[1] == 0:
        raise EmbeddingError(f"{name} needs genres, and no item of {dataset.name} has one")
    spec = _fixed(name, vectors.shape[1], _hash(columns), note)
    return _Computed(spec, lambda texts: vectors)


def _one_hot(column: tuple[Value, ...]) -> FloatArray:
    """Return which of the genres, in alphabetical order, each item has: ``(n, genres)``."""
    lists = [(value,) if isinstance(value, str) else value for value in column]
    names = sorted({genre for genres in lists if isinstance(genres, tuple) for genre in genres})
    place = {genre: i for i, genre in enumerate(names) if genre}
    vectors = np.zeros((len(column), len(names)), np.float32)
    for row, genres in enumerate(lists):
        if isinstance(genres, tuple):
            vectors[row, [place[genre] for genre in genres if genre]] = 1
    return vectors


def _years(column: tuple[Value, ...]) -> tuple[FloatArray, str]:
    """Return whole years, so that float32 keeps equal distances equal; the median if missing."""
    known = sorted(year for value in column if (year := _year(value)) is not None)
    if not known:
        raise EmbeddingError("baseline:genre-year needs years, and no item has one")
    median = known[len(known) // 2]
    years = [_year(value) for value in column]
    missing = years.count(None)
    note = f"{missing:,} items without a year stand at the median, {median}" if missing else ""
    return np.array([median if y is None else y for y in years], np.float32), note


def _year(value: Value) -> int | None:
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 4 else None


def _lsa(name: ModelName, dataset: Dataset, texts: Texts) -> _Computed:
    most = min(LSA_DIMENSION, len(dataset))
    if len(dataset) < SMALL:  # the words may not be enough; better to know before the work
        most = min(most, *_weights(texts.values).shape)
    dimension = name.dimension or most
    if dimension > most:
        raise _too_many(name, dataset, most)

    def compute(values: Sequence[str]) -> FloatArray:
        fitted = _fit(tuple(values))
        if dimension > fitted.shape[1]:
            raise _too_many(name, dataset, fitted.shape[1])
        return shorten(fitted, dimension)

    revision = f"scikit-learn {version('scikit-learn')}, seed {SEED}"
    return _Computed(_spec(name, dimension, revision), compute)


def _too_many(name: ModelName, dataset: Dataset, most: int) -> EmbeddingError:
    return EmbeddingError(
        f"baseline:lsa can have up to {most} dimensions on the texts of {dataset.name}, not "
        f"{name.dimension}; name baseline:lsa@{most} or a smaller one"
    )


@lru_cache(maxsize=4)
def _weights(texts: tuple[str, ...]) -> sparse.csr_matrix:
    """Return the TF-IDF weights of all words, ``(n, words)``."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    few = "baseline:lsa needs two words or more that stand in at least two texts"
    try:
        words = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2, dtype=np.float32)
        weights = words.fit_transform(texts)
    except ValueError as error:  # no word stands in two texts
        raise EmbeddingError(few) from error
    if weights.shape[1] < 2:  # which is less than the SVD takes
        raise EmbeddingError(few)
    return cast(sparse.csr_matrix, weights)


@lru_cache(maxsize=4)
def _fit(texts: tuple[str, ...]) -> FloatArray:
    """Fit TF-IDF and truncated SVD at the largest dimension, ``(n, at most 512)``.

    Latent semantic analysis (Deerwester et al. 1990). The fit is shared by all dimensions
    of a process: smaller ones are its first columns.
    """
    from sklearn.decomposition import TruncatedSVD

    weights = _weights(texts)
    svd = TruncatedSVD(min(LSA_DIMENSION, *weights.shape), random_state=SEED)
    return cast(FloatArray, svd.fit_transform(weights).astype(np.float32, copy=False))


def _fixed(name: ModelName, dimension: int, revision: str, note: str) -> ModelSpec:
    if name.dimension not in (None, dimension):
        raise EmbeddingError(f"{name} cannot have that dimension; here it has {dimension}")
    return _spec(name, dimension, revision, note=note, reads_text=False)


def _spec(
    name: ModelName, dimension: int, revision: str, note: str = "", reads_text: bool = True
) -> ModelSpec:
    return ModelSpec(
        name.provider, name.name, dimension, revision=revision, note=note, reads_text=reads_text
    )


def _hash(columns: Sequence[tuple[Value, ...]]) -> str:
    return hashlib.sha256(repr(columns).encode("utf-8", "replace")).hexdigest()[:16]
