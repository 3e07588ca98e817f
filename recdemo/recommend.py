"""What a model recommends for one item, and what another one says to that."""

from dataclasses import dataclass, replace

import numpy as np

from recdemo.dataset import Dataset
from recdemo.embedding import SILENT, Listeners, ModelName, open_embedder, parse_model
from recdemo.embedding.known import find, prefix_of
from recdemo.embedding.options import DEFAULT_EMBED_OPTIONS, EmbedOptions
from recdemo.errors import DatasetError, EmbeddingError
from recdemo.loading import Progress, ensure_collection, newest_collection
from recdemo.neighbors import nearest
from recdemo.store import VectorStore
from recdemo.texts import Texts
from recdemo.truth import Truth

# The first that can run is what `similar` and the UI show when no model is named.
PREFERRED = (
    "bundled:all-minilm-l6-v2@384",
    "baseline:lsa@64",
    "baseline:lsa",
    "baseline:genre-year",
)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One recommended item."""

    rank: int  # from 1
    row: int
    distance: float
    in_truth: bool  # among the items whose users overlap most with the query's
    other_rank: int | None = None  # where the other model has it, from 1


@dataclass(frozen=True, slots=True)
class Opinion:
    """The list of one model for one item."""

    model: str  # provider:name@dimension
    row: int  # the item asked about
    items: tuple[Recommendation, ...]
    has_truth: bool  # False: the item has no truth list, so no mark means nothing


def default_model(dataset: Dataset, texts: Texts) -> ModelName:
    """Return the first preferred model that can run on these texts without paying."""
    for text in PREFERRED:
        name = parse_model(text)
        try:
            open_embedder(name, dataset, texts)
        except EmbeddingError:
            continue
        return name
    raise EmbeddingError(f"no free model can run on {dataset.name}; name one with --model")


def recommend(
    store: VectorStore,
    dataset: Dataset,
    texts: Texts,
    name: ModelName,
    row: int,
    k: int,
    truth: Truth | None = None,
    on_progress: Progress = lambda done, total: None,
    options: EmbedOptions = DEFAULT_EMBED_OPTIONS,
    listeners: Listeners = SILENT,
) -> Opinion:
    """Return the *k* items nearest to *row*; all items of the catalog may be recommended.

    A collection that is missing is built first.

    Args:
        truth: the truth lists for the marks; None where there are none.
    """
    collection, spec = _collection(
        store, dataset, texts, name, row, on_progress, options, listeners
    )
    found = nearest(store, collection, np.array([row], np.int32), min(k, len(dataset)))
    relevant = set() if truth is None else set(truth.neighbors[row].tolist()) - {-1}
    items = tuple(
        Recommendation(rank, int(other), float(distance), int(other) in relevant)
        for rank, (other, distance) in enumerate(
            zip(found.rows[0], found.distances[0], strict=True), 1
        )
        if other >= 0
    )
    return Opinion(spec, row, items, bool(relevant))


def _collection(
    store: VectorStore,
    dataset: Dataset,
    texts: Texts,
    name: ModelName,
    row: int,
    on_progress: Progress,
    options: EmbedOptions,
    listeners: Listeners,
) -> tuple[str, str]:
    """Return the name of a collection and of its model, built where it is missing.

    Where the model cannot be asked, an earlier collection of it will do.
    """
    try:
        embedder = open_embedder(name, dataset, texts, options, listeners)
        if embedder.spec.reads_text and not texts.values[row]:
            raise DatasetError(
                f"{dataset.catalog.label(row)} has no text, so it has no vector of {name}"
            )
        loaded = ensure_collection(store, dataset, texts, embedder, on_progress)
    except EmbeddingError as error:
        prefix = prefix_of(find(name.provider, name.name), options.prefix)
        earlier = newest_collection(store, dataset, texts, name, prefix)
        if earlier is None:
            raise
        listeners.on_notice(f"{name} as it was on {earlier.created[:10]}, since {error}")
        return earlier.name, f"{earlier.model}@{earlier.dimension}"
    return loaded.info.name, str(embedder.spec)


def side_by_side(left: Opinion, right: Opinion) -> tuple[Opinion, Opinion]:
    """Note for each recommendation where the other model has it."""
    return _beside(left, right), _beside(right, left)


def _beside(own: Opinion, other: Opinion) -> Opinion:
    ranks = {item.row: item.rank for item in other.items}
    items = tuple(replace(item, other_rank=ranks.get(item.row)) for item in own.items)
    return replace(own, items=items)
