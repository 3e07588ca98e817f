"""From texts to a collection: finds the one that fits, or embeds the texts and builds it."""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np

from recdemo import __version__
from recdemo.dataset import Dataset
from recdemo.embedding import Embedder, ModelName, ModelSpec
from recdemo.store import PLAIN, Batch, CollectionInfo, IntArray, Layout, VectorStore
from recdemo.texts import Texts

Progress: TypeAlias = Callable[[int, int], None]

BATCH_ROWS = 1024


@dataclass(frozen=True, slots=True)
class Loaded:
    """A collection that is there, and what it took."""

    info: CollectionInfo
    embed_seconds: float | None  # None: the collection was there already
    load_seconds: float | None
    tokens: int = 0
    cost: float | None = 0.0  # US dollars paid; None: not known


def describe_collection(dataset: Dataset, texts: Texts, spec: ModelSpec) -> CollectionInfo:
    """Return the name and fingerprint of the collection of one model on one set of texts.

    The fingerprint is a hash over all that the vectors depend on, so what differs in any of
    it has another name, and what fits is found without asking.
    """
    depends = [
        dataset.name,
        texts.hash,  # item ids and texts
        spec.model,
        spec.prefix,
        spec.revision,
        spec.dimension,
        spec.how,
        *([spec.rule] if spec.rule else []),
    ]
    fingerprint = hashlib.sha256(json.dumps(depends).encode()).hexdigest()
    parts = (dataset.name, texts.name, f"{spec.provider}-{spec.name}", str(spec.dimension))
    slug = ".".join(_slug(part) for part in parts)
    return CollectionInfo(
        name=f"{slug}.{fingerprint[:8]}",
        dataset=dataset.name,
        text=texts.name,
        model=spec.model,
        prefix=spec.prefix,
        dimension=spec.dimension,
        how=spec.how,
        count=len(dataset) - texts.n_blank if spec.reads_text else len(dataset),
        n_items=len(dataset),
        fingerprint=fingerprint,
        texts_hash=texts.hash,
        recdemo=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _slug(text: str) -> str:
    """Return *text* with what servers and file systems refuse replaced, at most 40 long."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "x"


def ensure_collection(
    store: VectorStore,
    dataset: Dataset,
    texts: Texts,
    embedder: Embedder,
    on_progress: Progress = lambda done, total: None,
    layout: Layout = PLAIN,
) -> Loaded:
    """Return the collection of a model on these texts, embedding and loading what is missing.

    Args:
        on_progress: is told how many of how many vectors have been written.
    """
    info = describe_collection(dataset, texts, embedder.spec)
    stream = _Stream(embedder, dataset, texts, on_progress)
    started = time.perf_counter()
    store.build(info, stream.batches(), layout=layout)
    if not stream.used:
        return Loaded(info, None, None)
    took = time.perf_counter() - started
    return Loaded(info, stream.seconds, took - stream.seconds, stream.tokens, stream.cost)


def newest_collection(
    store: VectorStore, dataset: Dataset, texts: Texts, name: ModelName, prefix: str
) -> CollectionInfo | None:
    """Return the newest collection of a model on these texts, whatever its revision.

    For models whose revision cannot be asked for. Without a dimension the model's own is meant.
    """

    def fits(info: CollectionInfo) -> bool:
        own = info.how == "native" if name.dimension is None else info.dimension == name.dimension
        same = (info.dataset, info.texts_hash, info.model, info.prefix)
        wanted = (dataset.name, texts.hash, f"{name.provider}:{name.name}", prefix)
        return info.complete and not info.is_study and own and same == wanted

    return max(filter(fits, store.collections()), key=lambda info: info.created, default=None)


class _Stream:
    """Batches of points as they are embedded, with the time and tokens that took."""

    def __init__(
        self, embedder: Embedder, dataset: Dataset, texts: Texts, on_progress: Progress
    ) -> None:
        self._embedder, self._dataset, self._texts = embedder, dataset, texts
        self._on_progress = on_progress
        skips = embedder.spec.reads_text
        self._has_vector = np.array([bool(text) or not skips for text in texts.values])
        self.used = False
        self.seconds = 0.0  # inside the embedder
        self.tokens = 0
        self.cost: float | None = 0.0  # US dollars; None: not known

    def batches(self) -> Iterator[Batch]:
        self.used = True
        answers = self._embedder.embed(self._texts.values)
        done = 0
        while True:
            started = time.perf_counter()
            answer = next(answers, None)
            self.seconds += time.perf_counter() - started
            if answer is None:
                return
            self.tokens += answer.tokens
            known = self.cost is not None and answer.cost is not None
            self.cost = (self.cost or 0) + (answer.cost or 0) if known else None
            kept = np.flatnonzero(self._has_vector[answer.positions])
            for start in range(0, len(kept), BATCH_ROWS):
                part = kept[start : start + BATCH_ROWS]
                rows: IntArray = answer.positions[part].astype("int32")
                yield Batch(rows, answer.vectors[part], self._payloads(rows))
                done += len(rows)
                self._on_progress(done, int(self._has_vector.sum()))

    def _payloads(self, rows: IntArray) -> tuple[dict[str, str], ...]:
        item_ids = self._dataset.catalog.item_ids
        return tuple({"item_id": item_ids[row]} for row in rows)
