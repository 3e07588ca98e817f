"""The main job: from a data set and models to a run. The only place that knows the whole chain."""

import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recdemo import __version__
from recdemo.dataset import Dataset
from recdemo.embedding import Embedder, ModelName, open_embedder, parse_models
from recdemo.errors import DatasetError, EmbeddingError, RecdemoError
from recdemo.loading import Loaded, ensure_collection
from recdemo.neighbors import nearest_with_ties
from recdemo.runs import CeilingFacts, DatasetFacts, Published, Row, Run, Seconds, Skipped, new_id
from recdemo.scoring.recall import Scores, score_lists
from recdemo.scoring.statistics import RESAMPLES, SEED, intervals
from recdemo.store import Candidates, VectorStore
from recdemo.texts import Texts
from recdemo.truth import Truth
from recdemo.truth.files import find_ceiling

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
RECORDED = ("numpy", "scipy", "scikit-learn", "qdrant-edge-py")


class Watcher(Protocol):
    """Is told how an evaluation gets on; called from the thread that evaluates."""

    def row(self, label: str, done: int, total: int) -> None:
        """The work on a row begins."""
        ...

    def step(self, name: str, done: int, total: int) -> None:
        """A step of the current row has come this far."""
        ...


class Quiet:
    """A watcher that tells nobody."""

    def row(self, label: str, done: int, total: int) -> None:
        """Do nothing."""

    def step(self, name: str, done: int, total: int) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to evaluate."""

    models: tuple[ModelName, ...]
    texts: tuple[Texts, ...]
    ks: tuple[int, ...]
    must_run: bool = True  # False: a model of a suite that cannot run is listed as skipped
    asked: tuple[str, ...] = ()  # models or suite, as asked for


def suite_models(suite: str) -> tuple[ModelName, ...]:
    """Return the models of a named suite."""
    if suite not in SUITES:
        raise EmbeddingError(f"unknown suite {suite!r}; expected {', '.join(SUITES)}")
    return tuple(name for text in SUITES[suite] for name in parse_models(text))


def usable_ks(ks: Sequence[int] | None, dataset: Dataset) -> tuple[int, ...]:
    """Return the Ks to score at: those asked for, or of the default ones all that fit."""
    n_rated = int((dataset.counts > 0).sum())
    if ks is not None:
        return tuple(sorted(set(ks)))
    fitting = tuple(k for k in DEFAULT_KS if k < n_rated)
    if not fitting:
        raise DatasetError(
            f"{dataset.name} has {n_rated} rated items, too few for K = {DEFAULT_KS[0]}; "
            "choose a smaller one with --k"
        )
    return fitting


def evaluate(
    dataset: Dataset,
    store: VectorStore,
    plan: Plan,
    truth: Truth,
    watcher: Watcher | None = None,
    store_name: str = "embedded",
) -> Run:
    """Load, query and score every model of the plan; rows come best first.

    Args:
        truth: lists at least as long as the largest K.
    """
    watcher = watcher or Quiet()
    rows, skipped = [], []
    pairs = [(texts, name) for texts in plan.texts for name in plan.models]
    for i, (texts, name) in enumerate(pairs):
        watcher.row(str(name), i, len(pairs))
        try:
            embedder = open_embedder(name, dataset, texts)
            rows.append(_row(dataset, store, texts, embedder, truth, plan.ks, watcher))
        except EmbeddingError as error:
            if plan.must_run:
                raise
            skipped.append(Skipped(str(name), str(error)))
    if not rows:
        reasons = "; ".join(f"{row.model}: {row.reason}" for row in skipped)
        raise RecdemoError(f"no model of the suite can run here: {reasons}")
    watcher.row("intervals", len(pairs), len(pairs))
    headline = 100 if 100 in plan.ks else max(plan.ks)
    rows = sorted(_with_intervals(rows), key=lambda row: -row.recall[headline])
    now = datetime.now(UTC)
    return Run(
        id=new_id(now),
        created=now.isoformat(timespec="seconds"),
        recdemo=__version__,
        dataset=DatasetFacts(
            dataset.name, len(dataset), truth.n_rated, dataset.n_users, dataset.n_interactions
        ),
        store=store_name,
        ks=plan.ks,
        chance={k: k / (truth.n_rated - 1) for k in plan.ks},
        ceiling=_ceiling(dataset, truth, headline),
        rows=tuple(rows),
        skipped=tuple(skipped),
        published=_published(dataset, truth, plan.ks),
        settings={
            "models": list(plan.asked),
            "texts": [texts.name for texts in plan.texts],
            "ks": list(plan.ks),
            "truth": truth.overlap,
            "bootstrap": {"resamples": RESAMPLES, "seed": SEED},
        },
        versions={"python": platform.python_version()} | {name: version(name) for name in RECORDED},
        hashes={f"texts {texts.name}": texts.hash for texts in plan.texts},
    )


def _row(
    dataset: Dataset,
    store: VectorStore,
    texts: Texts,
    embedder: Embedder,
    truth: Truth,
    ks: tuple[int, ...],
    watcher: Watcher,
) -> Row:
    def on_load(done: int, total: int) -> None:
        watcher.step("loading", done, total)

    watcher.step("embedding", 0, len(dataset))
    loaded = ensure_collection(store, dataset, texts, embedder, on_load)
    watcher.step("querying", 0, len(truth.queries))
    started = time.perf_counter()
    scores = score_collection(store, loaded.info.name, truth, ks)
    seconds = time.perf_counter() - started
    return _describe(embedder, texts, truth, loaded, scores, seconds)


def score_collection(store: VectorStore, name: str, truth: Truth, ks: tuple[int, ...]) -> Scores:
    """Query a collection for the neighbors of every query item and score them."""
    candidates = Candidates(truth.rated)
    found = nearest_with_ties(store, name, truth.queries, max(ks), candidates)
    return score_lists(truth, truth.queries, ((n.rows, n.distances) for n in found), ks)


def _describe(
    embedder: Embedder, texts: Texts, truth: Truth, loaded: Loaded, scores: Scores, seconds: float
) -> Row:
    spec, info = embedder.spec, loaded.info
    return Row(
        model=spec.model,
        dimension=spec.dimension,
        how=spec.how,
        text=texts.name,
        truth=truth.overlap,
        protocol="overlap",
        queries=len(scores.queries),
        without_vector=0,
        recall=scores.means("recall"),
        ndcg=scores.means("ndcg"),
        interval={},
        bytes_per_item=4 * spec.dimension,
        seconds=Seconds(loaded.embed_seconds, loaded.load_seconds, seconds),
        cost_usd=0.0 if spec.provider in ("baseline", "bundled") else None,
        collection=info.name,
        fingerprint=info.fingerprint,
        prefix=spec.prefix,
        revision=spec.revision,
        note=spec.note,
        scores=scores,
    )


def _with_intervals(rows: list[Row]) -> Iterator[Row]:
    """Give every score its interval; all rows share the same resamples."""
    columns: list[NDArray[np.float64]] = []
    for row in rows:
        assert row.scores is not None  # set by `_describe`
        columns += [row.scores.recall, row.scores.ndcg]
    found = iter(intervals(np.hstack(columns)))
    for row in rows:
        names = [f"{measure}@{k}" for measure in ("recall", "ndcg") for k in row.recall]
        yield replace(row, interval={name: next(found) for name in names})


def _ceiling(dataset: Dataset, truth: Truth, k: int) -> CeilingFacts | None:
    ceiling = find_ceiling(dataset, truth.overlap, k)
    if ceiling is None:
        return None
    return CeilingFacts(ceiling.k, ceiling.lower, ceiling.upper, ceiling.seeds)


def _published(dataset: Dataset, truth: Truth, ks: Sequence[int]) -> tuple[Published, ...]:
    """Return the study's rows where they can be set beside ours: same items, truth and K."""
    from recdemo.dataset import bundled

    if dataset.name != bundled.NAME or truth.overlap != "jaccard" or 100 not in ks:
        return ()
    rows = sorted(bundled.read_published(), key=lambda row: -row.recall_at_100)
    return tuple(
        Published(row.model, row.dimension, {100: row.recall_at_100}, row.source) for row in rows
    )
