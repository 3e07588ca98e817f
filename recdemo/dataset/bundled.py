"""MovieLens 1M as it travels with recdemo: films, counts, truth lists, published rows."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import recdemo
from recdemo.dataset import Dataset
from recdemo.dataset.catalog import Catalog, Value
from recdemo.dataset.interactions import IntArray, Interactions
from recdemo.dataset.options import ReadOptions
from recdemo.errors import DatasetError

NAME = "ml-1m"
N_USERS = 6040  # the counts do not tell how many users there are
CITATION = "cite Harper and Konstan (2015), The MovieLens Datasets, doi 10.1145/2827872"
TERMS = (
    "MovieLens by GroupLens: research use, no redistribution, no commercial use without "
    f"GroupLens's permission; {CITATION}"
)


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row of the published study."""

    model: str
    dimension: int
    recall_at_100: float
    source: str


def folder() -> Path:
    """Return where the bundled data lies: in the package, or beside it in a checkout."""
    package = Path(recdemo.__file__).parent
    installed = package / "data" / NAME
    return installed if installed.is_dir() else package.parent / "data" / NAME


@cache
def open_bundled() -> Dataset:
    """Open the bundled MovieLens 1M; its raw interactions are read only where fetched."""
    catalog = read_movies(folder() / "movies.csv")
    counts = read_counts(folder() / "interaction_counts.csv", catalog)
    return Dataset(
        catalog=catalog,
        counts=counts,
        n_users=N_USERS,
        n_interactions=int(counts.sum()),
        interactions=_fetched_interactions,
        truth_file=folder() / "truth.npz",
        ceiling_file=folder() / "ceiling.json",
        terms=TERMS,
    )


def open_raw(options: ReadOptions) -> Dataset:
    """Open MovieLens 1M with filters, which needs its raw ratings; the bundled truth is not theirs.

    Its columns and its encoding are no matter of choice.
    """
    flags = options.column_flags + ["--encoding"] * (options.encoding is not None)
    if flags:
        raise DatasetError(
            f"cannot use {' and '.join(flags)} with {NAME}: it comes with recdemo and has no "
            "columns to name; choose a folder of your own with --dataset"
        )
    from recdemo.dataset import movielens

    return movielens.open_movielens(_fetched("a filter"), options)


def read_movies(path: Path) -> Catalog:
    """Read ``movies.csv``: item_id, title, year, genres, directors, known, synopsis."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    fields: dict[str, tuple[Value, ...]] = {
        "title": tuple(row["title"] for row in rows),
        "year": tuple(int(row["year"]) for row in rows),
        "genres": tuple(_names(row["genres"]) for row in rows),
        "directors": tuple(_names(row["directors"]) for row in rows),
        "known": tuple(row["known"] for row in rows),
        "synopsis": tuple(row["synopsis"] for row in rows),
    }
    return Catalog(NAME, tuple(row["item_id"] for row in rows), fields)


def read_counts(path: Path, catalog: Catalog) -> IntArray:
    """Read ``interaction_counts.csv``: item_id, users; in the order of the catalog."""
    with path.open(encoding="utf-8", newline="") as file:
        counts = {row["item_id"]: int(row["users"]) for row in csv.DictReader(file)}
    return np.array([counts[item_id] for item_id in catalog.item_ids], np.int32)


def read_published() -> list[PublishedRow]:
    """Read the rows of the published study."""
    with (folder() / "published.csv").open(encoding="utf-8", newline="") as file:
        return [
            PublishedRow(
                row["model"], int(row["dimension"]), float(row["recall_at_100"]), row["source"]
            )
            for row in csv.DictReader(file)
        ]


def _names(joined: str) -> tuple[str, ...]:
    return tuple(joined.split("|")) if joined else ()


def _fetched_interactions() -> Interactions:
    from recdemo.dataset import movielens

    return movielens.open_movielens(_fetched("this")).interactions()


def _fetched(what: str) -> Path:
    from recdemo.dataset import download

    path = download.fetched(NAME)
    if path is None:
        raise DatasetError(
            f"{what} needs the raw ratings of MovieLens 1M, which may not be redistributed; "
            "get them with 'recdemo dataset fetch ml-1m', or with --from PATH from a zip you have"
        )
    return path
