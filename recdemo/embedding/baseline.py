"""Baselines: what costs nothing, and every model must beat.

``random`` knows nothing, ``genre`` and ``genre-year`` look at two fields, ``popularity`` looks
at behavior, ``lsa`` counts the words of the text (`recdemo.embedding.lsa`).
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from recdemo.dataset import Dataset
from recdemo.dataset.catalog import Value
from recdemo.embedding import Embedded, Embedder, FloatArray, ModelName, ModelSpec, lsa
from recdemo.errors import EmbeddingError
from recdemo.texts import Texts

SEED = 0
RANDOM_DIMENSION = 384  # where none is asked for
BEHAVIOR = "looks at behavior"  # what is said of such a baseline
SMALL = 2_000  # items, below which the words may not be enough for all dimensions
GENRE_WEIGHT = 10  # one genre more or less counts as much as about seven years


@dataclass(frozen=True, slots=True)
class _Computed:
    """An embedder whose vectors are computed, in row order, a block at a time."""

    spec: ModelSpec
    compute: Callable[[Sequence[str]], Iterator[FloatArray]]

    def embed(self, texts: Sequence[str]) -> Iterator[Embedded]:
        """Yield the vectors of the whole catalog."""
        done = 0
        for vectors in self.compute(texts):
            yield Embedded(np.arange(done, done + len(vectors)), vectors)
            done += len(vectors)


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

    def compute(texts: Sequence[str]) -> Iterator[FloatArray]:
        random = np.random.default_rng(SEED)
        for part in _parts(len(dataset)):  # the same numbers as all at once
            yield random.standard_normal((part.stop - part.start, dimension), np.float32)

    revision = f"numpy {version('numpy')}, seed {SEED}"
    note = "one draw of vectors; its interval does not cover other draws"
    return _Computed(_spec(name, dimension, revision, note, reads_text=False), compute)


def _popularity(name: ModelName, dataset: Dataset) -> _Computed:
    if not dataset.n_interactions:
        raise EmbeddingError(f"{name} needs interactions, and {dataset.name} has none")
    counts = np.maximum(dataset.counts, 1)
    vectors = np.log(counts).astype(np.float32)[:, None]
    revision = hashlib.sha256(counts.tobytes()).hexdigest()[:16]
    return _Computed(_fixed(name, 1, revision, BEHAVIOR), lambda texts: iter([vectors]))


def _genre(name: ModelName, dataset: Dataset) -> _Computed:
    fields = ["genres", "year"] if name.name == "genre-year" else ["genres"]
    for field in fields:
        if field not in dataset.catalog.fields:
            raise EmbeddingError(f"{name} needs the field {field!r}, which {dataset.name} lacks")
    columns = [dataset.catalog.fields[field] for field in fields]
    place = _places(columns[0])
    years: FloatArray = np.zeros((len(dataset), 0), np.float32)
    note = ""
    if len(columns) == 2:
        years, note = _years(columns[1])
    if not place and not years.shape[1]:
        raise EmbeddingError(f"{name} needs genres, and no item of {dataset.name} has one")

    def compute(texts: Sequence[str]) -> Iterator[FloatArray]:
        for part in _parts(len(dataset)):
            yield np.hstack([GENRE_WEIGHT * _one_hot(columns[0][part], place), years[part]])

    spec = _fixed(name, len(place) + years.shape[1], _hash(columns), note)
    return _Computed(spec, compute)


def _parts(n: int) -> Iterator[slice]:
    for start in range(0, n, lsa.BLOCK):
        yield slice(start, min(start + lsa.BLOCK, n))


def _genres(value: Value) -> tuple[str, ...]:
    genres = (value,) if isinstance(value, str) else value
    return genres if isinstance(genres, tuple) else ()


def _places(column: tuple[Value, ...]) -> dict[str, int]:
    """Return the place of each genre, in alphabetical order."""
    return {genre: i for i, genre in enumerate(sorted({g for v in column for g in _genres(v)}))}


def _one_hot(column: tuple[Value, ...], place: Mapping[str, int]) -> FloatArray:
    """Return which of the genres each item has: ``(n, genres)``."""
    vectors = np.zeros((len(column), len(place)), np.float32)
    for row, value in enumerate(column):
        vectors[row, [place[genre] for genre in _genres(value) if genre]] = 1
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
    return np.array([[median if y is None else y] for y in years], np.float32), note


def _year(value: Value) -> int | None:
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 4 else None


def _lsa(name: ModelName, dataset: Dataset, texts: Texts) -> _Computed:
    most = min(lsa.DIMENSION, len(dataset))
    if len(dataset) < SMALL:  # the words may not be enough; better to know before the work
        most = min(most, *lsa.weigh(texts.values)[1].shape)
    dimension = name.dimension or most
    if dimension > most:
        raise _too_many(name, dataset, most)

    def compute(values: Sequence[str]) -> Iterator[FloatArray]:
        fitted = lsa.fit(tuple(values))
        if dimension > fitted.dimension:
            raise _too_many(name, dataset, fitted.dimension)
        yield from fitted.blocks(values, dimension)

    revision, note = f"scikit-learn {version('scikit-learn')}, seed {lsa.SEED}", ""
    if len(dataset) > lsa.FITTED:
        note = f"fitted on {lsa.FITTED:,} of the {len(dataset):,} texts"
        revision += f", {note}"
    return _Computed(_spec(name, dimension, revision, note), compute)


def _too_many(name: ModelName, dataset: Dataset, most: int) -> EmbeddingError:
    return EmbeddingError(
        f"baseline:lsa can have up to {most} dimensions on the texts of {dataset.name}, not "
        f"{name.dimension}; name baseline:lsa@{most} or a smaller one"
    )


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
