"""Data sets: a catalog of items and the interactions of users with them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recdemo.dataset.catalog import Catalog
from recdemo.dataset.options import DEFAULT_OPTIONS, ReadOptions

if TYPE_CHECKING:  # NumPy and SciPy take long to import, and a first screen needs neither
    import numpy as np
    from numpy.typing import NDArray

    from recdemo.dataset.interactions import IntArray, Interactions

DEFAULT = "ml-1m"


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """What a command works on.

    The bundled ``ml-1m`` has counts, truth lists and a ceiling, but no interactions: those
    may not be redistributed. `interactions` then raises an error that says how to get them.
    """

    catalog: Catalog
    counts: "IntArray"  # (n_items,) users who touched each item
    n_users: int
    n_interactions: int
    interactions: "Callable[[], Interactions]"  # reads them when they are first needed
    truth_file: Path | None = None  # bundled truth lists: Jaccard, up to K = 100
    ceiling_file: Path | None = None  # the ceiling that belongs to them
    listed: "NDArray[np.bool_] | None" = None  # rated items as imported truth lists have them
    options: ReadOptions = DEFAULT_OPTIONS  # as it was read
    terms: str = ""  # under which it may be used, and what to cite; "" for an own data set
    notes: tuple[str, ...] = ()  # what was left out of it, in sentences

    @property
    def name(self) -> str:
        """The name of the data set, as in collections and reports."""
        return self.catalog.name

    @property
    def item_word(self) -> str:
        """What a person calls an item, as the head of a column."""
        return "Movie" if self.terms else "Item"  # only MovieLens comes with terms

    @property
    def rated(self) -> "NDArray[np.bool_]":
        """Which items have an interaction, ``(n_items,)``."""
        return self.counts > 0 if self.listed is None else self.listed

    @property
    def n_rated(self) -> int:
        """The number of items with an interaction."""
        return int(self.rated.sum())

    def require_interactions(self) -> None:
        """Raise the error that says how to get interactions, where no item has any."""
        if not self.n_rated:
            self.interactions()

    def __len__(self) -> int:
        return len(self.catalog)


def open_dataset(name_or_path: str = DEFAULT, options: ReadOptions = DEFAULT_OPTIONS) -> Dataset:
    """Open ``ml-1m``, what was fetched by name, or a folder or zip: MovieLens or an own one.

    Imports only the reader it needs.
    """
    if name_or_path == DEFAULT:
        from recdemo.dataset import bundled

        return bundled.open_bundled() if options == DEFAULT_OPTIONS else bundled.open_raw(options)
    from recdemo.dataset import download, folder

    return folder.open_path(download.locate(name_or_path), options)
