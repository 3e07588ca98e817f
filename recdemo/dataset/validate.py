"""Goes through all of a data set and says what is wrong with it, and what becomes of that.

It reads by the same readers as an evaluation, so it finds what those refuse; but where they
stop at the first fault, it counts and goes on.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np

from recdemo.dataset.archive import faults_of, open_archive
from recdemo.dataset.catalog import Catalog
from recdemo.dataset.decoding import UTF_8
from recdemo.dataset.entries import Chunk, Columns, Ids
from recdemo.dataset.faults import Kind
from recdemo.dataset.findings import SHOWN, Finding, Findings, Severity
from recdemo.dataset.folder import find_source
from recdemo.dataset.interactions import Interactions
from recdemo.dataset.options import DEFAULT_OPTIONS, ReadOptions
from recdemo.dataset.reading import ALL, Entries, Reading
from recdemo.dataset.sources import Source, dropped
from recdemo.dataset.tables import ParquetForm, Table, columns_of, read_table_chunks
from recdemo.errors import DatasetError

_BOM = b"\xef\xbb\xbf"
_NUMBER = re.compile(r"([+-]?)0*(\d+)(\.0*)?", re.ASCII)
_SMALLEST_K = 10  # of those an evaluation scores at by default


class Draft(Protocol):
    """What would be embedded; ``""`` where nothing is left for an item."""

    @property
    def name(self) -> str:
        """What the text is called."""
        ...

    @property
    def values(self) -> Sequence[str]:
        """One per row."""
        ...

    @property
    def unknown(self) -> Sequence[str]:
        """Ids of items that the catalog does not have."""
        ...


@dataclass(frozen=True, slots=True)
class Report:
    """What a data set holds and what was found in it; broken rows count as nothing."""

    name: str
    n_items: int
    n_users: int
    n_interactions: int  # pairs of a user and an item of the catalog
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether an evaluation can run."""
        return all(finding.severity is not Severity.ERROR for finding in self.findings)


def validate(
    path: Path,
    options: ReadOptions = DEFAULT_OPTIONS,
    drafts: Callable[[Catalog], Iterable[Draft]] = lambda catalog: (),
) -> Report:
    """Check all of a folder or zip; what holds no data set at all is a `DatasetError`.

    Args:
        drafts: returns the texts that would be embedded; a `DatasetError` becomes a finding.
    """
    with open_archive(path) as archive:
        source = find_source(archive, options)
        found = Findings(source.place, _overrides(source, options))
        catalog = _check_items(source, found)
        if catalog is not None:
            _check_texts(catalog, drafts, found)
        reading = _check_interactions(source, catalog, options, found)
    return Report(
        source.name,
        0 if catalog is None else len(catalog),
        0 if reading is None else reading.interactions.n_users,
        0 if reading is None else len(reading.interactions),
        found.sorted(),
    )


def _overrides(source: Source, options: ReadOptions) -> dict[str, tuple[Severity, str]]:
    """Return how bad values are that are no numbers, where an evaluation reads them."""
    if options.min_value is None and not source.terms:
        return {}
    return {Kind.VALUE: (Severity.ERROR, "stops at the first such row")}


def _check_items(source: Source, found: Findings) -> Catalog | None:
    try:
        _check_mark(source.find_items(), found)
        return source.read_catalog(found.on_fault)
    except DatasetError as error:
        found.add("unreadable", source.place, 1, [str(error)])
        return None


def _check_mark(table: Table, found: Findings) -> None:
    if isinstance(table.form, ParquetForm) or table.form.encoding != UTF_8:
        return
    with table.open() as stream, faults_of(table.label):
        start = stream.read(len(_BOM))
    found.add("byte-order-mark", table.label, int(start == _BOM), ["line 1"])


def _check_texts(
    catalog: Catalog, drafts: Callable[[Catalog], Iterable[Draft]], found: Findings
) -> None:
    try:
        texts = list(drafts(catalog))
    except DatasetError as error:
        found.add("no-text", catalog.name, 1, [str(error)])
        return
    for text in texts:
        file = f"text {text.name!r}"
        empty = [catalog.item_ids[row] for row, value in enumerate(text.values) if not value]
        found.add("empty-text", file, len(empty), empty)
        found.add("text-of-unknown-item", file, len(text.unknown), text.unknown)
        first: dict[str, str] = {}  # text -> the first item that has it
        repeats = [
            f"{item_id}, as {known}"
            for item_id, value in zip(catalog.item_ids, text.values, strict=True)
            if value and (known := first.setdefault(value, item_id)) != item_id
        ]
        found.add("repeated-text", file, len(repeats), repeats)


def _check_interactions(
    source: Source, catalog: Catalog | None, options: ReadOptions, found: Findings
) -> Reading | None:
    try:
        where = source.find_interactions()
        if where is None:
            found.add("no-interactions", source.place, 1, [])
            return None
        table, columns = where
        _check_mark(table, found)
        tally = _Tally(catalog, options, columns)
        for chunk in read_table_chunks(
            table, _with_values(table, columns, options), found.on_fault
        ):
            tally.add(chunk)
    except DatasetError as error:
        found.add("unreadable", source.place, 1, [str(error)])
        return None
    return None if catalog is None else tally.report(catalog, table.label, found)


