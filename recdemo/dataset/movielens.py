"""MovieLens: 1M (``.dat``) and the CSV files of latest-small, 25M and 32M.

Harper and Konstan (2015), The MovieLens Datasets: History and Context. ACM Transactions on
Interactive Intelligent Systems 5 (4), https://doi.org/10.1145/2827872.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from recdemo.dataset import DEFAULT, Dataset, bundled
from recdemo.dataset.archive import Archive, faults_of, open_archive
from recdemo.dataset.catalog import Catalog, Value
from recdemo.dataset.decoding import UTF_8
from recdemo.dataset.entries import Columns
from recdemo.dataset.faults import OnFault
from recdemo.dataset.items import unique_items
from recdemo.dataset.options import DEFAULT_OPTIONS, ReadOptions
from recdemo.dataset.records import TextForm, position
from recdemo.dataset.sources import Source, read_source
from recdemo.dataset.tables import Table, columns_of
from recdemo.dataset.titles import split_title
from recdemo.errors import DatasetError

_NO_GENRES = "(no genres listed)"
_BUNDLED_FIELDS: Mapping[str, Value] = {"directors": (), "known": "", "synopsis": ""}


@dataclass(frozen=True, slots=True)
class Layout:
    """How a release of MovieLens writes its files."""

    movies: str
    ratings: str
    form: TextForm
    movie_columns: tuple[str, str, str]  # id, title, genres
    ratings_columns: Columns
    ratings_header: tuple[str, ...] | None  # None: the first line of each file names its columns


DAT = Layout(
    "movies.dat",
    "ratings.dat",
    TextForm("::", "iso8859-1"),
    ("MovieID", "Title", "Genres"),
    Columns("MovieID", "UserID", "Rating", "Timestamp"),
    ("UserID", "MovieID", "Rating", "Timestamp"),
)
CSV = Layout(
    "movies.csv",
    "ratings.csv",
    TextForm(),
    ("movieId", "title", "genres"),
    Columns("movieId", "userId", "rating", "timestamp"),
    None,
)


def open_movielens(path: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Dataset:
    """Open a MovieLens folder or zip; the movies of 1M get their bundled synopses."""
    with open_archive(path) as archive:
        return read_source(movielens_source(archive, find_layout(archive), options), options)


def complete_layout(archive: Archive) -> Layout | None:
    """Tell whose files a folder or zip holds; None where they are not all there."""
    for layout in (DAT, CSV):
        if layout.movies in archive and layout.ratings in archive:
            return layout
    return None


def find_layout(archive: Archive) -> Layout:
    """Tell whose files a folder or zip holds; a `DatasetError` where some are missing."""
    complete = complete_layout(archive)
    if complete is not None:
        return complete
    for layout in (DAT, CSV):
        present = [name in archive for name in (layout.movies, layout.ratings)]
        if any(present):
            missing = layout.ratings if present[0] else layout.movies
            raise DatasetError(f"{archive.path} has no {missing}; a MovieLens data set needs it")
    raise DatasetError(
        f"{archive.path} is no MovieLens folder or zip; expected movies.dat and ratings.dat, "
        "or movies.csv and ratings.csv"
    )


def movielens_source(archive: Archive, layout: Layout, options: ReadOptions) -> Source:
    """Return how to read a MovieLens folder or zip, whose columns are known."""
    if options.column_flags:
        raise DatasetError(
            f"cannot use {' and '.join(options.column_flags)} with {archive.path}: its files are "
            "those of MovieLens, whose columns are known; leave the option out"
        )
    form = _form(archive, layout, options)
    movies, ratings = (
        Table(archive.label(name), form, partial(archive.open, name), header)
        for name, header in (
            (layout.movies, None if layout.ratings_header is None else layout.movie_columns),
            (layout.ratings, layout.ratings_header),
        )
    )
    name = archive.stem(layout.movies)

    def read_catalog(on_fault: OnFault) -> Catalog:
        catalog = _read_movies(movies, layout, name, on_fault)
        return catalog if layout is CSV else _with_synopses(catalog)

    return Source(
        str(archive.path),
        name,
        lambda: movies,
        read_catalog,
        lambda: (ratings, layout.ratings_columns),
        _terms(layout),
    )


def _form(archive: Archive, layout: Layout, options: ReadOptions) -> TextForm:
    """Return how the files are written; 1M is latin-1, and 10M, whose files look alike, UTF-8.

    Letters beyond ASCII in latin-1 are no valid UTF-8, but by an odd accident.
    """
    separator = layout.form.separator
    if layout is CSV or options.encoding is not None:
        return TextForm(separator, options.text_encoding)
    label = archive.label(layout.movies)
    with archive.open(layout.movies) as stream, faults_of(label):
        data = stream.read()
    try:
        data.decode(UTF_8)
    except UnicodeDecodeError:
        return layout.form
    return TextForm(separator, UTF_8)


def _terms(layout: Layout) -> str:
    if layout is DAT:
        return bundled.TERMS
    return f"MovieLens by GroupLens: see the README of its zip; {bundled.CITATION}"


def _read_movies(table: Table, layout: Layout, name: str, on_fault: OnFault) -> Catalog:
    item_id, title, genres = layout.movie_columns
    header = columns_of(table)
    for column in layout.movie_columns:
        position(column, header, table.label)
    movies = dict(unique_items(table, item_id, on_fault))
    if not movies:
        raise DatasetError(f"{table.label} holds no movies")
    titles = [split_title(str(cells[title]).strip()) for cells in movies.values()]
    kinds = [str(cells[genres]).strip() for cells in movies.values()]
    fields: dict[str, tuple[Value, ...]] = {
        "title": tuple(title for title, _ in titles),
        "year": tuple(year for _, year in titles),
        "genres": tuple(
            () if names in ("", _NO_GENRES) else tuple(names.split("|")) for names in kinds
        ),
    }
    return Catalog(name, tuple(movies), fields)


def _with_synopses(catalog: Catalog) -> Catalog:
    """Add what the bundle knows of these movies; with the very same items it is the bundled one.

    A title that has the letters of the bundled one is spelled like it, dots and commas
    included, for the sake of equal texts: vectors and collections belong to texts.
    """
    known = bundled.open_bundled().catalog
    rows = {item_id: row for row, item_id in enumerate(known.item_ids)}
    fields = dict(catalog.fields)
    for field, missing in _BUNDLED_FIELDS.items():
        fields[field] = tuple(
            known.fields[field][rows[item_id]] if item_id in rows else missing
            for item_id in catalog.item_ids
        )
    fields["title"] = tuple(
        known.title(rows[item_id])
        if item_id in rows and _letters(known.title(rows[item_id])) == _letters(catalog.title(row))
        else catalog.title(row)
        for row, item_id in enumerate(catalog.item_ids)
    )
    name = DEFAULT if catalog.item_ids == known.item_ids else catalog.name
    return Catalog(name, catalog.item_ids, fields)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()
