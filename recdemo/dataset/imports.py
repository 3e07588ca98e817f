"""Where truth lists that were computed elsewhere are kept, by what they were computed for.

They belong to a catalog and to its interactions, which are told by how many users touched each
item: the lists are there because nobody wants to go through all the interactions here. Where
there are no interactions at all, the lists say which items are rated.
"""

import glob
import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset.archive import UNREADABLE
from recdemo.dataset.catalog import Catalog, ids_hash
from recdemo.dataset.interactions import IntArray
from recdemo.errors import DatasetError
from recdemo.settings import settings

ENDING = ".imported.npz"


def import_path(catalog: Catalog, counts: IntArray, n_users: int, overlap: str) -> Path:
    """Return where imported lists of an overlap are kept."""
    return settings().truths / f"{_stem(catalog, counts, n_users)}-{overlap}{ENDING}"


def listed_items(catalog: Catalog) -> NDArray[np.bool_] | None:
    """Return which items of a catalog without interactions stand in imported lists."""
    nobody = np.zeros(len(catalog), np.int32)
    stem = glob.escape(_stem(catalog, nobody, 0))
    paths = sorted(settings().truths.glob(f"{stem}-*{ENDING}"))
    listed = np.zeros(len(catalog), np.bool_)
    for path in paths:
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                listed[stored["rows"]] = True
        except (*UNREADABLE, KeyError) as error:
            raise DatasetError(
                f"cannot read the imported truth lists in {path}: {type(error).__name__}; "
                "import them once more, or delete the file"
            ) from error
    return listed if paths else None


def _stem(catalog: Catalog, counts: IntArray, n_users: int) -> str:
    digest = hashlib.sha256(f"{n_users} {ids_hash(catalog.item_ids)}".encode())
    digest.update(counts.astype(np.int32).tobytes())
    return f"{catalog.name}-{digest.hexdigest()[:16]}"
