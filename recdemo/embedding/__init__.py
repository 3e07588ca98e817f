"""Models: how they are named, what an embedder is, and how one is opened."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset import Dataset
from recdemo.embedding.options import DEFAULT_EMBED_OPTIONS, EmbedOptions
from recdemo.errors import EmbeddingError
from recdemo.texts import Texts

FloatArray: TypeAlias = NDArray[np.float32]

# Provider -> module with ``connect(name, dataset, texts) -> Embedder``.
_MODULES = {"baseline": "baseline", "bundled": "bundled"}
SERVED = ("openai", "dashscope", "ollama", "local")  # asked text by text, and cached

_MODEL = re.compile(
    r"(?P<provider>[a-z][a-z0-9-]*):(?P<name>[^@\s]([^@\n]*[^@\s])?)(@(?P<dimensions>[^@]+))?"
)


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model as a person names it: ``provider:name`` or ``provider:name@dimension``."""

    provider: str
    name: str
    dimension: int | None = None  # None: the model's own

    def __str__(self) -> str:
        at = "" if self.dimension is None else f"@{self.dimension}"
        return f"{self.provider}:{self.name}{at}"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model whose dimension is settled, with all else that its vectors depend on."""

    provider: str
    name: str
    dimension: int
    how: str = "native"  # native, api, matryoshka or truncated
    prefix: str = ""  # put before every text
    revision: str = ""  # digest, seed, hash of fields read, library version, base URL
    rule: str = ""  # what becomes of texts beyond the context; "": there are none
    reads_text: bool = True  # False: a baseline that looks at other fields or at behavior
    note: str = ""  # what a reader of the table must know, "looks at behavior" say

    @property
    def model(self) -> str:
        """``provider:name``, as in tables, keys and files."""
        return f"{self.provider}:{self.name}"

    def __str__(self) -> str:
        return f"{self.model}@{self.dimension}"


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """Vectors of some of the texts, as they arrive."""

    positions: NDArray[np.int64]  # (b,) positions in the texts that were asked for
    vectors: FloatArray  # (b, dimension)
    tokens: int = 0  # used, as the service counts them
    cost: float | None = 0.0  # US dollars paid for them; None: not known


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told what happens while texts are embedded; nobody by default."""

    on_notice: Callable[[str], None] = lambda message: None  # what a person should know
    on_wait: Callable[[str, float], None] = lambda reason, seconds: None
    on_pull: Callable[[int, int], None] = lambda done, total: None  # bytes of a model


SILENT = Listeners()


class Embedder(Protocol):
    """Turns texts into vectors; implementations need not inherit from it."""

    @property
    def spec(self) -> ModelSpec:
        """The model, with its dimension and all else that its vectors depend on."""
        ...

    def embed(self, texts: Sequence[str]) -> Iterator[Embedded]:
        """Yield vectors as answers arrive, in any order, ``(b, dimension)`` float32.

        The texts are those of the whole catalog in row order. A blank one has no vector of
        a service or a local model; a baseline may give it one, which nobody should use.
        """
        ...


def parse_models(text: str) -> list[ModelName]:
    """Read ``provider:name``, ``provider:name@D`` or ``provider:name@D1,D2``."""
    match = _MODEL.fullmatch(text.strip())
    if match is None:
        raise EmbeddingError(
            f"cannot read the model {text!r}; expected PROVIDER:NAME or PROVIDER:NAME@DIMENSION, "
            "as in baseline:lsa@64"
        )
    provider, name = match["provider"], match["name"]
    if match["dimensions"] is None:
        return [ModelName(provider, name)]
    return [ModelName(provider, name, _dimension(part, text)) for part in
            match["dimensions"].split(",")]  # fmt: skip


def parse_model(text: str) -> ModelName:
    """Read one model; several dimensions are an error."""
    names = parse_models(text)
    if len(names) > 1:
        raise EmbeddingError(f"{text!r} names {len(names)} models; expected one")
    return names[0]


def _dimension(part: str, model: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,9}\s*", part) or int(part) < 1:
        raise EmbeddingError(
            f"cannot read the dimension {part!r} of {model!r}; expected a whole number above 0"
        )
    return int(part)


def open_embedder(
    name: ModelName,
    dataset: Dataset,
    texts: Texts,
    options: EmbedOptions = DEFAULT_EMBED_OPTIONS,
    listeners: Listeners = SILENT,
) -> Embedder:
    """Open the embedder of *name* for the items of *dataset*, importing only what it needs."""
    if name.provider in SERVED:
        from recdemo.embedding import served

        return served.connect(name, dataset, texts, options, listeners)
    if name.provider not in _MODULES:
        known = ", ".join(sorted([*_MODULES, *SERVED]))
        raise EmbeddingError(
            f"unknown model {str(name)!r}: expected PROVIDER:NAME with a provider in {known}"
        )
    module = import_module(f"recdemo.embedding.{_MODULES[name.provider]}")
    return cast(Embedder, module.connect(name, dataset, texts))


def shorten(vectors: FloatArray, dimension: int) -> FloatArray:
    """Cut vectors to their first *dimension* numbers and make their length 1 again.

    The cut changes lengths unequally, and Euclidean order depends on length, so cutting
    and renormalizing are one step. A vector of zeros stays one.

    Args:
        vectors: ``(n, at least dimension)``.
    """
    cut = vectors[:, :dimension].astype(np.float64)
    norms = np.linalg.norm(cut, axis=1, keepdims=True)
    unit: FloatArray = np.divide(cut, norms, out=cut, where=norms > 0).astype(np.float32)
    return unit
