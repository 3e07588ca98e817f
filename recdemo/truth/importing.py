"""Takes truth lists that were computed elsewhere: in a warehouse, say, from more interactions.

A file has a row per pair: an item, a neighbor and their overlap. Its order does not matter: a
list goes by the overlap, ties by the row of the catalog, which only we know. So a list may hold
more than K neighbors, all that tie at the last place, and is cut here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset import Dataset
from recdemo.dataset.entries import Columns, Ids
from recdemo.dataset.faults import Fault, Kind
from recdemo.dataset.interactions import IntArray
from recdemo.dataset.options import DEFAULT_OPTIONS
from recdemo.dataset.records import position
from recdemo.dataset.tables import Table, columns_of, read_table_chunks, table_at
from recdemo.errors import DatasetError
from recdemo.truth import Truth, check_k
from recdemo.truth.files import SHORTEST

NEIGHBOR, OVERLAP = "neighbor_id", "overlap"
_LARGEST = {"jaccard": 1 + 1e-9, "cosine": 1 + 1e-9, "lift": np.inf}  # a root may be rounded up
_ROUNDED = 1e-4  # how far a number of users in common may be from a whole one, of itself


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The rows of a file, by catalog row."""

    items: IntArray  # (n,)
    neighbors: IntArray  # (n,)
    overlaps: NDArray[np.float64]  # (n,)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, eq=False)
class Imported:
    """Truth lists, and what a person should know of them, in sentences."""

    truth: Truth
    notes: tuple[str, ...]


def import_lists(path: Path, dataset: Dataset, overlap: str, k: int | None = None) -> Imported:
    """Read lists of *overlap* for a data set; what is wrong with them is a `DatasetError`.

    Args:
        k: the length of a full list, shorter lists being whole; None: that of the longest
            list, at most `SHORTEST`.
    """
    if not path.is_file():
        raise DatasetError(f"no file {path}; expected a Parquet or CSV file of truth lists")
    table = table_at(path, dataset.options.text_encoding, NEIGHBOR)
    pairs = _read(table, dataset)
    known = dataset.n_interactions > 0
    _check(pairs, dataset, overlap, dataset.rated if known else None, table.label)
    rated = dataset.rated
    if not known:
        rated = np.zeros(len(dataset), np.bool_)
        rated[pairs.items] = rated[pairs.neighbors] = True
    check_k(1 if k is None else k, int(rated.sum()))
    source = f"{path.name}, {datetime.now(UTC):%Y-%m-%d}"
    neighbors, overlaps, notes = _settled(pairs, len(dataset), k, int(rated.sum()))
    truth = Truth(overlap, neighbors, overlaps, rated, dataset.n_users, source)
    return Imported(truth, (*notes, *_implausible(pairs, dataset, overlap)))


def _read(table: Table, dataset: Dataset) -> Pairs:
    item_ids = dataset.catalog.item_ids
    rows = {item_id: row for row, item_id in enumerate(item_ids)}
    header, faults, unknown = columns_of(table), list[Fault](), dict[str, int]()
    named = dataset.options.item_id
    item = named if named in header else DEFAULT_OPTIONS.item_id
    for column in (item, NEIGHBOR, OVERLAP):
        position(column, header, table.label, f"expected {item}, {NEIGHBOR} and {OVERLAP}")

    def row_of(ids: Ids) -> IntArray:
        found = ids.translated(rows.get(name.strip(), -1) for name in ids.names)
        for code in ids.codes[found < 0].tolist():
            name = ids.names[code].strip()
            unknown[name] = unknown.get(name, 0) + 1
        return found

    parts, n = [], 0
    for chunk in read_table_chunks(table, Columns(item, NEIGHBOR, OVERLAP), faults.append):
        assert chunk.values is not None
        parts.append(Pairs(row_of(chunk.items), row_of(chunk.users), chunk.values))
        n += len(chunk)
    _refuse_faults([fault for fault in faults if fault.kind is not Kind.BLANKS])
    if not n:
        raise DatasetError(f"{table.label} holds no lists: it has no row")
    if unknown:
        raise DatasetError(
            f"{table.label} names {len(unknown):,} items that the catalog does not have, in "
            f"{sum(unknown.values()):,} places ({next(iter(unknown))!r} for one); ids are text, so "
            "007 is not 7; leave out items that are not in the catalog where lists are computed"
        )
    joined = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("items", "neighbors", "overlaps")
    )
    return Pairs(*joined)


