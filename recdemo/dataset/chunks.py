"""Turns blocks of a text file into chunks of entries: ids as numbers, values, timestamps.

Blocks go through pandas' C parser, which is fast but fills up short lines without a word and
names no line. So it only gets blocks in which every line was seen to have the right number of
fields and no quote is needed. All other blocks, the faulty ones included, go record by record
through the CSV module, which is slower and knows the line.
"""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, islice

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from recdemo.dataset.records import (
    Block,
    Record,
    TextForm,
    decode,
    fault,
    field_count_fault,
    read_records,
    shown,
)
from recdemo.errors import DatasetError

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_STAND_IN = b"\x1f"  # for a separator of several characters: pandas' C parser takes one byte
_EXACT = 2.0**53  # whole numbers up to it are exact as float64
_LARGEST = 9e18  # fits 64 bits
_BATCH = 50_000  # records at once where pandas does not read


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a file hold what."""

    item: str = "item_id"
    user: str = "user_id"
    value: str | None = None  # None: there is none, or it does not matter
    timestamp: str | None = None  # seconds; fractions are dropped
    header: tuple[str, ...] | None = None  # None: the first line names the columns


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """A column of ids as numbers."""

    codes: NDArray[np.integer]  # (n,) positions in the names
    names: Sequence[str]

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


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where the columns stand in a record, and how messages name the file."""

    name: str
    form: TextForm
    header: Sequence[str]
    item: int
    user: int
    value: int | None
    timestamp: int | None


def read_chunks(
    blocks: Iterator[Block], name: str, columns: Columns, form: TextForm
) -> Iterator[Chunk]:
    """Parse blocks; a broken line is a `DatasetError` with its number.

    Args:
        name: what messages call the file.
    """
    header, blocks = _header(blocks, name, columns, form)
    plan = _plan(header, name, columns, form)
    for block in blocks:
        chunk = _parse_block(block, plan)
        if chunk is not None:
            yield chunk
        elif form.quotes and b'"' in block.data:  # a quoted field may go on in the next block
            yield from _parse_records(chain([block], blocks), plan)
            return
        else:
            yield from _parse_records([block], plan)


def _header(
    blocks: Iterator[Block], name: str, columns: Columns, form: TextForm
) -> tuple[Sequence[str], Iterator[Block]]:
    if columns.header is not None:
        return columns.header, blocks
    first = next(blocks, None)
    if first is None:
        raise DatasetError(f"{name} is empty; expected a line that names the columns")
    line, _, rest = first.data.partition(b"\n")
    names = next(read_records([Block(first.line, line + b"\n")], name, form), Record(1, []))
    after = [Block(first.line + 1, rest)] if rest else []
    return [column.strip() for column in names.fields], chain(after, blocks)


def _plan(header: Sequence[str], name: str, columns: Columns, form: TextForm) -> _Plan:
    def position(column: str) -> int:
        if header.count(column) == 1:
            return header.index(column)
        how = "more than one" if column in header else "no"
        known = shown(Record(1, list(header)), form)
        raise DatasetError(f"{name} has {how} column {column!r}; its columns are {known}")

    return _Plan(
        name,
        form,
        header,
        position(columns.item),
        position(columns.user),
        None if columns.value is None else position(columns.value),
        None if columns.timestamp is None else position(columns.timestamp),
    )


def _parse_block(block: Block, plan: _Plan) -> Chunk | None:
    """Parse a block in C; None where that might go wrong."""
    separated = _separated_by_a_byte(block, plan)
    if separated is None or not _is_regular(*separated, len(plan.header)):
        return None
    data, separator = separated
    numbers = [column for column in (plan.value, plan.timestamp) if column is not None]
    try:
        table = pd.read_csv(
            BytesIO(data),
            sep=separator.decode(),
            header=None,
            names=list(range(len(plan.header))),
            usecols=[plan.item, plan.user, *numbers],
            # Not "category": it may take ids for numbers, and then 007 and 7 for one item.
            dtype={plan.item: "object", plan.user: "object"} | dict.fromkeys(numbers, "float64"),
            engine="c",
            quoting=csv.QUOTE_NONE,
            na_filter=False,  # an item may be called NA
            low_memory=False,
        )
    except (ValueError, OverflowError):  # not a number: the slower way will say where
        return None
    return _chunk_of(table, plan)


