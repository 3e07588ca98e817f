"""Own data sets: a folder or zip with items and interactions as CSV, JSON lines or Parquet.

``items`` has a column ``item_id`` and fields of any name; ``interactions`` has ``item_id``,
``user_id`` and, where there are any, ``value`` and ``timestamp``. Options name other columns.
"""

from pathlib import Path

from recdemo.dataset import Dataset
from recdemo.dataset.archive import Archive, open_archive
from recdemo.dataset.catalog import Catalog
from recdemo.dataset.entries import Columns
from recdemo.dataset.faults import OnFault
from recdemo.dataset.items import read_items
from recdemo.dataset.movielens import CSV, DAT, complete_layout, find_layout, movielens_source
from recdemo.dataset.options import DEFAULT_OPTIONS, ReadOptions
from recdemo.dataset.records import position
from recdemo.dataset.sources import Source, read_source
from recdemo.dataset.tables import ENDINGS, Table, columns_of, find_table
from recdemo.errors import DatasetError


def open_path(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Dataset:
    """Open a folder or zip, MovieLens or an own data set."""
    if path.is_file() and path.name.endswith(ENDINGS):
        raise DatasetError(f"{path} is a file; expected the folder that holds it")
    with open_archive(path) as archive:
        return read_source(find_source(archive, options), options)


def find_source(archive: Archive, options: ReadOptions) -> Source:
    """Return how to read a folder or zip; a `DatasetError` where it holds no data set."""
    layout = complete_layout(archive)
    if layout is not None:
        return movielens_source(archive, layout, options)
    if any(f"items{ending}" in archive for ending in ENDINGS):
        return own_source(archive, options)
    if any(name in archive for name in (DAT.movies, DAT.ratings, CSV.movies, CSV.ratings)):
        find_layout(archive)  # says which of its files is missing
    raise DatasetError(
        f"{archive.path} holds no data set; expected items.csv, .jsonl or .parquet and "
        "interactions.csv, .jsonl or .parquet, or the files of MovieLens (movies.dat and "
        "ratings.dat, or movies.csv and ratings.csv)"
    )


def own_source(archive: Archive, options: ReadOptions) -> Source:
    """Return how to read an own data set, named by its folder."""
    encoding, item_id = options.text_encoding, options.item_id

    def find_items() -> Table:
        table = find_table(archive, "items", encoding, item_id)
        assert table is not None  # its file is why this is an own data set
        return table

    def read_catalog(on_fault: OnFault) -> Catalog:
        return read_items(find_items(), item_id, name, on_fault)

    def find_interactions() -> tuple[Table, Columns] | None:
        table = find_table(archive, "interactions", encoding, options.user_id)
        return None if table is None else (table, columns_of_interactions(table, options))

    name = next(archive.stem(f"items{end}") for end in ENDINGS if f"items{end}" in archive)
    return Source(str(archive.path), name, find_items, read_catalog, find_interactions)


def columns_of_interactions(table: Table, options: ReadOptions) -> Columns:
    """Return which columns to read; a `DatasetError` where one that is needed is not there.

    The items' own name for their id need not be the one used here: ``item_id`` will do.
    Values are only read for a filter, since any value counts without one.
    """
    header = columns_of(table)
    default = DEFAULT_OPTIONS
    item = options.item_id if options.item_id in header else default.item_id
    if item not in header:
        item = options.item_id  # which the message is to name
    position(item, header, table.label, "name the one with the items with --item-id")
    position(options.user_id, header, table.label, "name the one with the users with --user-id")
    value, timestamp = None, None
    if options.min_value is not None or options.value != default.value:
        remedy = "name the one with the values with --value"
        position(options.value, header, table.label, remedy)
    if options.min_value is not None:
        value = options.value
    if options.timestamp in header or options.timestamp not in ("", default.timestamp):
        remedy = "name the one with the times with --timestamp"
        position(options.timestamp, header, table.label, remedy)
        timestamp = options.timestamp
    return Columns(item, options.user_id, value, timestamp)
