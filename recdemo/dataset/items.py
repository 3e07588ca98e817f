"""Reads the items of an own data set: an id, and fields of any name."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from recdemo.dataset.catalog import Catalog, Value
from recdemo.dataset.entries import id_text
from recdemo.dataset.faults import Kind, OnFault, stop
from recdemo.dataset.records import position
from recdemo.dataset.tables import Table, columns_of, read_rows
from recdemo.errors import DatasetError

LIST_FIELDS = ("genres", "directors", "tags", "categories")  # a bar parts their names in CSV
_YEAR = re.compile(r"\s*([+-]?\d{1,6})(\.0*)?\s*", re.ASCII)  # 1999.0 where a year was missing

Cells: TypeAlias = Mapping[str, object]


def read_items(table: Table, id_column: str, name: str, on_fault: OnFault = stop) -> Catalog:
    """Read a catalog; an empty or repeated id or a broken row is a fault.

    Lists become tuples, ``year`` a number where it is one, all else text. Texts in a column
    named as one of `LIST_FIELDS` are split at bars where any of them has one.

    Args:
        name: what the data set is called.
    """
    check_columns(table, id_column)
    items = dict(unique_items(table, id_column, on_fault))
    if not items:
        raise DatasetError(f"{table.label} holds no items")
    names = dict.fromkeys(column for cells in items.values() for column in cells)
    fields = {
        column: _field(column, [cells.get(column) for cells in items.values()])
        for column in names
        if column not in ("", id_column)  # an index that pandas wrote has no name
    }
    return Catalog(name, tuple(items), fields)


def check_columns(table: Table, id_column: str) -> None:
    """Raise a `DatasetError` where the id is not there, or a column stands twice."""
    header = columns_of(table)
    position(id_column, header, table.label, "name the one with the ids with --item-id")
    for column in filter(None, header):
        position(column, header, table.label)


def unique_items(table: Table, id_column: str, on_fault: OnFault) -> Iterator[tuple[str, Cells]]:
    """Yield the id and the cells of each item; an empty or repeated id is a fault."""
    label, lines = table.label, dict[str, int]()  # item id -> its line
    for row in read_rows(table, on_fault):
        try:
            written = id_text(row.cells.get(id_column))
        except TypeError as error:
            on_fault(row.fault(Kind.BROKEN, label, f"{error} in column {id_column!r}"))
            continue
        item_id = written.strip()
        if not item_id:
            message = f"the id in column {id_column!r} is empty"
            on_fault(row.fault(Kind.EMPTY_ID, label, message))
            continue
        if item_id != written:
            on_fault(row.fault(Kind.BLANKS, label, repr(written)))
        if item_id in lines:
            message = f"item id {item_id!r} repeats {row.unit} {lines[item_id]}"
            on_fault(row.fault(Kind.DUPLICATE_ID, label, message))
            continue
        lines[item_id] = row.line
        yield item_id, row.cells


def plain_text(value: object) -> str:
    """Return a cell as text; ``""`` where it is missing."""
    if isinstance(value, str):
        return value.strip()
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # whole numbers beside missing ones are stored as fractions
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _field(column: str, cells: list[object]) -> tuple[Value, ...]:
    if column in LIST_FIELDS and any(isinstance(cell, str) and "|" in cell for cell in cells):
        cells = [cell.split("|") if isinstance(cell, str) else cell for cell in cells]
    has_lists = any(isinstance(cell, list) for cell in cells)
    return tuple(_value(column, cell, has_lists) for cell in cells)


def _value(column: str, cell: object, has_lists: bool) -> Value:
    if isinstance(cell, list):
        return tuple(filter(None, map(plain_text, cell)))
    text = plain_text(cell)
    if has_lists and not text:
        return ()
    if column != "year":
        return text
    year = _YEAR.fullmatch(text)
    return int(year[1]) if year else text or None
