"""MovieLens: 1M (``.dat``) and the CSV files of latest-small, 25M and 32M.

Harper and Konstan (2015), The MovieLens Datasets: History and Context. ACM Transactions on
Interactive Intelligent Systems 5 (4), https://doi.org/10.1145/2827872.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from recdemo.dataset import DEFAULT, Dataset
from recdemo.dataset.archive import Archive, faults_of, open_archive
from recdemo.dataset.catalog import Catalog, Value
from recdemo.dataset.chunks import Columns
from recdemo.dataset.reading import Reading, read_interactions
from recdemo.dataset.records import (
    Record,
    TextForm,
    fault,
    field_count_fault,
    read_blocks,
    read_records,
    shown,
)
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
    movie_columns: tuple[str, ...]
    header: bool  # whether the first line names the columns
    ratings_columns: Columns


DAT = Layout(
    "movies.dat",
    "ratings.dat",
    TextForm("::", "latin-1"),
    ("MovieID", "Title", "Genres"),
    False,
    Columns(
        "MovieID", "UserID", "Rating", "Timestamp", ("UserID", "MovieID", "Rating", "Timestamp")
    ),
)
CSV = Layout(
    "movies.csv",
    "ratings.csv",
    TextForm(),
    ("movieId", "title", "genres"),
    True,
    Columns("movieId", "userId", "rating", "timestamp"),
)


@dataclass(frozen=True, slots=True, eq=False)
class MovieLens:
    """What the files of a release hold."""

    catalog: Catalog
    layout: Layout
    reading: Reading


def open_movielens(path: Path) -> Dataset:
    """Open a MovieLens folder or zip; the movies of 1M get their bundled synopses."""
    data = read_movielens(path)
    catalog = data.catalog if data.layout is CSV else _with_synopses(data.catalog)
    interactions = data.reading.interactions
    return Dataset(
        catalog=catalog,
        counts=interactions.counts(),
        n_users=interactions.n_users,
        n_interactions=len(interactions),
        interactions=lambda: interactions,
    )


def read_movielens(path: Path) -> MovieLens:
    """Read movies and ratings of a MovieLens folder or zip."""
    with open_archive(path) as archive:
        layout = find_layout(archive)
        form = _form(archive, layout)
        catalog = _read_movies(archive, layout, form)
        label = archive.label(layout.ratings)
        with archive.open(layout.ratings) as stream:
            reading = read_interactions(
                stream, catalog.item_ids, layout.ratings_columns, form=form, name=label
            )
    if not len(reading.interactions):
        why = "it is empty"
        if reading.n_unknown:
            why = f"{layout.movies} knows none of its movies, {reading.unknown_id!r} for one"
        raise DatasetError(f"{label} holds no rating of any movie: {why}")
    return MovieLens(catalog, layout, reading)


def find_layout(archive: Archive) -> Layout:
    """Tell which files a folder or zip holds; a `DatasetError` where some are missing."""
    for layout in (DAT, CSV):
        present = [name in archive for name in (layout.movies, layout.ratings)]
        if all(present):
            return layout
        if any(present):
            missing = layout.ratings if present[0] else layout.movies
            raise DatasetError(f"{archive.path} has no {missing}; a MovieLens data set needs it")
    raise DatasetError(
        f"{archive.path} is no MovieLens folder or zip; expected movies.dat and ratings.dat, "
        "or movies.csv and ratings.csv"
    )


def _form(archive: Archive, layout: Layout) -> TextForm:
    """Return how the files are written; 1M is latin-1, and 10M, whose files look alike, UTF-8.

    Letters beyond ASCII in latin-1 are no valid UTF-8, but by an odd accident.
    """
    if layout is CSV:
        return layout.form
    label = archive.label(layout.movies)
    with archive.open(layout.movies) as stream, faults_of(label):
        data = stream.read()
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return layout.form
    return TextForm(layout.form.separator, "utf-8")


def _read_movies(archive: Archive, layout: Layout, form: TextForm) -> Catalog:
    label = archive.label(layout.movies)
    lines: dict[str, int] = {}  # item id -> its line
    titles: list[str] = []
    years: list[int | None] = []
    genres: list[tuple[str, ...]] = []
    for record in _movie_records(archive, layout, form):
        item_id, title, kinds = (field.strip() for field in record.fields)
        if not item_id:
            raise fault(label, record.line, "the id of the movie is empty")
        if item_id in lines:
            raise fault(label, record.line, f"item id {item_id!r} repeats line {lines[item_id]}")
        lines[item_id] = record.line
        title, year = split_title(title)
        titles.append(title)
        years.append(year)
        genres.append(() if kinds in ("", _NO_GENRES) else tuple(kinds.split("|")))
    if not lines:
        raise DatasetError(f"{label} holds no movies")
    fields = {"title": tuple(titles), "year": tuple(years), "genres": tuple(genres)}
    return Catalog(archive.stem(layout.movies), tuple(lines), fields)


def _movie_records(archive: Archive, layout: Layout, form: TextForm) -> Iterator[Record]:
    """Yield id, title and genres of each movie."""
    label = archive.label(layout.movies)
    with archive.open(layout.movies) as stream:
        records = read_records(read_blocks(stream, label), label, form)
        header = list(layout.movie_columns)
        if layout.header:
            header = [name.strip() for name in next(records, Record(1, [])).fields]
        for column in layout.movie_columns:
            if header.count(column) != 1:
                known = shown(Record(1, header), form)
                raise DatasetError(f"{label} needs one column {column!r}; its columns are {known}")
        places = [header.index(column) for column in layout.movie_columns]
        for record in records:
            if len(record.fields) != len(header):
                raise field_count_fault(record, len(header), label, form)
            yield Record(record.line, [record.fields[place] for place in places])


def _with_synopses(catalog: Catalog) -> Catalog:
    """Add what the bundle knows of these movies; with the very same items it is the bundled one.

    A title that has the letters of the bundled one is spelled like it, dots and commas
    included, for the sake of equal texts: vectors and collections belong to texts.
    """
    from recdemo.dataset import bundled

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
