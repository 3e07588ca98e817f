"""The main job: from a data set and models to a run. The only place that knows the whole chain."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np

from recdemo import __version__
from recdemo.dataset import Dataset
from recdemo.embedding import SILENT, Embedder, Listeners, ModelName, ModelSpec, open_embedder
from recdemo.embedding.options import DEFAULT_EMBED_OPTIONS, EmbedOptions
from recdemo.errors import EmbeddingError, RecdemoError
from recdemo.facts import agreement, published_rows, truth_facts
from recdemo.judging import Judged, Reopen, judges
from recdemo.loading import Loaded, ensure_collection
from recdemo.protocols import Judge, Judgment, OneShot, Overlap
from recdemo.runs import (
    DatasetFacts,
    Row,
    Run,
    SampleFacts,
    Seconds,
    Skipped,
    TruthFacts,
    by_reason,
    new_id,
)
from recdemo.scoring.statistics import RESAMPLES, SEED, intervals
from recdemo.slicing import slices_of
from recdemo.store import VectorStore
from recdemo.texts import Texts

RECORDED = ("numpy", "scipy", "scikit-learn")
ANY_TEXT = "any"  # of a row that reads no text, where a run has several texts


class Watcher(Protocol):
    """Is told how an evaluation gets on; called from the thread that evaluates."""

    def row(self, label: str, done: int, total: int) -> None:
        """The work on a model begins."""
        ...

    def step(self, name: str, done: int, total: int) -> None:
        """A step of the current model has come this far."""
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
    by: tuple[str, ...] = ()  # slices: popularity, decade, or a field
    embed: EmbedOptions = DEFAULT_EMBED_OPTIONS
    asked: Mapping[str, Any] = field(default_factory=dict)  # kept, to run the same again


def evaluate(
    dataset: Dataset,
    store: VectorStore,
    plan: Plan,
    judge: Judge,
    watcher: Watcher | None = None,
    store_name: str = "embedded",
    reopen: Reopen | None = None,
    listeners: Listeners = SILENT,
) -> Run:
    """Load, query and score every model of the plan; rows come best first.

    Args:
        judge: scores the collections; with several truths, rows are sorted by the first.
        reopen: opens the same store in another process, so that each processor can judge.
        listeners: are told what happens while texts are embedded.
    """
    watcher = watcher or Quiet()
    waiting: list[_Waiting] = []
    skipped = []
    pairs = [(texts, name) for texts in plan.texts for name in plan.models]
    with judges(store, judge, reopen, len(pairs)) as submit:
        for i, (texts, name) in enumerate(pairs):
            watcher.row(str(name), i, len(pairs))
            try:
                embedder = open_embedder(name, dataset, texts, plan.embed, listeners)
                if not _stands_already(embedder.spec, texts, waiting, plan):
                    loaded = _loaded(dataset, store, texts, embedder, watcher)
                    watcher.step("querying", 0, judge.n_queries)
                    answer = submit(loaded.info.name)
                    waiting.append(_Waiting(name, texts, embedder.spec, loaded, answer))
            except EmbeddingError as error:
                if plan.must_run:
                    raise
                skipped.append(Skipped(str(name), str(error)))
        rows: list[Row] = []
        for i, row in enumerate(waiting):
            watcher.step("querying", i, len(waiting))
            try:
                rows += _rows(plan, row)
            except EmbeddingError as error:  # a model that has no vector for what is asked
                if plan.must_run:
                    raise
                skipped.append(Skipped(str(row.name), str(error)))
    if not rows:
        reasons = "; ".join(f"{models}: {reason}" for models, reason in by_reason(skipped))
        raise RecdemoError(f"no model of the suite can run here: {reasons}")
    watcher.row("intervals", len(pairs), len(pairs))
    rows = [row for group in _groups(rows) for row in _with_intervals(group, dataset, plan.by)]
    return _run(dataset, plan, judge, rows, skipped, (store_name, store.versions()))


def _stands_already(
    spec: ModelSpec, texts: Texts, waiting: Sequence["_Waiting"], plan: Plan
) -> bool:
    """Tell whether a row would repeat one: it reads no text, or a suite names it twice."""
    if not spec.reads_text and texts is not plan.texts[0]:
        return True
    same = any((row.spec, row.texts) == (spec, texts) for row in waiting)
    return same and not plan.must_run  # who names a model twice wants to see that it is the same


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A collection that is loaded and being judged."""

    name: ModelName
    texts: Texts
    spec: ModelSpec
    loaded: Loaded
    answer: Callable[[], Judged]  # waits for it


