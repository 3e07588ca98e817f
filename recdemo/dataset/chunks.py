"""Turns blocks of a text file into chunks of entries: ids as numbers, values, timestamps.

Blocks go through pandas' C parser, which is fast but fills up short lines without a word and
names no line. So it only gets blocks in which every line was seen to have the right number of
fields and no quote is needed. All other blocks, the faulty ones included, go record by record
through the CSV module, which is slower and knows the line.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from recdemo.dataset.entries import Chunk, Columns, Ids, RawEntry, chunks_of
from recdemo.dataset.faults import Fault, Kind, OnFault, shortened, stop
from recdemo.dataset.records import (
    Block,
    Record,
    TextForm,
    field_count_fault,
    position,
    read_records,
)
from recdemo.errors import DatasetError

_STAND_IN = b"\x1f"  # for a separator of several characters: pandas' C parser takes one byte
_EXACT = 2.0**53  # whole numbers up to it are exact as float64


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where the columns stand in a record, and how messages name the file."""

    name: str
    form: TextForm
    columns: Columns
    n_fields: int
    item: int
    user: int
    value: int | None
    timestamp: int | None
    on_fault: OnFault

    def tell(self, kind: Kind, line: int, message: str, fields: object) -> None:
        """Report a fault of a record."""
        assert isinstance(fields, list)
        whole = shortened(self.form.separator.join(fields))
        self.on_fault(Fault(kind, self.name, line, f"{message}: {whole}"))


def read_chunks(
    blocks: Iterator[Block],
    name: str,
    columns: Columns,
    form: TextForm,
    header: Sequence[str] | None,
    on_fault: OnFault,
) -> Iterator[Chunk]:
    """Parse blocks of CSV or of lines with a separator of several characters.

    Args:
        name: what messages call the file.
        header: the names of the columns; None: the first line has them.
    """
    header, blocks = (header, blocks) if header is not None else _header(blocks, name, form)
    plan = _plan(header, name, columns, form, on_fault)
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
    blocks: Iterator[Block], name: str, form: TextForm
) -> tuple[Sequence[str], Iterator[Block]]:
    first = next(blocks, None)
    if first is None:
        raise DatasetError(f"{name} is empty; expected a line that names the columns")
    line, _, rest = first.data.partition(b"\n")
    names = next(read_records([Block(first.line, line + b"\n")], name, form, stop), Record(1, []))
    after = [Block(first.line + 1, rest)] if rest else []
    return [column.strip() for column in names.fields], chain(after, blocks)


def _plan(
    header: Sequence[str], name: str, columns: Columns, form: TextForm, on_fault: OnFault
) -> _Plan:
    item, user = (position(column, header, name) for column in (columns.item, columns.user))
    value, timestamp = (
        None if column is None else position(column, header, name)
        for column in (columns.value, columns.timestamp)
    )
    return _Plan(name, form, columns, len(header), item, user, value, timestamp, on_fault)


def _parse_block(block: Block, plan: _Plan) -> Chunk | None:
    """Parse a block in C; None where that might go wrong."""
    separated = _separated_by_a_byte(block.data, plan.form.separator.encode())
    if separated is None or not _is_regular(*separated, plan.n_fields):
        return None
    for times in ("float64", "object"):  # numbers of seconds, or dates
        table = _parsed(*separated, plan, times)
        if table is not None:
            return _chunk_of(table, plan)
        if plan.timestamp in (None, plan.value):
            break
    return None


def _parsed(data: bytes, separator: bytes, plan: _Plan, times: str) -> pd.DataFrame | None:
    # Not "category" for ids: it may take them for numbers, and then 007 and 7 for one item.
    kinds = {plan.item: "object", plan.user: "object", plan.value: "float64", plan.timestamp: times}
    columns = {column: kind for column, kind in kinds.items() if column is not None}
    try:
        return pd.read_csv(
            BytesIO(data),
            sep=separator.decode(),
            header=None,
            names=list(range(plan.n_fields)),
            usecols=list(columns),
            dtype=columns,
            engine="c",
            quoting=csv.QUOTE_NONE,
            na_filter=False,  # an item may be called NA
            low_memory=False,
        )
    except (ValueError, OverflowError):  # not a number: the slower way will say where
        return None


def _separated_by_a_byte(data: bytes, separator: bytes) -> tuple[bytes, bytes] | None:
    """Return a block whose separator is one byte, and that byte."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
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
    seconds = None if plan.timestamp is None else _seconds(table[plan.timestamp])
    if not all(map(str.strip, chain(items.names, users.names))):  # an empty id
        return None
    if values is not None and not np.isfinite(values).all():
        return None
    if seconds is None and plan.timestamp is not None:
        return None
    return Chunk(items, users, values, seconds)


def _seconds(times: "pd.Series[Any]") -> NDArray[np.int64] | None:
    """Return numbers or dates as whole seconds, None where they need more care."""
    cells = times.to_numpy()
    if cells.dtype == np.float64:
        return np.floor(cells).astype(np.int64) if (np.abs(cells) < _EXACT).all() else None
    if not all(cell[4:5] == cell[7:8] == "-" for cell in cells):  # 20200102 is a number
        return None
    try:
        dates = pd.DatetimeIndex(pd.to_datetime(cells, format="ISO8601", utc=True))
    except ValueError:
        return None
    return dates.floor("s").as_unit("s").asi8


def _factorized(ids: NDArray[np.object_]) -> Ids:
    codes, names = pd.factorize(ids)
    return Ids(codes, list(names))


def _parse_records(blocks: Iterable[Block], plan: _Plan) -> Iterator[Chunk]:
    """Parse blocks record by record."""
    records = read_records(blocks, plan.name, plan.form, plan.on_fault)
    return chunks_of(_entries(records, plan), plan.columns, plan.tell)


def _entries(records: Iterable[Record], plan: _Plan) -> Iterator[RawEntry]:
    for record in records:
        fields = record.fields
        if len(fields) != plan.n_fields:
            plan.on_fault(field_count_fault(record, plan.n_fields, plan.name, plan.form))
            continue
        yield RawEntry(
            record.line,
            fields[plan.item],
            fields[plan.user],
            None if plan.value is None else fields[plan.value],
            None if plan.timestamp is None else fields[plan.timestamp],
            fields,
        )