def _separated_by_a_byte(block: Block, plan: _Plan) -> tuple[bytes, bytes] | None:
    """Return a block as UTF-8 whose separator is one byte, and that byte."""
    data, separator = block.data, plan.form.separator.encode()
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if not data.isascii():
        data = decode(Block(block.line, data), plan.name, plan.form).encode()
    if len(separator) > 1:
        if _STAND_IN in data:
            return None
        data, separator = data.replace(separator, _STAND_IN), _STAND_IN
    elif b'"' in data:
        if not _is_plainly_quoted(data, separator):
            return None
        data = data.replace(b'"', b"")
    return None if b"\r" in data or b"\0" in data else (data, separator)


def _is_plainly_quoted(data: bytes, separator: bytes) -> bool:
    """Tell whether all quotes enclose whole fields without any need for them."""
    letters = np.frombuffer(data, np.uint8)
    is_border = (letters == ord("\n")) | (letters == ord(separator))
    quotes = np.flatnonzero(letters == ord('"'))
    first, last = quotes[0::2], quotes[1::2]
    if len(first) != len(last) or not is_border[last + 1].all():
        return False
    if not is_border[first[first > 0] - 1].all():
        return False
    borders = np.flatnonzero(is_border)
    return bool((np.searchsorted(borders, first) == np.searchsorted(borders, last)).all())


def _is_regular(data: bytes, separator: bytes, n_fields: int) -> bool:
    """Tell whether each line that is not empty has *n_fields* fields."""
    letters = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    starts = np.concatenate(([0], ends[:-1] + 1))
    filled = starts < ends
    starts, ends = starts[filled], ends[filled]
    separators = np.flatnonzero(letters == ord(separator))
    if len(separators) != len(ends) * (n_fields - 1) or not len(separators):
        return False
    of_line = separators.reshape(len(ends), n_fields - 1)
    return bool((of_line[:, 0] >= starts).all() and (of_line[:, -1] < ends).all())


def _chunk_of(table: pd.DataFrame, plan: _Plan) -> Chunk | None:
    items, users = (_factorized(table[column].to_numpy()) for column in (plan.item, plan.user))
    values = None if plan.value is None else table[plan.value].to_numpy()
    times = None if plan.timestamp is None else table[plan.timestamp].to_numpy()
    if "" in items.names or "" in users.names:
        return None
    if values is not None and not np.isfinite(values).all():
        return None
    if times is not None and not (np.abs(times) < _EXACT).all():
        return None
    seconds = None if times is None else np.floor(times).astype(np.int64)
    return Chunk(items, users, values, seconds)


def _factorized(ids: NDArray[np.object_]) -> Ids:
    codes, names = pd.factorize(ids)
    return Ids(codes, [name.strip() for name in names])


def _parse_records(blocks: Iterable[Block], plan: _Plan) -> Iterator[Chunk]:
    """Parse blocks record by record."""
    records = read_records(blocks, plan.name, plan.form)
    while batch := list(islice(records, _BATCH)):
        entries = [_entry(record, plan) for record in batch]
        items, users, values, times = zip(*entries, strict=True)
        yield Chunk(
            _numbered(items),
            _numbered(users),
            None if plan.value is None else np.array(values, np.float64),
            None if plan.timestamp is None else np.array(times, np.int64),
        )


def _entry(record: Record, plan: _Plan) -> tuple[str, str, float, int]:
    if len(record.fields) != len(plan.header):
        raise field_count_fault(record, len(plan.header), plan.name, plan.form)
    return (
        _id(record, plan.item, plan),
        _id(record, plan.user, plan),
        0.0 if plan.value is None else float(_number(record, plan.value, plan)),
        0 if plan.timestamp is None else _seconds(_number(record, plan.timestamp, plan)),
    )


def _id(record: Record, column: int, plan: _Plan) -> str:
    text = record.fields[column].strip()
    if not text:
        what = f"the id in column {plan.header[column]!r} is empty: {shown(record, plan.form)}"
        raise fault(plan.name, record.line, what)
    return text


def _number(record: Record, column: int, plan: _Plan) -> str:
    text = record.fields[column]
    limit = _LARGEST if column == plan.timestamp else math.inf
    if _NUMBER.fullmatch(text) and abs(float(text)) < limit:
        return text
    what = f"expected a number in column {plan.header[column]!r}, got {text!r}"
    raise fault(plan.name, record.line, f"{what}: {shown(record, plan.form)}")


def _seconds(number: str) -> int:
    try:
        return int(number)
    except ValueError:
        return math.floor(float(number))


def _numbered(ids: Iterable[str]) -> Ids:
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(name, len(numbers)) for name in ids]
    return Ids(np.array(codes, np.int32), list(numbers))
