"""Turns cells, as CSV, JSON or Parquet have them, into ids, values and times, entry by entry.

The slower of two ways: it takes everything that files hold and names the line of any fault.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset.faults import Kind

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_LARGEST = 9e18  # fits 64 bits
_BATCH = 50_000  # entries at once


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a file hold what."""

    item: str = "item_id"
    user: str = "user_id"
    value: str | None = None  # None: there is none, or it does not matter
    timestamp: str | None = None  # seconds or dates; fractions are dropped


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """A column of ids as numbers."""

    codes: NDArray[np.integer]  # (n,) positions in the names
    names: Sequence[str]  # as they are written, blanks around them included

    def translated(self, numbers: Iterable[int]) -> NDArray[np.int32]:
        """Replace each code by the number of its name, ``(n,)``."""
        table: NDArray[np.int32] = np.fromiter(numbers, np.int32, len(self.names))
        return table.take(self.codes)


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some entries in the order of the file."""

    items: Ids
    users: Ids
    values: NDArray[np.float64] | None  # (n,)
    timestamps: NDArray[np.int64] | None  # (n,)

    def __len__(self) -> int:
        return len(self.items.codes)


class RawEntry(NamedTuple):
    """The cells of an entry as its file has them; a tuple, since there are millions."""

    line: int
    item: object
    user: object
    value: object
    timestamp: object
    whole: object  # all of it, for messages


_Entry: TypeAlias = tuple[str, str, float, int]


def chunks_of(
    entries: Iterator[RawEntry],
    columns: Columns,
    tell: Callable[[Kind, int, str, object], None],
) -> Iterator[Chunk]:
    """Turn cells into chunks; an entry without ids is left out once its fault is told.

    A value that is no number becomes NaN, a timestamp that does not parse 0.

    Args:
        tell: is told each fault: its kind, line, message, and the whole entry.
    """
    read = _Reader(columns, tell).read
    while batch := list(islice(entries, _BATCH)):
        rows = [entry for raw in batch if (entry := read(raw)) is not None]
        items, users, values, times = zip(*rows, strict=True) if rows else ((), (), (), ())
        yield Chunk(
            numbered(items),
            numbered(users),
            None if columns.value is None else np.array(values, np.float64),
            None if columns.timestamp is None else np.array(times, np.int64),
        )


def id_text(value: object) -> str:
    """Return an id as text, 7 and 7.0 as ``"7"``; ``""`` where there is none.

    What is neither text nor a number is a ``TypeError``.
    """
    if isinstance(value, str):
        return value
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError(f"expected text or a number, got {value!r}")
    return str(int(value)) if value == value // 1 else str(value)


def number(value: object) -> float | None:
    """Return a cell as a number, None where it is not one."""
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return None
    elif isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        found = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return found if math.isfinite(found) else None


def seconds(value: object) -> int | None:
    """Return a cell as whole seconds since 1970, None where it is no time.

    It is a number of seconds or an ISO 8601 date, UTC where it names no zone.
    """
    if isinstance(value, datetime):
        return math.floor((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    if isinstance(value, date):
        return seconds(datetime(value.year, value.month, value.day))
    about = number(value)
    if about is None:
        return _seconds_of_date(value) if isinstance(value, str) else None
    if abs(about) >= _LARGEST:
        return None
    if isinstance(value, int | str):
        with suppress(ValueError):
            return int(value)  # exact, where a float would not be
    return math.floor(about)


def _seconds_of_date(text: str) -> int | None:
    try:
        return seconds(datetime.fromisoformat(text.strip().removesuffix(" UTC")))
    except ValueError:
        return None


class _Reader:
    """Reads the entries of one file."""

    def __init__(self, columns: Columns, tell: Callable[[Kind, int, str, object], None]) -> None:
        self._columns, self._tell = columns, tell

    def read(self, raw: RawEntry) -> _Entry | None:
        item = self._id(raw.item, self._columns.item, raw)
        user = self._id(raw.user, self._columns.user, raw)
        if item is None or user is None:
            return None
        value, time = 0.0, 0
        if self._columns.value is not None:
            value = self._value(raw.value, self._columns.value, raw)
        if self._columns.timestamp is not None:
            time = self._time(raw.timestamp, self._columns.timestamp, raw)
        return item, user, value, time

    def _id(self, cell: object, column: str, raw: RawEntry) -> str | None:
        try:
            text = id_text(cell)
        except TypeError as error:
            self._tell(Kind.BROKEN, raw.line, f"{error} in column {column!r}", raw.whole)
            return None
        if text.strip():
            return text
        self._tell(Kind.EMPTY_ID, raw.line, f"the id in column {column!r} is empty", raw.whole)
        return None

    def _value(self, cell: object, column: str, raw: RawEntry) -> float:
        found = number(cell)
        if found is None:
            message = f"expected a number in column {column!r}, got {cell!r}"
            self._tell(Kind.VALUE, raw.line, message, raw.whole)
        return math.nan if found is None else found

    def _time(self, cell: object, column: str, raw: RawEntry) -> int:
        found = seconds(cell)
        if found is None:
            message = f"expected seconds or an ISO 8601 date in column {column!r}, got {cell!r}"
            self._tell(Kind.TIMESTAMP, raw.line, message, raw.whole)
        return found or 0


def numbered(ids: Iterable[str]) -> Ids:
    """Number ids as they first appear."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(name, len(numbers)) for name in ids]
    return Ids(np.array(codes, np.int32), list(numbers))