def _with_values(table: Table, columns: Columns, options: ReadOptions) -> Columns:
    """Have values read, and so checked, even where an evaluation would not look at them."""
    if columns.value is None and options.value in columns_of(table):
        return replace(columns, value=options.value)
    return columns


class _Tally:
    """Counts over all interactions, those of unknown items too."""

    def __init__(self, catalog: Catalog | None, options: ReadOptions, columns: Columns) -> None:
        self._known = frozenset(() if catalog is None else catalog.item_ids)
        self._options = options
        item_ids = () if catalog is None else catalog.item_ids
        timed = columns.timestamp is not None
        self._all = Entries(item_ids, timed, ALL)
        self._filtered = None
        if options.filters != ALL:
            self._filtered = Entries(item_ids, timed, options.filters)
        self._unknown: dict[str, int] = {}  # item id -> interactions
        self._users: dict[str, None] = {}
        self._blanks: dict[str, int] = {}  # id as written -> how often

    def add(self, chunk: Chunk) -> None:
        self._all.add(chunk)
        if self._filtered is not None:
            self._filtered.add(chunk)
        for item_id, count in _counted(chunk.items):
            if item_id.strip() not in self._known:
                self._unknown[item_id.strip()] = self._unknown.get(item_id.strip(), 0) + count
        self._users.update(dict.fromkeys(name.strip() for name in chunk.users.names))
        for ids in (chunk.items, chunk.users):
            if any(name != name.strip() for name in ids.names):
                for name, count in _counted(ids):
                    if name != name.strip():
                        self._blanks[name] = self._blanks.get(name, 0) + count

    def report(self, catalog: Catalog, file: str, found: Findings) -> Reading:
        """Add the findings, and return the interactions without any filter."""
        reading = self._all.reading()
        found.add(Kind.BLANKS, file, sum(self._blanks.values()), map(repr, self._blanks))
        found.add("unknown-item", file, len(self._unknown), self._unknown)
        found.add(
            "interaction-of-unknown-item",
            file,
            reading.n_unknown,
            (f"{item_id}: {count:,}" for item_id, count in self._unknown.items()),
        )
        pairs = (f"user {user}, item {item}" for user, item in reading.repeated)
        found.add("repeated-pair", file, reading.n_repeated, pairs)
        counts = reading.interactions.counts()
        for kind, wanted in (("item-without-interactions", 0), ("item-with-one-user", 1)):
            rows = np.flatnonzero(counts == wanted)
            found.add(kind, file, len(rows), (catalog.item_ids[row] for row in rows))
        per_user = np.bincount(reading.interactions.users, minlength=len(reading.user_ids))
        single = np.flatnonzero(per_user == 1)
        found.add("user-with-one-item", file, len(single), (reading.user_ids[u] for u in single))
        _check_alike(found, "users-alike", {file: self._users})
        sides = {"items": catalog.item_ids, "interactions": self._unknown}
        _check_alike(found, "ids-alike", sides, file)
        self._check_what_is_left(reading.interactions, file, found)
        return reading

    def _check_what_is_left(self, interactions: Interactions, file: str, found: Findings) -> None:
        """See whether enough is left to evaluate, once the filters are applied."""
        if self._filtered is not None:
            reading, filters = self._filtered.reading(), self._options.filters
            lost = reading.n_below + reading.n_of_few_items + reading.n_of_few_users
            found.add("left-out-by-filters", file, lost, dropped(reading, filters))
            interactions = reading.interactions
        n_rated = int(np.count_nonzero(interactions.counts()))
        example = [f"{n_rated} items have interactions"]
        if n_rated < 2:
            found.add("too-few-rated-items", file, 1, example)
            return
        if np.bincount(interactions.users).max() < 2:
            found.add("no-shared-users", file, 1, [])
        if n_rated <= _SMALLEST_K:
            found.add("few-rated-items", file, 1, example)


def _counted(ids: Ids) -> Iterator[tuple[str, int]]:
    counts = np.bincount(ids.codes, minlength=len(ids.names))
    return zip(ids.names, counts.tolist(), strict=True)


def _check_alike(
    found: Findings, kind: str, sides: Mapping[str, Iterable[str]], file: str | None = None
) -> None:
    """Find ids that are different texts but may well mean the same: 007, 7 and 7.0; a1 and A1."""
    groups: dict[str, list[str]] = {}
    for side, ids in sides.items():
        where = f" in {side}" if len(sides) > 1 else ""
        for item_id in ids:
            groups.setdefault(_plain(item_id), []).append(f"{item_id!r}{where}")
    alike = [", ".join(islice(group, SHOWN)) for group in groups.values() if len(group) > 1]
    found.add(kind, file or next(iter(sides)), len(alike), alike)


def _plain(item_id: str) -> str:
    number = _NUMBER.fullmatch(item_id)
    return f"{number[1]}{number[2]}" if number else item_id.casefold()
