"""What compared rows recommend, asked again from their collections, which never change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from recdemo.dataset import Dataset, open_dataset
from recdemo.entrants import Entrant, Field
from recdemo.errors import DatasetError, StoreError
from recdemo.neighbors import nearest
from recdemo.plans import from_settings
from recdemo.runs import Run
from recdemo.scoring.comparing import IntArray, differences
from recdemo.store import Candidates, VectorStore
from recdemo.truth import Truth
from recdemo.truth.files import find_truth

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Named:
    """One item of a list."""

    label: str  # Title (year)
    in_truth: bool | None  # None: no truth lists at hand


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A query on which two rows differ, with the beginning of what each recommends."""

    label: str
    item_id: str
    users: int  # who touched it
    scores: tuple[float, float]
    lists: tuple[tuple[Named, ...], tuple[Named, ...]]


def dataset_of(run: Run) -> Dataset:
    """Open the data set of a run; one that is not what was evaluated is a `DatasetError`."""
    request = from_settings({"dataset": run.dataset.name, **run.settings})
    dataset = open_dataset(request.dataset, request.read)
    found = (len(dataset), dataset.n_rated, dataset.n_interactions)
    expected = (run.dataset.items, run.dataset.rated, run.dataset.interactions)
    if found != expected:
        raise DatasetError(
            f"{dataset.name} is no longer what run {run.id} evaluated: {found[0]:,} items and "
            f"{found[2]:,} interactions, not {expected[0]:,} and {expected[2]:,}"
        )
    return dataset


def read_lists(
    field: Field,
    dataset: Dataset,
    open_store: Callable[[str], VectorStore],
    on_progress: Progress = lambda done, total: None,
) -> tuple[dict[int, IntArray], list[str]]:
    """Ask each row's collection again; by place in the field, ``(q, k)`` padded with -1.

    Also returns a sentence for every row whose lists cannot be had.

    Args:
        open_store: opens the store of a run; the caller closes it.
    """
    if field.entrants[0].row.protocol != "overlap":
        return {}, ["Lists are not compared: this protocol asks about users, not items."]
    candidates = Candidates(dataset.rated)
    lists: dict[int, IntArray] = {}
    notes = []
    for i, entrant in enumerate(field.entrants):
        on_progress(i, len(field.entrants))
        try:
            store = open_store(entrant.run.store)
            queries = _queries(entrant)
            found = nearest(store, entrant.row.collection, queries, field.k, candidates)
            lists[i] = found.rows
        except StoreError as error:
            notes.append(f"No lists of {entrant.name}: {error}.")
    on_progress(len(field.entrants), len(field.entrants))
    return lists, notes


def _queries(entrant: Entrant) -> IntArray:
    if entrant.row.scores is None:
        raise ValueError(f"{entrant.name} has no scores per query")
    return entrant.row.scores.queries


def truth_of(field: Field, dataset: Dataset) -> Truth | None:
    """Return the truth lists the rows were scored against; None where they cannot be had."""
    try:
        return find_truth(dataset, field.entrants[0].row.truth, field.k)
    except DatasetError:  # raw interactions that are no longer at hand
        return None


def most_different(
    field: Field,
    pair: tuple[int, int],
    lists: Mapping[int, IntArray],
    dataset: Dataset,
    count: int,
    truth: Truth | None = None,
    length: int = 5,
) -> list[Disagreement]:
    """Return the queries on which two rows differ most, ties to the smaller row.

    Args:
        pair: places in the field; both must be among *lists*.
        truth: says which recommended items are in the truth list of the query.
        length: how much of each list to name.
    """
    first, second = (field.entrants[i].values(field.measure, field.k) for i in pair)
    apart = differences(first, second)
    order = np.argsort(-np.abs(apart), kind="stable")[:count].tolist()
    queries = _queries(field.entrants[0])
    result = []
    for i in order:
        if not apart[i]:
            break
        row = int(queries[i])
        relevant = None if truth is None else set(truth.neighbors[row, : field.k].tolist())
        one, other = (_named(dataset, lists[place][i, :length], relevant) for place in pair)
        label, item_id = dataset.catalog.label(row), dataset.catalog.item_ids[row]
        scores = (float(first[i]), float(second[i]))
        result.append(Disagreement(label, item_id, int(dataset.counts[row]), scores, (one, other)))
    return result


def _named(dataset: Dataset, rows: IntArray, relevant: set[int] | None) -> tuple[Named, ...]:
    return tuple(
        Named(dataset.catalog.label(row), None if relevant is None else row in relevant)
        for row in rows.tolist()
        if row >= 0
    )
