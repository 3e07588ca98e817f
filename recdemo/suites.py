"""Suites: models that are evaluated together, and the Ks that fit a catalog."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

from recdemo.dataset import Dataset, bundled
from recdemo.embedding import ModelName, parse_models
from recdemo.embedding.options import EmbedOptions, Shorten
from recdemo.errors import DatasetError, EmbeddingError

DEFAULT_KS = (10, 20, 50, 100)
OFFLINE = (
    "baseline:random@384",
    "baseline:genre",
    "baseline:genre-year",
    "baseline:popularity",
    "bundled:all-minilm-l6-v2@64,128,256,384",
    "baseline:lsa@64,128,256,512",  # last: while it is fitted, the others are being judged
)
OFFLINE_SMALL = ("baseline:lsa@16,32", "baseline:lsa")  # the last: as many as the words allow
SMALL = 1_000  # items


@dataclass(frozen=True, slots=True)
class Suite:
    """Models that are evaluated together, and how their texts are made and sent."""

    models: tuple[ModelName, ...]
    small: tuple[ModelName, ...] = ()  # also, where a catalog is small
    text: str | None = None  # where none is asked for
    prefix: str | None = None  # where none is asked for
    shorten: Shorten | None = None  # where nothing is asked for

    def models_for(self, dataset: Dataset) -> tuple[ModelName, ...]:
        """Return the models for a catalog of this size."""
        return self.models + (self.small if len(dataset) < SMALL else ())

    def options(self, asked: EmbedOptions) -> EmbedOptions:
        """Return the options of the suite, and what a person *asked* for before them."""
        prefix = self.prefix if asked.prefix is None else asked.prefix
        shorten = self.shorten if asked.shorten == "auto" and self.shorten else asked.shorten
        return replace(asked, prefix=prefix, shorten=shorten)


def open_suite(name: str) -> Suite:
    """Return a named suite, or read one from a file that ends in .toml."""
    if name.endswith(".toml"):
        return _read(Path(name))
    if name not in _SUITES:
        known = ", ".join(_SUITES)
        raise EmbeddingError(f"unknown suite {name!r}; expected {known}, or a file FILE.toml")
    return _SUITES[name]()


def _offline() -> Suite:
    return Suite(named(OFFLINE), small=named(OFFLINE_SMALL))


def _study() -> Suite:
    """Return the rows of the published study, which put nothing before its texts."""
    rows = [f"{row.model}@{row.dimension}" for row in bundled.read_published()]
    return Suite(named(rows), prefix="none")


_SUITES: dict[str, Callable[[], Suite]] = {"offline": _offline, "study": _study}


def named(texts: Sequence[str]) -> tuple[ModelName, ...]:
    """Return the models that *texts* name, each once, in their order."""
    return tuple(dict.fromkeys(name for text in texts for name in parse_models(text)))


def _read(path: Path) -> Suite:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EmbeddingError(f"cannot read the suite {path}: {error.strerror}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise EmbeddingError(f"cannot read the suite {path}: {error}") from error
    unknown = sorted(set(found) - {"models", "text", "prefix", "shorten"})
    if unknown:
        raise EmbeddingError(
            f"unknown {', '.join(unknown)} in {path}; expected models, text, prefix and shorten"
        )
    models = found.get("models")
    if not isinstance(models, list) or not models or not all(isinstance(m, str) for m in models):
        raise EmbeddingError(
            f'no models in {path}; expected a list such as models = ["baseline:lsa@64,128"]'
        )
    shorten = _text(found, "shorten", path)
    if shorten is not None and shorten not in get_args(Shorten):
        raise EmbeddingError(
            f"unknown shorten {shorten!r} in {path}; expected {', '.join(get_args(Shorten))}"
        )
    return Suite(
        named(models),
        text=_text(found, "text", path),
        prefix=_text(found, "prefix", path),
        shorten=cast(Shorten | None, shorten),
    )


def _text(found: dict[str, Any], key: str, path: Path) -> str | None:
    value = found.get(key)
    if value is not None and not isinstance(value, str):
        raise EmbeddingError(f"cannot use {key} = {value!r} in {path}; expected a text")
    return value


def usable_ks(ks: Sequence[int] | None, dataset: Dataset) -> tuple[int, ...]:
    """Return the Ks to score at: those asked for, or of the default ones all that fit."""
    n_rated = dataset.n_rated
    if ks is not None:
        return tuple(sorted(set(ks)))
    fitting = tuple(k for k in DEFAULT_KS if k < n_rated)
    if not fitting:
        raise DatasetError(
            f"{dataset.name} has {n_rated} rated items, too few for K = {DEFAULT_KS[0]}; "
            "choose a smaller one with --k"
        )
    return fitting