def _refuse_faults(faults: list[Fault]) -> None:
    if faults:
        more = f" (and {len(faults) - 1:,} more such rows)" if len(faults) > 1 else ""
        raise DatasetError(f"{faults[0]}{more}")


def _check(
    pairs: Pairs, dataset: Dataset, overlap: str, rated: NDArray[np.bool_] | None, label: str
) -> None:
    """Refuse pairs that no truth list can have."""
    ids, found = dataset.catalog.item_ids, []
    for wrong, what in _faulty(pairs, overlap, rated):
        at = np.flatnonzero(wrong)
        if len(at):
            one, other = ids[pairs.items[at[0]]], ids[pairs.neighbors[at[0]]]
            found.append(
                f"{len(at):,} of {len(pairs):,} rows {what}, as {one!r} with {other!r} and "
                f"{pairs.overlaps[at[0]]:.6g}"
            )
    if found:
        raise DatasetError(f"{label}: {'; '.join(found)}")


def _faulty(
    pairs: Pairs, overlap: str, rated: NDArray[np.bool_] | None
) -> Iterator[tuple[NDArray[np.bool_], str]]:
    yield pairs.items == pairs.neighbors, "pair an item with itself"
    keys = pairs.items.astype(np.int64) << 32 | pairs.neighbors
    order = np.argsort(keys, kind="stable")
    repeated = np.zeros(len(pairs), np.bool_)
    repeated[order[1:]] = keys[order[1:]] == keys[order[:-1]]
    yield repeated, "repeat a pair"
    yield pairs.overlaps <= 0, "have no overlap above 0"
    yield pairs.overlaps > _LARGEST[overlap], f"have a {overlap} overlap above 1"
    if rated is not None:
        touched = rated[pairs.items] & rated[pairs.neighbors]
        yield ~touched, "name an item that has no interaction here"


def _settled(
    pairs: Pairs, n_items: int, k: int | None, n_rated: int
) -> tuple[IntArray, NDArray[np.float32], list[str]]:
    """Order and cut the lists: neighbors and overlaps, ``(n_items, k)``, and notes."""
    order = np.lexsort((pairs.neighbors, -pairs.overlaps, pairs.items))
    items = pairs.items[order]
    place = np.arange(len(order)) - np.searchsorted(items, items)
    lengths = np.bincount(items, minlength=n_items)
    longest = int(lengths.max())
    length = min(SHORTEST, longest) if k is None else k
    kept = place < length
    items, place, order = items[kept], place[kept], order[kept]
    neighbors = np.full((n_items, length), -1, np.int32)
    overlaps = np.zeros((n_items, length), np.float32)
    neighbors[items, place] = pairs.neighbors[order]
    overlaps[items, place] = pairs.overlaps[order]
    notes = []
    if len(order) < len(pairs):
        notes.append(f"{len(pairs) - len(order):,} rows beyond place {length:,} are left out")
    full = min(SHORTEST, n_rated - 1)
    if k is None and longest < full:
        notes.append(
            f"no list is longer than {longest:,}, so they serve K up to that; if no item "
            f"overlaps with more, say so with --k {full}"
        )
    cut = int((lengths == longest).sum())
    if k is not None and longest < k and cut > 1:
        notes.append(
            f"no list is longer than {longest:,} and {cut:,} have just that length; if they "
            f"were cut there, import them with --k {longest}"
        )
    return neighbors, overlaps, notes


def _implausible(pairs: Pairs, dataset: Dataset, overlap: str) -> Iterator[str]:
    """Say how many overlaps are none that the users of the two items can give."""
    if not dataset.n_interactions:
        return
    counts, value = dataset.counts.astype(np.float64), pairs.overlaps
    own, other = counts[pairs.items], counts[pairs.neighbors]
    if overlap == "jaccard":
        shared = value * (own + other) / (1 + value)
    elif overlap == "cosine":
        shared = value * np.sqrt(own * other)
    else:
        shared = value * own * other / dataset.n_users
    whole = np.rint(shared)
    wrong = (np.abs(shared - whole) > _ROUNDED * whole) | (whole > np.minimum(own, other))
    at = np.flatnonzero(wrong)
    if len(at):
        ids = dataset.catalog.item_ids
        one, two = ids[pairs.items[at[0]]], ids[pairs.neighbors[at[0]]]
        yield (
            f"{len(at):,} of {len(pairs):,} overlaps are no {overlap} of users who touched both "
            f"items here, as {value[at[0]]:.6g} of {one!r} with {two!r}; were they rounded, of "
            "another kind, or of other interactions?"
        )
