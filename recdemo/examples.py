"""A few well-known items with the lists of the best models, asked from the collections of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from recdemo.dataset import Dataset
from recdemo.errors import DatasetError, StoreError
from recdemo.neighbors import nearest
from recdemo.recommend import Opinion, Recommendation
from recdemo.runs import Row, Run
from recdemo.store import VectorStore
from recdemo.truth import Truth

N_ITEMS = 3
N_MODELS = 2
LENGTH = 10  # of a list

_BASELINE = "baseline:"


@dataclass(frozen=True, slots=True)
class Example:
    """What the models recommend for one item."""

    row: int
    opinions: tuple[Opinion, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Examples for a report, and what had to be left out of them."""

    dataset: Dataset | None  # None: it could not be opened
    shown: tuple[Example, ...] = ()
    notes: tuple[str, ...] = ()


def check_same(run: Run, dataset: Dataset) -> None:
    """Refuse a data set that is not the one of the run."""
    found = (dataset.name, len(dataset), dataset.n_rated, dataset.n_interactions)
    facts = run.dataset
    if found != (facts.name, facts.items, facts.rated, facts.interactions):
        raise DatasetError(
            f"{found[0]} with {found[1]:,} items, {found[2]:,} of them rated, and {found[3]:,} "
            f"interactions is not the data of run {run.id}: {facts.name} with {facts.items:,}, "
            f"{facts.rated:,} and {facts.interactions:,}; has it changed since?"
        )


def find_examples(
    run: Run, dataset: Dataset, store: VectorStore, truth: Truth | None = None
) -> Examples:
    """Ask the collections of the best models for the neighbors of some well-known items.

    Nothing is embedded or loaded: a model whose collection is gone is left out with a note.

    Args:
        truth: the lists that marks come from; None where there are none.
    """
    items = known_items(dataset)
    lists, notes = [], []
    for row in best_rows(run):
        try:
            lists.append(_opinions(row, items, dataset, store, truth))
        except StoreError as error:
            notes.append(f"The lists of {row.label} are left out: {error}.")
    shown = [
        Example(item, _compared([opinions[i] for opinions in lists]))
        for i, item in enumerate(items)
        if lists
    ]
    return Examples(dataset, tuple(shown), tuple(notes))


def known_items(dataset: Dataset, n: int = N_ITEMS) -> list[int]:
    """Return the item with the most users in each of *n* equal stretches of the catalog."""
    stretches = np.array_split(np.arange(len(dataset)), n)
    best = [int(part[dataset.counts[part].argmax()]) for part in stretches if len(part)]
    return [row for row in best if dataset.rated[row]]


def best_rows(run: Run) -> list[Row]:
    """Return the best row of each of the best models, and the best that is no free baseline."""
    first = run.rows[0]
    best: dict[str, Row] = {}
    for row in run.rows:
        if (row.truth, row.protocol) == (first.truth, first.protocol):
            best.setdefault(row.model, row)
    found = list(best.values())
    others = [row for row in found[N_MODELS:] if not row.model.startswith(_BASELINE)]
    shown = found[:N_MODELS]
    if all(row.model.startswith(_BASELINE) for row in shown):
        shown += others[:1]
    return shown


def _opinions(
    row: Row, items: Sequence[int], dataset: Dataset, store: VectorStore, truth: Truth | None
) -> list[Opinion]:
    """Return the list of one model for each item; all items of the catalog may be in it."""
    k = min(LENGTH, len(dataset) - 1)
    found = nearest(store, row.collection, np.array(items, np.int32), k)
    opinions = []
    for item, rows, distances in zip(items, found.rows, found.distances, strict=True):
        relevant = set() if truth is None else set(truth.neighbors[item].tolist()) - {-1}
        entries = tuple(
            Recommendation(rank, int(other), float(distance), int(other) in relevant)
            for rank, (other, distance) in enumerate(zip(rows, distances, strict=True), 1)
            if other >= 0
        )
        opinions.append(Opinion(row.label, item, entries, bool(relevant)))
    return opinions


def _compared(opinions: Sequence[Opinion]) -> tuple[Opinion, ...]:
    """Note for each recommendation the best rank that another list gives it."""
    compared = []
    for own in opinions:
        ranks: dict[int, int] = {}
        for entry in (e for other in opinions if other is not own for e in other.items):
            ranks[entry.row] = min(entry.rank, ranks.get(entry.row, entry.rank))
        entries = tuple(replace(e, other_rank=ranks.get(e.row)) for e in own.items)
        compared.append(replace(own, items=entries))
    return tuple(compared)
