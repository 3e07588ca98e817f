"""Truth lists on disk: the bundled ones, and those computed once and kept."""

import hashlib
import os
import zipfile
import zlib
from pathlib import Path

import numpy as np

from recdemo.dataset import Dataset
from recdemo.dataset.interactions import Interactions
from recdemo.errors import DatasetError, StoreError
from recdemo.settings import settings
from recdemo.truth import Progress, Truth, build_truth, check_k, no_progress
from recdemo.truth.ceiling import Ceiling, load_ceiling

SHORTEST = 100  # kept lists are at least this long, so that a smaller K finds them too
BUNDLED_K = 100


def find_truth(
    dataset: Dataset, overlap: str, k: int, on_progress: Progress = no_progress
) -> Truth:
    """Return truth lists of at least *k*: the bundled, the kept, or newly built and kept."""
    dataset.require_interactions()
    n_rated = dataset.n_rated
    check_k(k, n_rated)
    if dataset.truth_file is not None and overlap == "jaccard" and k <= BUNDLED_K:
        return load_truth(dataset.truth_file, dataset.catalog.item_ids)
    try:
        interactions = dataset.interactions()
    except DatasetError as error:
        if dataset.truth_file is None:
            raise
        raise DatasetError(
            f"the bundled truth of {dataset.name} serves jaccard up to K = {BUNDLED_K}, "
            f"not {overlap} at {k}; {error}"
        ) from error
    length = min(max(k, SHORTEST), n_rated - 1)
    path = truth_path(dataset, interactions, overlap, length)
    kept = _kept_truth(path, dataset.catalog.item_ids)
    if kept is not None:
        return kept
    truth = build_truth(interactions, overlap, length, on_progress)
    save_truth(truth, dataset.catalog.item_ids, path)
    return truth


def _kept_truth(path: Path, item_ids: tuple[str, ...]) -> Truth | None:
    """Return kept lists; None where there are none, or a file that a full disk cut short, say."""
    try:
        return load_truth(path, item_ids) if path.exists() else None
    except DatasetError:
        return None


def truth_path(dataset: Dataset, interactions: Interactions, overlap: str, k: int) -> Path:
    """Return where truth lists are kept, by all that they depend on."""
    return _kept(dataset, interactions, f"{overlap} {k}", ".npz")


def ceiling_path(dataset: Dataset, interactions: Interactions, overlap: str, k: int) -> Path:
    """Return where a ceiling is kept, by all that it depends on."""
    return _kept(dataset, interactions, f"ceiling {overlap} {k}", ".ceiling.json")


def _kept(dataset: Dataset, interactions: Interactions, what: str, ending: str) -> Path:
    digest = hashlib.sha256(f"{what} {ids_hash(dataset.catalog.item_ids)}".encode())
    order = np.lexsort((interactions.rows, interactions.users))
    digest.update(interactions.users[order].tobytes())
    digest.update(interactions.rows[order].tobytes())
    return settings().truths / f"{dataset.name}-{digest.hexdigest()[:16]}{ending}"


def find_ceiling(dataset: Dataset, overlap: str, k: int) -> Ceiling | None:
    """Return the ceiling at *k*: the bundled, or one kept by ``recdemo truth build --ceiling``."""
    if dataset.ceiling_file is not None and overlap == "jaccard":
        ceiling = load_ceiling(dataset.ceiling_file)
        if ceiling.k == k:
            return ceiling
    try:
        path = ceiling_path(dataset, dataset.interactions(), overlap, k)
    except DatasetError:  # no raw interactions at hand, so none can have been computed
        return None
    return load_ceiling(path) if path.exists() else None


def save_truth(truth: Truth, item_ids: tuple[str, ...], path: Path) -> None:
    """Write truth lists as ``.npz``; the same lists give the same arrays."""
    rows = np.flatnonzero(truth.rated).astype(np.int32)
    _make_folder(path.parent)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part.npz")  # others may write it too
    try:
        np.savez_compressed(
            partial,
            overlap=np.array(truth.overlap),
            rows=rows,
            neighbors=truth.neighbors[rows],
            overlaps=truth.overlaps[rows],
            n_users=np.array(truth.n_users),
            n_items=np.array(len(truth.rated)),
            catalog=np.array(ids_hash(item_ids)),
        )
        partial.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error
    finally:  # interrupted, or no room
        partial.unlink(missing_ok=True)


def load_truth(path: Path, item_ids: tuple[str, ...]) -> Truth:
    """Read truth lists; those of another catalog or a damaged file are a `DatasetError`."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        if str(arrays["catalog"]) != ids_hash(item_ids):
            raise DatasetError(f"the truth lists in {path} belong to another catalog")
        n_items, rows = int(arrays["n_items"]), arrays["rows"]
        k = arrays["neighbors"].shape[1]
        neighbors = np.full((n_items, k), -1, np.int32)
        overlaps = np.zeros((n_items, k), np.float32)
        rated = np.zeros(n_items, bool)
        neighbors[rows], overlaps[rows], rated[rows] = (
            arrays["neighbors"],
            arrays["overlaps"],
            True,
        )
        return Truth(str(arrays["overlap"]), neighbors, overlaps, rated, int(arrays["n_users"]))
    except (OSError, KeyError, ValueError, IndexError, EOFError) as error:
        raise _damaged(path, error) from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> DatasetError:
    return DatasetError(
        f"cannot read the truth lists in {path}: {type(error).__name__}; get the file once more"
    )


def ids_hash(item_ids: tuple[str, ...]) -> str:
    """Return a hash of the ids of a catalog, in row order."""
    return hashlib.sha256("\0".join(item_ids).encode()).hexdigest()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder}: {error.strerror}; set RECDEMO_HOME to a folder you own"
        ) from error


def save_counts(dataset: Dataset, path: Path) -> None:
    """Write how many users touched each item as CSV: item_id, users."""
    _make_folder(path.parent)
    lines = [
        f"{item_id},{count}\n"
        for item_id, count in zip(dataset.catalog.item_ids, dataset.counts.tolist(), strict=True)
    ]
    path.write_text("item_id,users\n" + "".join(lines), encoding="utf-8")
