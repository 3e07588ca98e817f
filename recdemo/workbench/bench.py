"""Answers what the terminal UI asks, from a data set, its texts, a store, models and the truth."""

import threading

import numpy as np

from recdemo.dataset import open_dataset
from recdemo.embedding import Listeners
from recdemo.embedding.watching import wait_line
from recdemo.errors import DatasetError
from recdemo.neighbors import nearest, nearest_with_ties
from recdemo.recommend import default_model
from recdemo.scoring.recall import score_lists
from recdemo.search import build_index, search
from recdemo.store import Candidates, VectorStore
from recdemo.texts import fill, one_text_name
from recdemo.truth import Truth
from recdemo.truth.files import SHORTEST, find_truth
from recdemo.ui.services import (
    Choice,
    Facts,
    Found,
    Item,
    Line,
    Neighbor,
    Notice,
    Opinion,
    Progress,
    Shared,
    TruthList,
)
from recdemo.workbench import models
from recdemo.workbench.late_store import LateStore
from recdemo.workbench.wanted import Wanted, location_of

RIGHT = "baseline:genre-year"  # the second opinion when nothing else is asked for

_VISITOR = "visitors do not evaluate; whoever runs this can"
_NO_TRUTH = "nothing to evaluate against: the data set has no interactions of several items"


class Workbench:
    """Answers what the UI asks for. Every call may come from another thread."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._dataset = open_dataset(wanted.dataset, wanted.read)
        catalog = self._dataset.catalog
        name = one_text_name(wanted.text, catalog)
        self._texts = fill(catalog, name, self._dataset.options, skip_blank=True)
        self._index = build_index(catalog, self._dataset.counts)
        self._store = LateStore(location_of(wanted))
        self._truth: Truth | None = None
        self._truth_lock = threading.Lock()
        self._ready: dict[str, models.Prepared] = {}

    def facts(self) -> Facts:
        """Return what is looked at, and which models to begin with."""
        dataset, texts = self._dataset, self._texts
        first = str(default_model(dataset, texts))
        second = models.other_free(dataset, texts, first, RIGHT)
        why_not = "" if dataset.n_rated > 1 else _NO_TRUTH
        if self._wanted.visitor:
            why_not = _VISITOR
        return Facts(
            dataset.name, len(dataset), dataset.item_word, _shown(self._store.location), texts.name,
            first, second, why_not,
        )  # fmt: skip

    def search(self, query: str, limit: int) -> Found:
        """Find the items that a query fits."""
        hits = search(self._index, query, limit)
        return Found(tuple(map(self._line, hits.rows)), hits.total, hits.exact)

    def item(self, row: int) -> Item:
        """Return an item by itself."""
        catalog = self._dataset.catalog
        synopsis = catalog.text(row, "synopsis") or self._texts.values[row]
        return Item(self._line(row), synopsis, int(self._dataset.counts[row]))

    def prepare(self, model: str, progress: Progress, notice: Notice, may_pay: bool) -> str:
        """Find the collection of a model or build it; return the model with its dimension."""
        listeners = Listeners(notice, lambda reason, s: notice(wait_line(reason, s)))
        with self._store.asked(notice) as store:
            if self._wanted.visitor:
                models.check_visitor(store, self._dataset, self._texts, model)
            prepared = models.prepare(
                store, self._dataset, self._texts, model, progress, listeners, may_pay
            )
        self._ready[prepared.label] = prepared
        return prepared.label

    def recommend(self, model: str, row: int, k: int, notice: Notice) -> Opinion:
        """Return the nearest other items by a model that has been prepared."""
        with self._store.asked(notice) as store:
            return self._recommend(store, model, row, k)

    def _recommend(self, store: VectorStore, model: str, row: int, k: int) -> Opinion:
        prepared = self._ready[model]
        if prepared.reads_text and not self._texts.values[row]:
            raise DatasetError(
                f"this item has no text {self._texts.name!r}, so it has no vector of {model}; "
                "choose a model that reads other fields, baseline:genre say"
            )
        truth = self._find_truth(row)
        found = nearest(
            store, prepared.collection, np.array([row], np.int32), min(k, len(self._dataset))
        )
        relevant = set() if truth is None else set(truth.neighbors[row].tolist()) - {-1}
        items = tuple(
            Neighbor(self._line(int(other)), float(distance), int(other) in relevant)
            for other, distance in zip(found.rows[0], found.distances[0], strict=True)
            if other >= 0
        )
        if truth is None or not relevant:
            return Opinion(row, items, False)
        return Opinion(row, items, True, self._recall(store, prepared, truth, row), truth.k)

    def _recall(
        self, store: VectorStore, prepared: models.Prepared, truth: Truth, row: int
    ) -> float:
        """Score one item exactly as an evaluation does."""
        query = np.array([row], np.int32)
        parts = nearest_with_ties(
            store, prepared.collection, query, truth.k, Candidates(truth.rated)
        )
        lists = ((part.rows, part.distances) for part in parts)
        return float(score_lists(truth, query, lists, [truth.k]).recall[0, 0])

    def truth(self, row: int, k: int) -> TruthList:
        """Return the items whose users overlap most with those of *row*."""
        truth, counts = self._find_truth(row), self._dataset.counts
        if truth is None:
            return TruthList(row, "jaccard", (), "nobody touched it, so there is no truth list")
        items = []
        for other, overlap in zip(truth.neighbors[row, :k], truth.overlaps[row, :k], strict=True):
            if other >= 0:
                both = float(counts[row]) + float(counts[other])
                users = round(float(overlap) * both / (1 + float(overlap)))
                items.append(Shared(self._line(int(other)), float(overlap), users))
        return TruthList(row, truth.overlap, tuple(items), "" if items else "no users in common")

    def choices(self) -> tuple[Choice, ...]:
        """Return collections at hand and free models that could be built."""
        with self._store.asked(lambda text: None) as store:
            return models.free(store, self._dataset, self._texts)

    def _find_truth(self, row: int) -> Truth | None:
        dataset = self._dataset
        if not dataset.rated[row] or dataset.n_rated < 2:
            return None
        with self._truth_lock:  # both sides ask at once, and it may have to be built
            if self._truth is None:
                k = min(SHORTEST, dataset.n_rated - 1)
                self._truth = find_truth(dataset, "jaccard", k).cut(k)
            return self._truth

    def _line(self, row: int) -> Line:
        catalog = self._dataset.catalog
        year, directors, genres = (catalog.text(row, f) for f in ("year", "directors", "genres"))
        return Line(row, catalog.title(row), year, directors, genres)


def _shown(location: str) -> str:
    """Return the store without what a URL may hold of a login."""
    return location.rpartition("@")[2] if "://" in location else location