def _loaded(
    dataset: Dataset, store: VectorStore, texts: Texts, embedder: Embedder, watcher: Watcher
) -> Loaded:
    def on_load(done: int, total: int) -> None:
        watcher.step("loading", done, total)

    watcher.step("embedding", 0, len(dataset))
    return ensure_collection(store, dataset, texts, embedder, on_load)


def _rows(plan: Plan, row: _Waiting) -> Iterator[Row]:
    """Yield the rows of one model on one text, one for each truth or sample."""
    judged = row.answer()
    text = row.texts.name if row.spec.reads_text or len(plan.texts) == 1 else ANY_TEXT
    for judgment in judged.judgments:
        yield _describe(row.spec, text, judgment, row.loaded, judged.seconds)


def _describe(
    spec: ModelSpec, text: str, judgment: Judgment, loaded: Loaded, seconds: float
) -> Row:
    scores = judgment.scores
    return Row(
        model=spec.model,
        dimension=spec.dimension,
        how=spec.how,
        text=text,
        truth=judgment.truth,
        protocol=judgment.protocol,
        queries=len(scores.queries),
        without_vector=judgment.without_vector,
        recall=scores.means("recall"),
        ndcg=scores.means("ndcg"),
        interval={},
        bytes_per_item=4 * spec.dimension,
        seconds=Seconds(loaded.embed_seconds, loaded.load_seconds, seconds),
        cost_usd=loaded.cost,
        collection=loaded.info.name,
        fingerprint=loaded.info.fingerprint,
        prefix=spec.prefix,
        revision=spec.revision,
        note=spec.note,
        tokens=loaded.tokens,
        chance=judgment.chance,
        scores=scores,
    )


def _groups(rows: Sequence[Row]) -> Iterable[list[Row]]:
    """Return the rows of the same queries together; they share their resamples."""
    groups: dict[bytes, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.known_scores.queries.tobytes(), []).append(row)
    return groups.values()


def _with_intervals(rows: Sequence[Row], dataset: Dataset, by: Sequence[str]) -> Iterator[Row]:
    """Give every score its interval, and every row its slices."""
    scores = [row.known_scores for row in rows]
    values = np.hstack([part for each in scores for part in (each.recall, each.ndcg)])
    found = iter(intervals(values, strata=scores[0].strata))
    for row, slices in zip(rows, slices_of(scores, dataset, by), strict=True):
        names = [f"{measure}@{k}" for measure in ("recall", "ndcg") for k in row.recall]
        yield replace(row, interval={name: next(found) for name in names}, slices=slices)


def _run(
    dataset: Dataset,
    plan: Plan,
    judge: Judge,
    rows: Sequence[Row],
    skipped: Sequence[Skipped],
    store: tuple[str, Mapping[str, str]],
) -> Run:
    now = datetime.now(UTC)
    truths = judge.truths if isinstance(judge, Overlap) else ()
    facts = {truth.overlap: truth_facts(dataset, truth, plan.ks) for truth in truths}
    first = facts[truths[0].overlap] if truths else TruthFacts({}, None)
    run = Run(
        id=new_id(now),
        created=now.isoformat(timespec="seconds"),
        recdemo=__version__,
        dataset=DatasetFacts(
            dataset.name, len(dataset), judge.n_rated, dataset.n_users, dataset.n_interactions
        ),
        store=store[0],
        ks=judge.ks,
        chance=first.chance,
        ceiling=first.ceiling,
        rows=tuple(rows),
        skipped=tuple(skipped),
        published=published_rows(dataset, truths, plan.ks),
        truths=facts,
        one_shot=judge.facts() if isinstance(judge, OneShot) else {},
        sample=_sample_facts(judge),
        settings={**plan.asked, "bootstrap": {"resamples": RESAMPLES, "seed": SEED}},
        versions={
            "python": platform.python_version(),
            **{name: version(name) for name in RECORDED},
            **store[1],
        },
        hashes={f"texts {texts.name}": texts.hash for texts in plan.texts}
        | {f"truth {truth.overlap}": truth.hash() for truth in truths},
    )
    tau = agreement(rows, list(facts), run.headline) if len(facts) > 1 else {}
    return replace(run, rows=_sorted(run, list(facts)), tau=tau)


def _sample_facts(judge: Judge) -> SampleFacts | None:
    if not isinstance(judge, Overlap) or judge.sample is None:
        return None
    sample = judge.sample
    return SampleFacts(len(sample.queries), sample.strata.population, sample.seed, sample.described)


def _sorted(run: Run, overlaps: Sequence[str]) -> tuple[Row, ...]:
    """Return the rows by truth or protocol, and the best first among these."""

    def place(row: Row) -> tuple[int, str, float]:
        order = overlaps.index(row.truth) if row.truth in overlaps else 0
        return order, row.protocol, -run.score(row)

    return tuple(sorted(run.rows, key=place))
