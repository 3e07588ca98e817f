"""What a person asks to be evaluated, as plain values, and how it becomes a run.

A run keeps its request, so the same can be asked again: ``recdemo evaluate --like RUN``.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from recdemo import benchmark
from recdemo.dataset import DEFAULT, Dataset, open_dataset
from recdemo.dataset.options import DEFAULT_OPTIONS, ReadOptions
from recdemo.embedding import Listeners
from recdemo.embedding.estimates import can_cost, check_cost, estimate
from recdemo.embedding.options import DEFAULT_EMBED_OPTIONS, EmbedOptions
from recdemo.embedding.watching import wait_line
from recdemo.errors import DatasetError, StoreError
from recdemo.judging import Reopen
from recdemo.one_shot import prepare
from recdemo.protocols import ONE_SHOT, OVERLAP, PROTOCOLS, Judge, OneShot, Overlap
from recdemo.runs import Run
from recdemo.scoring.oneshot import Ties
from recdemo.scoring.sampling import Sample, check_size, draw_sample
from recdemo.slicing import check_by
from recdemo.store import VectorStore
from recdemo.suites import Suite, named, open_suite, usable_ks
from recdemo.texts import fill, portable, text_names
from recdemo.truth import OVERLAPS, Truth
from recdemo.truth.files import find_truth
from recdemo.user_bootstrap import with_user_bootstrap

LONG_WAIT = 5.0  # seconds; of shorter ones nobody needs to hear


@dataclass(frozen=True, slots=True)
class Request:
    """What to evaluate; all that the numbers depend on, as a person would write it."""

    models: tuple[str, ...] = ()
    suite: str = "offline"  # where no models are named
    dataset: str = DEFAULT
    text: str | None = None
    ks: tuple[int, ...] | None = None
    truths: tuple[str, ...] = ("jaccard",)
    by: tuple[str, ...] = ()  # slices
    sample: int | None = None  # query items to draw; None: all are asked
    user_bootstrap: int = 0  # resamples of the users; 0: none
    protocol: str = OVERLAP
    shots: int = 1  # of the one-shot protocol: items that the next one is held against
    ties: Ties = "expected"  # of the one-shot protocol
    read: ReadOptions = DEFAULT_OPTIONS  # columns and filters
    embed: EmbedOptions = DEFAULT_EMBED_OPTIONS

    def as_settings(self) -> dict[str, Any]:
        """Return plain values for a run file; paths are made absolute."""
        path, suite = Path(self.dataset), self.suite
        where = str(path.resolve()) if self.dataset != DEFAULT and path.exists() else self.dataset
        return asdict(self) | {
            "dataset": where,
            "suite": str(Path(suite).resolve()) if suite.endswith(".toml") else suite,
            "text": portable(self.text),
            "read": self.read.as_settings(),
            "embed": self.embed.as_settings(),
        }

    def open_suite(self) -> Suite:
        """Return the models that are named, or the suite."""
        if self.models:
            return Suite(named(self.models))
        return open_suite(self.suite)


def from_settings(settings: Mapping[str, Any]) -> Request:
    """Return the request that a run kept."""
    known = {field.name for field in fields(Request)}
    try:
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list | tuple) else value
            for name, value in settings.items()
            if name in known
        }
        values["read"] = ReadOptions.from_settings(values.get("read", {}))
        values["embed"] = EmbedOptions(**values.get("embed", {}))
        return Request(**values)
    except (TypeError, AttributeError) as error:
        raise StoreError("the run does not say how it was made") from error


def carry_out(
    request: Request,
    store: VectorStore,
    store_name: str,
    watcher: benchmark.Watcher | None = None,
    dataset: Dataset | None = None,
    on_notice: Callable[[str], None] = lambda message: None,
    reopen: Reopen | None = None,
) -> Run:
    """Evaluate what is asked for; faults of the request are found before any work begins.

    Args:
        reopen: opens the same store in another process, so that each processor can judge.
    """
    watcher = watcher or benchmark.Quiet()
    data = dataset or open_dataset(request.dataset, request.read)
    data.require_interactions()
    suite = request.open_suite()
    options = suite.options(request.embed)
    wanted = text_names(request.text or suite.text, data.catalog)
    skip = options.on_empty == "skip"
    texts = tuple(fill(data.catalog, name, data.options, skip) for name in wanted)
    for note in (*data.notes, *(note for text in texts for note in text.notes)):
        on_notice(note)
    check_by(data, request.by)
    if request.user_bootstrap:
        data.interactions()  # they may not be at hand, which is better told before the work
    judge = _judge(request, data, watcher, on_notice)
    plan = benchmark.Plan(
        models=suite.models_for(data),
        texts=texts,
        ks=judge.ks,
        must_run=bool(request.models),
        by=request.by,
        embed=options,
        asked=request.as_settings(),
    )
    _check_cost(plan)
    listeners = _listeners(watcher, on_notice)
    run = benchmark.evaluate(data, store, plan, judge, watcher, store_name, reopen, listeners)
    if request.user_bootstrap and isinstance(judge, Overlap):
        resample = _step(watcher, "user bootstrap")
        run = with_user_bootstrap(run, data, store, judge.truths, request.user_bootstrap, resample)
    return run


def _check_cost(plan: benchmark.Plan) -> None:
    """Refuse what all models together would cost too much, before any of them runs."""
    if plan.embed.max_cost is not None:
        paid = plan.models if plan.must_run else tuple(filter(can_cost, plan.models))
        check_cost(estimate(paid, plan.texts, plan.embed), plan.embed.max_cost)


def _listeners(watcher: benchmark.Watcher, on_notice: Callable[[str], None]) -> Listeners:
    """Return who is told of what happens in embedding; of one thing once, not per dimension."""
    told: set[str] = set()

    def once(message: str) -> None:
        if message not in told:
            told.add(message)
            on_notice(message)

    def wait(reason: str, seconds: float) -> None:
        if seconds >= LONG_WAIT:
            on_notice(wait_line(reason, seconds))

    return Listeners(once, wait, _step(watcher, "pulling"))


def _judge(
    request: Request,
    data: Dataset,
    watcher: benchmark.Watcher,
    on_notice: Callable[[str], None],
) -> Judge:
    if request.sample is not None:
        check_size(request.sample)
    if request.protocol == ONE_SHOT:
        _check_one_shot(request)
        return OneShot(prepare(data, request.shots), request.ties)
    if request.protocol != OVERLAP:
        known = ", ".join(PROTOCOLS)
        raise DatasetError(f"unknown protocol {request.protocol!r}; expected one of {known}")
    overlaps, ks = _overlaps(request.truths), usable_ks(request.ks, data)
    on_truth = _step(watcher, "truth")
    truths = tuple(find_truth(data, name, max(ks), on_truth) for name in overlaps)
    for truth in truths:
        if truth.source:
            on_notice(f"the {truth.overlap} lists of {data.name} were imported: {truth.source}")
    if not all(len(truth.queries) for truth in truths):
        raise DatasetError(
            f"no user of {data.name} touched two rated items, so no item has a truth list; check "
            "the data with 'recdemo dataset validate', or loosen the filters"
        )
    return Overlap(truths, ks, _sample(request.sample, truths, data, on_notice))


def _check_one_shot(request: Request) -> None:
    """Refuse what asks for items or lists, where users are scored."""
    if request.by or request.user_bootstrap or request.ks or request.truths != ("jaccard",):
        raise DatasetError(
            "the one-shot protocol scores users at K = 10 without truth lists; leave out "
            "--by, --user-bootstrap, --k and --truth"
        )
    if request.sample is not None:
        raise DatasetError(
            "the one-shot protocol asks about users, and --sample draws items; leave it out, "
            "since each collection is read once for all users, however many they are"
        )


def _sample(
    n: int | None, truths: tuple[Truth, ...], data: Dataset, on_notice: Callable[[str], None]
) -> Sample | None:
    """Draw the query items to ask; None where all are to be."""
    queries = truths[0].queries
    if n is None:
        return None
    for truth in truths[1:]:
        if not np.array_equal(truth.queries, queries):
            raise DatasetError(
                f"the truths {truths[0].overlap} and {truth.overlap} have lists of different "
                "items, so no sample serves both; evaluate one of them at a time"
            )
    if n >= len(queries):
        on_notice(f"all {len(queries):,} query items are asked, since --sample {n:,} is no fewer")
        return None
    return draw_sample(queries, data.counts, n)


def _overlaps(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in OVERLAPS:
            raise DatasetError(f"unknown truth {name!r}; expected {', '.join(OVERLAPS)}")
    return tuple(dict.fromkeys(names))


def _step(watcher: benchmark.Watcher, name: str) -> Callable[[int, int], None]:
    return lambda done, total: watcher.step(name, done, total)
