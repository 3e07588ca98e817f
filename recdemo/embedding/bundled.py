"""Real vectors that travel with recdemo: all-MiniLM-L6-v2 on the texts of MovieLens 1M."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from recdemo.dataset import Dataset, bundled
from recdemo.embedding import Embedded, ModelName, ModelSpec, shorten
from recdemo.errors import EmbeddingError
from recdemo.texts import NAMED, Texts, fill

MODEL = "all-minilm-l6-v2"
NATIVE = 384


@dataclass(frozen=True, slots=True)
class BundledEmbedder:
    """Looks vectors up by text, so it can never serve the vector of another text."""

    spec: ModelSpec
    text: str  # synopsis, card or full

    def embed(self, texts: Sequence[str]) -> Iterator[Embedded]:
        """Yield the vectors of *texts*; stored as float16, given as float32."""
        places = _places(self.text)
        stored = np.load(_path(self.text), mmap_mode="r")
        vectors = stored[[places[text] for text in texts]].astype(np.float32)
        if self.spec.dimension < NATIVE:
            vectors = shorten(vectors, self.spec.dimension)
        yield Embedded(np.arange(len(vectors)), vectors)


def connect(name: ModelName, dataset: Dataset, texts: Texts) -> BundledEmbedder:
    """Open the bundled vectors; only the three named texts of MovieLens 1M have them."""
    if name.name != MODEL:
        raise EmbeddingError(f"unknown bundled model {str(name)!r}; expected bundled:{MODEL}")
    dimension = name.dimension or NATIVE
    if dimension > NATIVE:
        raise EmbeddingError(f"{name} asks for too many dimensions; the model has {NATIVE}")
    if texts.name not in NAMED:
        raise EmbeddingError(
            f"bundled:{MODEL} has vectors of the texts {', '.join(NAMED)} only, "
            f"not of {texts.name!r}"
        )
    places = _places(texts.name)
    missing = sum(text not in places for text in texts.values)
    if missing:
        raise EmbeddingError(
            f"bundled:{MODEL} has vectors of the {texts.name} texts of MovieLens 1M only; "
            f"{missing:,} of {len(dataset):,} items of {dataset.name} have other texts"
        )
    spec = ModelSpec(
        name.provider,
        name.name,
        dimension,
        how="native" if dimension == NATIVE else "truncated",
        revision=hashlib.sha256(_path(texts.name).read_bytes()).hexdigest()[:16],
    )
    return BundledEmbedder(spec, texts.name)


@cache
def _places(text: str) -> dict[str, int]:
    """Return where the vector of each text lies."""
    filled = fill(bundled.open_bundled().catalog, text)
    return {value: i for i, value in enumerate(filled.values)}


def _path(text: str) -> Path:
    return bundled.folder() / f"{MODEL}.{text}.npy"
