"""Parquet, read in batches; the only module that knows pyarrow.

Columns of numbers and texts become chunks within Arrow. Batches in which a cell is missing or
of another kind go entry by entry, which names the row of any fault.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recdemo.dataset.entries import Chunk, Columns, Ids, RawEntry, chunks_of, id_text
from recdemo.dataset.faults import Fault, Kind, OnFault, shortened
from recdemo.dataset.records import position
from recdemo.errors import DatasetError

_BATCH = 100_000  # rows at once


def column_names(file: IO[bytes], name: str) -> list[str]:
    """Return the columns of a Parquet file."""
    with _faults_of(name):
        return list(pq.ParquetFile(file).schema_arrow.names)


def read_parquet_rows(file: IO[bytes], name: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield the cells of each row by column, with the number of the row from 1."""
    row = 1
    for batch in _batches(file, name, None):
        with _faults_of(name):
            cells = batch.to_pylist()
        yield from enumerate(cells, row)
        row += len(cells)


def read_parquet_chunks(
    file: IO[bytes], name: str, columns: Columns, on_fault: OnFault
) -> Iterator[Chunk]:
    """Parse a Parquet file into chunks."""

    def tell(kind: Kind, row: int, message: str, whole: object) -> None:
        on_fault(Fault(kind, name, row, f"{message}: {shortened(str(whole))}", "row"))

    wanted = [columns.item, columns.user, columns.value, columns.timestamp]
    header = column_names(file, name)
    for column in wanted:
        if column is not None:
            position(column, header, name)
    row = 1
    for batch in _batches(file, name, [column for column in wanted if column is not None]):
        chunk = _chunk_of(batch, columns)
        if chunk is not None:
            yield chunk
        else:
            yield from chunks_of(_entries(batch, row, columns, name), columns, tell)
        row += batch.num_rows


def _batches(file: IO[bytes], name: str, columns: list[str] | None) -> Iterator[Any]:
    with _faults_of(name):
        batches = pq.ParquetFile(file).iter_batches(_BATCH, columns=columns)
    while True:
        with _faults_of(name):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


@contextmanager
def _faults_of(name: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DatasetError(
            f"cannot read {name} as Parquet: {reason.rstrip('.')}; it may be truncated or damaged"
        ) from error


def _chunk_of(batch: Any, columns: Columns) -> Chunk | None:
    """Turn a batch into a chunk within Arrow; None where that might go wrong."""
    items, users = _ids(batch.column(columns.item)), _ids(batch.column(columns.user))
    if items is None or users is None:
        return None
    values, times = None, None
    if columns.value is not None:
        values = _numbers(batch.column(columns.value))
        if values is None or not np.isfinite(values).all():
            return None
    if columns.timestamp is not None:
        times = _seconds(batch.column(columns.timestamp))
        if times is None:
            return None
    return Chunk(items, users, values, times)


def _ids(column: Any) -> Ids | None:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if column.null_count or not (is_text or pa.types.is_integer(kind)):
        return None
    encoded = column.dictionary_encode()
    names = [id_text(name) for name in encoded.dictionary.to_pylist()]
    if not all(map(str.strip, names)):  # an empty id
        return None
    return Ids(encoded.indices.to_numpy(), names)


def _numbers(column: Any) -> NDArray[np.float64] | None:
    kind = column.type
    if column.null_count or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    numbers: NDArray[np.float64] = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return numbers


def _seconds(column: Any) -> NDArray[np.int64] | None:
    kind = column.type
    if column.null_count:
        return None
    if pa.types.is_timestamp(kind):
        ticks = column.cast(pa.int64()).to_numpy()
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        seconds: NDArray[np.int64] = ticks // per_second
        return seconds
    if pa.types.is_signed_integer(kind):
        seconds = column.to_numpy().astype(np.int64)
        return seconds
    return None


def _entries(batch: Any, row: int, columns: Columns, name: str) -> Iterator[RawEntry]:
    with _faults_of(name):
        cells = batch.to_pylist()
    value, timestamp = columns.value or "", columns.timestamp or ""
    for number, found in enumerate(cells, row):
        yield RawEntry(
            number,
            found[columns.item],
            found[columns.user],
            found.get(value),
            found.get(timestamp),
            found,
        )
