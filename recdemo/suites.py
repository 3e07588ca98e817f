"""Suites: models that are evaluated together, and the Ks that fit a catalog."""

from collections.abc import Sequence

from recdemo.dataset import Dataset
from recdemo.embedding import ModelName, parse_models
from recdemo.errors import DatasetError, EmbeddingError

DEFAULT_KS = (10, 20, 50, 100)
OFFLINE = (
    "baseline:random@384",
    "baseline:genre",
    "baseline:genre-year",
    "baseline:popularity",
    "baseline:lsa@64,128,256,512",
    "bundled:all-minilm-l6-v2@64,128,256,384",
)
SUITES = {"offline": OFFLINE}


def suite_models(suite: str) -> tuple[ModelName, ...]:
    """Return the models of a named suite."""
    if suite not in SUITES:
        raise EmbeddingError(f"unknown suite {suite!r}; expected {', '.join(SUITES)}")
    return tuple(name for text in SUITES[suite] for name in parse_models(text))


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
