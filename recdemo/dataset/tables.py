"""A file of rows, whether CSV, JSON lines or Parquet, gzipped or not, in a folder or a zip."""

import gzip
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias, cast

from recdemo.dataset.archive import Archive, faults_of
from recdemo.dataset.decoding import UTF_8
from recdemo.dataset.entries import Chunk, Columns
from recdemo.dataset.faults import Fault, Kind, OnFault, stop
from recdemo.dataset.records import TextForm, field_count_fault, read_blocks, read_records
from recdemo.errors import DatasetError

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".jsonl", ".jsonl.gz", ".parquet")
_SEPARATORS = (",", "\t", ";")
_PEEKED = 1 << 16  # bytes


@dataclass(frozen=True, slots=True)
class JsonForm:
    """One JSON object per line."""

    encoding: str = UTF_8


@dataclass(frozen=True, slots=True)
class ParquetForm:
    """Parquet, which knows its types itself."""


Form: TypeAlias = TextForm | JsonForm | ParquetForm


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A file of rows: where it lies and how it is written."""

    label: str  # what messages call it
    form: Form
    source: Callable[[], IO[bytes]]  # opens it from its start
    header: tuple[str, ...] | None = None  # None: the file names its columns

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the file for reading, unpacked where its name ends in ``.gz``."""
        with self.source() as file:
            if self.label.endswith(".gz"):
                with gzip.open(file) as unpacked:
                    yield cast(IO[bytes], unpacked)
            else:
                yield file


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row by column."""

    line: int
    cells: Mapping[str, object]
    unit: str = "line"  # "row" where a file has no lines

    def fault(self, kind: Kind, name: str, message: str) -> Fault:
        """Return a fault of this row in the file called *name*."""
        return Fault(kind, name, self.line, message, self.unit)


def find_table(archive: Archive, stem: str, encoding: str, column: str) -> Table | None:
    """Return the file called *stem* with one of the `ENDINGS`, None where there is none.

    Args:
        column: one that it should have; it tells the separator of CSV.
    """
    names = [stem + ending for ending in ENDINGS if stem + ending in archive]
    if len(names) > 1:
        found = " and ".join(archive.label(name) for name in names)
        raise DatasetError(f"there are {found}; expected one of them")
    if not names:
        return None
    [name] = names
    return _with_form(archive.label(name), partial(archive.open, name), encoding, column)


def table_at(path: Path, encoding: str, column: str) -> Table:
    """Return the file at *path*; see `find_table`."""

    def source() -> IO[bytes]:
        with faults_of(str(path)):
            return path.open("rb")

    return _with_form(str(path), source, encoding, column)


def _with_form(label: str, source: Callable[[], IO[bytes]], encoding: str, column: str) -> Table:
    bare = label.removesuffix(".gz")
    if bare.endswith(".parquet"):
        return Table(label, ParquetForm(), source)
    if bare.endswith(".jsonl"):
        return Table(label, JsonForm(encoding), source)
    table = Table(label, TextForm(encoding=encoding), source)
    tables = [replace(table, form=TextForm(separator, encoding)) for separator in _SEPARATORS]
    known: list[tuple[int, Table]] = []
    faults: list[DatasetError] = []
    for table in tables:
        try:
            header = columns_of(table)
        except DatasetError as error:  # a header in quotes is not CSV with other separators
            faults.append(error)
            continue
        if column in header:
            return table
        known.append((len(header), table))
    if not known:
        raise faults[0]
    return max(known, key=lambda pair: pair[0])[1]


def columns_of(table: Table) -> list[str]:
    """Return the names of the columns; of JSON lines the keys of the first object."""
    if table.header is not None:
        return list(table.header)

    def only_the_first(fault: Fault) -> None:
        if fault.line == 1:
            stop(fault)

    with table.open() as stream:
        form = table.form
        if isinstance(form, ParquetForm):
            from recdemo.dataset import parquet

            return parquet.column_names(stream, table.label)
        blocks = read_blocks(stream, table.label, form.encoding, only_the_first, _PEEKED)
        if isinstance(form, TextForm):
            for record in read_records(blocks, table.label, form, only_the_first):
                return [column.strip() for column in record.fields]
            raise DatasetError(f"{table.label} is empty; expected a line that names the columns")
        from recdemo.dataset.json_lines import read_objects

        faults: list[Fault] = []
        for _, found in read_objects(blocks, table.label, faults.append):
            return list(found)
        for fault in faults:
            stop(fault)
        raise DatasetError(f"{table.label} is empty; expected one JSON object per line")


def read_rows(table: Table, on_fault: OnFault) -> Iterator[Row]:
    """Yield the rows of a table; blank lines are left out."""
    with table.open() as stream:
        form = table.form
        if isinstance(form, ParquetForm):
            from recdemo.dataset import parquet

            for line, cells in parquet.read_parquet_rows(stream, table.label):
                yield Row(line, cells, "row")
            return
        blocks = read_blocks(stream, table.label, form.encoding, on_fault)
        if isinstance(form, JsonForm):
            from recdemo.dataset.json_lines import read_objects

            for line, cells in read_objects(blocks, table.label, on_fault):
                yield Row(line, cells)
            return
        records = read_records(blocks, table.label, form, on_fault)
        header = columns_of(table)
        if table.header is None:
            next(records, None)
        for record in records:
            if len(record.fields) == len(header):
                yield Row(record.line, dict(zip(header, record.fields, strict=True)))
            else:
                on_fault(field_count_fault(record, len(header), table.label, form))


def read_table_chunks(table: Table, columns: Columns, on_fault: OnFault) -> Iterator[Chunk]:
    """Yield the entries of a table of interactions."""
    with table.open() as stream:
        form = table.form
        if isinstance(form, ParquetForm):
            from recdemo.dataset import parquet

            yield from parquet.read_parquet_chunks(stream, table.label, columns, on_fault)
            return
        blocks = read_blocks(stream, table.label, form.encoding, on_fault)
        if isinstance(form, JsonForm):
            from recdemo.dataset.json_lines import read_json_chunks

            yield from read_json_chunks(blocks, table.label, columns, on_fault)
            return
        from recdemo.dataset.chunks import read_chunks

        yield from read_chunks(blocks, table.label, columns, form, table.header, on_fault)
