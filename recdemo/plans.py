"""What a person asks to be evaluated, as plain values, and how it becomes a run.

A run keeps its request, so the same can be asked again: ``recdemo evaluate --like RUN``.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from recdemo import benchmark
from recdemo.dataset import DEFAULT, Dataset, open_dataset
from recdemo.embedding import parse_models
from recdemo.errors import DatasetError, StoreError
from recdemo.runs import Run
from recdemo.slicing import check_by
from recdemo.store import VectorStore
from recdemo.suites import suite_models, usable_ks
from recdemo.texts import fill, text_names
from recdemo.truth import OVERLAPS
from recdemo.truth.files import find_truth
from recdemo.user_bootstrap import with_user_bootstrap


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
    user_bootstrap: int = 0  # resamples of the users; 0: none

    def as_settings(self) -> dict[str, Any]:
        """Return plain values for a run file; a path is made absolute."""
        path = Path(self.dataset)
        where = str(path.resolve()) if self.dataset != DEFAULT and path.exists() else self.dataset
        return asdict(self) | {"dataset": where}


def from_settings(settings: Mapping[str, Any]) -> Request:
    """Return the request that a run kept."""
    known = {field.name for field in fields(Request)}
    try:
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list | tuple) else value
            for name, value in settings.items()
            if name in known
        }
        return Request(**values)
    except (TypeError, AttributeError) as error:
        raise StoreError("the run does not say how it was made") from error


def carry_out(
    request: Request,
    store: VectorStore,
    store_name: str,
    watcher: benchmark.Watcher | None = None,
    dataset: Dataset | None = None,
) -> Run:
    """Evaluate what is asked for; faults of the request are found before any work begins."""
    watcher = watcher or benchmark.Quiet()
    data = dataset or open_dataset(request.dataset)
    check_by(data, request.by)
    overlaps = _overlaps(request.truths)
    names = tuple(name for model in request.models for name in parse_models(model))
    plan = benchmark.Plan(
        models=names or suite_models(request.suite),
        texts=tuple(fill(data.catalog, name) for name in text_names(request.text, data.catalog)),
        ks=usable_ks(request.ks, data),
        must_run=bool(names),
        by=request.by,
        asked=request.as_settings(),
    )
    on_truth = _step(watcher, "truth")
    truths = [find_truth(data, overlap, max(plan.ks), on_truth) for overlap in overlaps]
    run = benchmark.evaluate(data, store, plan, truths, watcher, store_name)
    if request.user_bootstrap:
        resample = _step(watcher, "user bootstrap")
        run = with_user_bootstrap(run, data, store, truths, request.user_bootstrap, resample)
    return run


def _overlaps(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in OVERLAPS:
            raise DatasetError(f"unknown truth {name!r}; expected {', '.join(OVERLAPS)}")
    return tuple(dict.fromkeys(names))


def _step(watcher: benchmark.Watcher, name: str) -> Callable[[int, int], None]:
    return lambda done, total: watcher.step(name, done, total)
