"""Reads interactions of any size; the one reader behind every kind of data set.

Ids become numbers chunk by chunk, so 32 million lines take 16 bytes each, and there are never
more objects than users, items and the lines of one block.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset.entries import Chunk, Columns
from recdemo.dataset.faults import stop
from recdemo.dataset.interactions import (
    IntArray,
    Interactions,
    in_order_of_appearance,
    latest,
)
from recdemo.dataset.options import Filters
from recdemo.dataset.tables import Table, read_table_chunks

Scalar = TypeVar("Scalar", bound=np.generic)
ALL = Filters()
_SHOWN = 5  # pairs kept as examples


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Interactions, and what was left out of them."""

    interactions: Interactions
    n_entries: int  # in the file
    n_unknown: int  # of them of an item that the catalog does not have
    n_repeated: int  # of them of a pair that has a later entry
    n_below: int  # of them below the smallest value that counts
    n_of_few_items: int  # of them of users with too few items
    n_of_few_users: int  # of them of items with too few users
    unknown_id: str | None  # the first item that the catalog does not have
    user_ids: tuple[str, ...]  # in the order of their numbers
    repeated: tuple[tuple[str, str], ...]  # user and item of the first pairs that repeat


def read_interactions(
    table: Table, item_ids: Sequence[str], columns: Columns, filters: Filters = ALL
) -> Reading:
    """Read who touched what; a broken line is a `DatasetError` with its number.

    A pair of a user and an item counts once: its entry with the latest timestamp stays, the
    later line where they are equal. Then the filters are applied. Users are numbered as they
    first appear.

    Args:
        item_ids: those of the catalog in row order; ids are text, so 007 is not 7.
        filters: a smallest value needs `Columns.value`.
    """
    if filters.min_value is not None and columns.value is None:
        raise ValueError("min_value needs a column with values")
    entries = Entries(item_ids, columns.timestamp is not None, filters)
    for chunk in read_table_chunks(table, columns, stop):
        entries.add(chunk)
    return entries.reading()


class Entries:
    """The entries read so far, as numbers; see `read_interactions` for the arguments."""

    def __init__(self, item_ids: Sequence[str], timed: bool, filters: Filters) -> None:
        self._rows = {item_id: row for row, item_id in enumerate(item_ids)}
        self._codes: dict[str, int] = {}  # user id -> number
        self._timed = timed
        self._filters = filters
        self._users: list[IntArray] = []
        self._items: list[IntArray] = []
        self._times: list[NDArray[np.int64]] = []
        self._counts: list[NDArray[np.bool_]] = []
        self._n_entries = 0
        self._unknown_id: str | None = None

    def add(self, chunk: Chunk) -> None:
        """Add what was read next."""
        self._n_entries += len(chunk)
        rows = chunk.items.translated(
            self._rows.get(name.strip(), -1) for name in chunk.items.names
        )
        users = chunk.users.translated(
            self._codes.setdefault(name.strip(), len(self._codes)) for name in chunk.users.names
        )
        known = rows >= 0
        if self._unknown_id is None and not known.all():
            self._unknown_id = chunk.items.names[chunk.items.codes[int(np.argmin(known))]].strip()
        self._users.append(users[known])
        self._items.append(rows[known])
        if chunk.timestamps is not None:
            self._times.append(chunk.timestamps[known])
        if self._filters.min_value is not None and chunk.values is not None:
            self._counts.append(chunk.values[known] >= self._filters.min_value)

    def reading(self) -> Reading:
        """Join what was read; afterwards nothing is left here."""
        users = _joined(self._users, np.int32)
        rows = _joined(self._items, np.int32)
        times = _joined(self._times, np.int64) if self._timed else None
        n_items, filters = len(self._rows), self._filters
        n_known, stays = len(rows), latest(users, rows, times, len(self._rows))
        n_latest = int(np.count_nonzero(stays))
        repeated = self._pairs(users, rows, np.flatnonzero(~stays)[:_SHOWN])
        if filters.min_value is not None:
            stays &= _joined(self._counts, np.bool_)
        n_valued = int(np.count_nonzero(stays))
        keep_frequent(stays, users, len(self._codes), filters.min_user_interactions)
        n_active = int(np.count_nonzero(stays))
        keep_frequent(stays, rows, n_items, filters.min_interactions)
        if not stays.all():
            users, rows = users[stays], rows[stays]
            times = None if times is None else times[stays]
        numbers, n_users = in_order_of_appearance(users, len(self._codes))
        codes = np.empty(n_users, np.int32)
        codes[numbers] = users  # number of a user -> the code it had here
        user_ids = list(self._codes)
        return Reading(
            Interactions(numbers, rows, times, n_users, n_items),
            n_entries=self._n_entries,
            n_unknown=self._n_entries - n_known,
            n_repeated=n_known - n_latest,
            n_below=n_latest - n_valued,
            n_of_few_items=n_valued - n_active,
            n_of_few_users=n_active - len(rows),
            unknown_id=self._unknown_id,
            user_ids=tuple(user_ids[code] for code in codes.tolist()),
            repeated=repeated,
        )

    def _pairs(
        self, users: IntArray, rows: IntArray, places: NDArray[np.intp]
    ) -> tuple[tuple[str, str], ...]:
        if not len(places):
            return ()
        user_ids, item_ids = list(self._codes), list(self._rows)
        return tuple((user_ids[users[place]], item_ids[rows[place]]) for place in places)


def keep_frequent(stays: NDArray[np.bool_], codes: IntArray, n_codes: int, least: int) -> None:
    """Clear the marks in *stays* of entries whose code has fewer than *least* marks.

    Args:
        codes: ``(n,)`` of users or rows, each below *n_codes*.
    """
    if least > 1:
        marks = np.bincount(codes[stays], minlength=n_codes)
        stays &= (marks >= least)[codes]


def _joined(parts: list[NDArray[Scalar]], kind: type[Scalar]) -> NDArray[Scalar]:
    """Concatenate and let the parts go."""
    whole = np.concatenate(parts) if parts else np.empty(0, kind)
    parts.clear()
    return whole
