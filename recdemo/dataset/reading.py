"""Reads interactions of any size; the one reader behind every kind of data set.

Ids become numbers chunk by chunk, so 32 million lines take 16 bytes each, and there are never
more objects than users, items and the lines of one block.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset.archive import faults_of
from recdemo.dataset.chunks import Chunk, Columns, read_chunks
from recdemo.dataset.interactions import (
    IntArray,
    Interactions,
    in_order_of_appearance,
    latest,
)
from recdemo.dataset.records import Stream, TextForm, read_blocks

Scalar = TypeVar("Scalar", bound=np.generic)
_CSV = TextForm()


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Interactions, and what was left out of them."""

    interactions: Interactions
    n_entries: int  # in the file
    n_unknown: int  # of them of an item that the catalog does not have
    n_repeated: int  # of them of a pair that has a later entry
    n_below: int  # of them below the smallest value that counts
    unknown_id: str | None  # the first item that the catalog does not have


def read_interactions(
    source: Path | Stream,
    item_ids: Sequence[str],
    columns: Columns,
    *,
    form: TextForm = _CSV,
    min_value: float | None = None,
    name: str | None = None,
) -> Reading:
    """Read who touched what; a broken line is a `DatasetError` with its number.

    A pair of a user and an item counts once: its entry with the latest timestamp stays, the
    later line where they are equal. Then pairs below *min_value* are left out. Users are
    numbered as they first appear.

    Args:
        source: a file, gzipped where its name ends in ``.gz``, or an open binary stream.
        item_ids: those of the catalog in row order; ids are text, so 007 is not 7.
        min_value: the smallest value that counts; needs `Columns.value`.
        name: what messages call the source; its path by default.
    """
    if min_value is not None and columns.value is None:
        raise ValueError("min_value needs a column with values")
    name = name or str(source)
    entries = _Entries(item_ids, columns.timestamp is not None, min_value)
    with _opened(source, name) as stream:
        for chunk in read_chunks(read_blocks(stream, name), name, columns, form):
            entries.add(chunk)
    return entries.reading()


@contextmanager
def _opened(source: Path | Stream, name: str) -> Iterator[Stream]:
    if not isinstance(source, Path):
        yield source
        return
    with faults_of(name):
        file = source.open("rb")
    with file:
        if source.suffix != ".gz":
            yield file
            return
        import gzip

        with gzip.open(file) as unzipped:
            yield unzipped


class _Entries:
    """The entries read so far, as numbers."""

    def __init__(self, item_ids: Sequence[str], timed: bool, min_value: float | None) -> None:
        self._rows = {item_id: row for row, item_id in enumerate(item_ids)}
        self._codes: dict[str, int] = {}  # user id -> number
        self._timed = timed
        self._min_value = min_value
        self._users: list[IntArray] = []
        self._items: list[IntArray] = []
        self._times: list[NDArray[np.int64]] = []
        self._counts: list[NDArray[np.bool_]] = []
        self._n_entries = 0
        self._unknown_id: str | None = None

    def add(self, chunk: Chunk) -> None:
        self._n_entries += len(chunk)
        rows = chunk.items.translated(self._rows.get(name, -1) for name in chunk.items.names)
        users = chunk.users.translated(
            self._codes.setdefault(name, len(self._codes)) for name in chunk.users.names
        )
        known = rows >= 0
        if self._unknown_id is None and not known.all():
            self._unknown_id = chunk.items.names[chunk.items.codes[int(np.argmin(known))]]
        self._users.append(users[known])
        self._items.append(rows[known])
        if chunk.timestamps is not None:
            self._times.append(chunk.timestamps[known])
        if self._min_value is not None and chunk.values is not None:
            self._counts.append(chunk.values[known] >= self._min_value)

    def reading(self) -> Reading:
        """Join what was read; afterwards nothing is left here."""
        users = _joined(self._users, np.int32)
        rows = _joined(self._items, np.int32)
        times = _joined(self._times, np.int64) if self._timed else None
        n_known, n_items = len(rows), len(self._rows)
        stays = latest(users, rows, times, n_items)
        n_repeated = n_known - int(np.count_nonzero(stays))
        if self._min_value is not None:
            stays &= _joined(self._counts, np.bool_)
        if not stays.all():
            users, rows = users[stays], rows[stays]
            times = None if times is None else times[stays]
        users, n_users = in_order_of_appearance(users, len(self._codes))
        return Reading(
            Interactions(users, rows, times, n_users, n_items),
            n_entries=self._n_entries,
            n_unknown=self._n_entries - n_known,
            n_repeated=n_repeated,
            n_below=n_known - n_repeated - len(rows),
            unknown_id=self._unknown_id,
        )


def _joined(parts: list[NDArray[Scalar]], kind: type[Scalar]) -> NDArray[Scalar]:
    """Concatenate and let the parts go."""
    whole = np.concatenate(parts) if parts else np.empty(0, kind)
    parts.clear()
    return whole
