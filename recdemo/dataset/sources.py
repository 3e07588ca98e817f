"""The files of a data set, found but not read: what opening and validating start from."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recdemo.dataset import Dataset
from recdemo.dataset.catalog import Catalog
from recdemo.dataset.entries import Columns
from recdemo.dataset.faults import OnFault, stop
from recdemo.dataset.imports import listed_items
from recdemo.dataset.interactions import Interactions
from recdemo.dataset.options import Filters, ReadOptions
from recdemo.dataset.reading import Reading, read_interactions
from recdemo.dataset.tables import Table
from recdemo.errors import DatasetError


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """How to read the files of a data set; its folder or zip has to stay open meanwhile."""

    place: str  # the folder or zip, for messages
    name: str
    find_items: Callable[[], Table]
    read_catalog: Callable[[OnFault], Catalog]
    find_interactions: Callable[[], tuple[Table, Columns] | None]
    terms: str = ""  # under which the data may be used


def read_source(source: Source, options: ReadOptions) -> Dataset:
    """Read a data set; its first fault is a `DatasetError`."""
    catalog = source.read_catalog(stop)
    found = source.find_interactions()
    if found is None:
        return _without_interactions(source, catalog, options)
    table, columns = found
    reading = read_interactions(table, catalog.item_ids, columns, options.filters)
    interactions = reading.interactions
    if not len(interactions):
        raise DatasetError(f"{table.label} {_why_empty(reading, options.filters)}")
    return Dataset(
        catalog=catalog,
        counts=interactions.counts(),
        n_users=interactions.n_users,
        n_interactions=len(interactions),
        interactions=lambda: interactions,
        options=options,
        terms=source.terms,
        notes=tuple(_notes(table.label, reading, options.filters)),
    )


def _without_interactions(source: Source, catalog: Catalog, options: ReadOptions) -> Dataset:
    def interactions() -> Interactions:
        raise DatasetError(
            f"{source.place} says nothing of who touched what, so there is no truth to measure "
            "against; add interactions.csv, .jsonl or .parquet with user_id and item_id, or lists "
            "computed elsewhere with 'recdemo truth import'"
        )

    nobody = np.zeros(len(catalog), np.int32)
    return Dataset(
        catalog, nobody, 0, 0, interactions, None, None, listed_items(catalog), options,
        source.terms,
    )  # fmt: skip


def _why_empty(reading: Reading, filters: Filters) -> str:
    if not reading.n_entries:
        return "holds no interaction: it is empty"
    if reading.n_unknown == reading.n_entries:
        return (
            "holds no interaction of any item: the catalog has none of its items, "
            f"{reading.unknown_id!r} for one; compare the ids with 'recdemo dataset validate'"
        )
    return f"has no interaction left: {'; '.join(dropped(reading, filters))}"


def _notes(label: str, reading: Reading, filters: Filters) -> list[str]:
    notes = []
    if reading.n_unknown:
        notes.append(
            f"{label}: {reading.n_unknown:,} of {reading.n_entries:,} interactions are left out, "
            f"since the catalog does not have their items ({reading.unknown_id!r} for one)"
        )
    gone = dropped(reading, filters)
    if gone:
        left = len(reading.interactions)
        notes.append(f"{label}: {left:,} interactions are left; {'; '.join(gone)}")
    return notes


def dropped(reading: Reading, filters: Filters) -> list[str]:
    """Say what each filter left out, in the order in which they were applied."""
    least, users, items = filters.min_value, filters.min_interactions, filters.min_user_interactions
    steps = (
        (reading.n_below, f"below the value {least}"),
        (reading.n_of_few_items, f"of users with fewer than {items:,} items"),
        (reading.n_of_few_users, f"of items with fewer than {users:,} users"),
    )
    return [f"{count:,} {what} are left out" for count, what in steps if count]
