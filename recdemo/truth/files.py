"""Truth lists on disk: the bundled ones, and those computed once and kept."""

import glob
import hashlib
import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from recdemo.dataset import Dataset
from recdemo.dataset.archive import UNREADABLE
from recdemo.dataset.catalog import ids_hash
from recdemo.dataset.imports import import_path
from recdemo.dataset.interactions import Interactions
from recdemo.errors import DatasetError, StoreError
from recdemo.settings import settings
from recdemo.truth import Progress, Truth, build_truth, check_k, no_progress
from recdemo.truth.ceiling import Ceiling, load_ceiling

SHORTEST = 100  # kept lists are at least this long, so that a smaller K finds them too
BUNDLED_K = 100
ENDING = ".npz"


def find_truth(
    dataset: Dataset, overlap: str, k: int, on_progress: Progress = no_progress
) -> Truth:
    """Return truth lists of at least *k*: imported, bundled, kept, or newly built and kept."""
    imported = find_imported(dataset, overlap)
    if imported is not None:
        return _long_enough(imported, dataset, k)
    dataset.require_interactions()
    check_k(k, dataset.n_rated)
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
    length = kept_length(k, dataset.n_rated)
    kept = _kept_truth(dataset, interactions, overlap, length)
    if kept is not None:
        return kept.cut(length)
    truth = build_truth(interactions, overlap, length, on_progress)
    save_truth(truth, dataset.catalog.item_ids, truth_path(dataset, interactions, overlap, length))
    return truth


def kept_length(k: int, n_rated: int) -> int:
    """Return the length of the lists that are kept to serve *k*."""
    return min(max(k, SHORTEST), n_rated - 1)


def find_imported(dataset: Dataset, overlap: str) -> Truth | None:
    """Return the lists that were imported for a data set as it is read, None without."""
    path = imported_path(dataset, overlap)
    return load_truth(path, dataset.catalog.item_ids) if path.exists() else None


def forget_imported(dataset: Dataset, overlap: str) -> bool:
    """Delete imported lists, and tell whether there were any."""
    path = imported_path(dataset, overlap)
    there = path.exists()
    path.unlink(missing_ok=True)
    return there


def imported_path(dataset: Dataset, overlap: str) -> Path:
    """Return where imported lists of a data set are kept."""
    return import_path(dataset.catalog, dataset.counts, dataset.n_users, overlap)


def _long_enough(truth: Truth, dataset: Dataset, k: int) -> Truth:
    check_k(k, truth.n_rated)
    if k > truth.k:
        raise DatasetError(
            f"the imported {truth.overlap} lists of {dataset.name} serve K up to {truth.k}, not "
            f"{k}; choose a smaller --k, import longer lists, or go back to built ones with "
            "'recdemo truth build'"
        )
    return truth.cut(kept_length(k, truth.n_rated))


def _kept_truth(dataset: Dataset, interactions: Interactions, overlap: str, k: int) -> Truth | None:
    """Return kept lists of at least *k*, the shortest of them, passing over damaged files.

    A full disk may have cut a file short, say; it is built anew.
    """
    path = truth_path(dataset, interactions, overlap, k)
    stem = path.name.removesuffix(f"{k}{ENDING}")
    found = {}
    for kept in path.parent.glob(f"{glob.escape(stem)}*{ENDING}"):
        length = kept.name.removeprefix(stem).removesuffix(ENDING)
        if length.isdecimal() and int(length) >= k:
            found[int(length)] = kept
    for _, kept in sorted(found.items()):
        with suppress(DatasetError):
            return load_truth(kept, dataset.catalog.item_ids)
    return None


def truth_path(dataset: Dataset, interactions: Interactions, overlap: str, k: int) -> Path:
    """Return where truth lists are kept, by all that they depend on."""
    return _kept(dataset, interactions, f"-{overlap}-{k}{ENDING}")


def ceiling_path(dataset: Dataset, interactions: Interactions, overlap: str, k: int) -> Path:
    """Return where a ceiling is kept, by all that it depends on."""
    return _kept(dataset, interactions, f"-{overlap}-{k}.ceiling.json")


def _kept(dataset: Dataset, interactions: Interactions, ending: str) -> Path:
    digest = hashlib.sha256(ids_hash(dataset.catalog.item_ids).encode())
    matrix = interactions.matrix()  # its rows ascend, whatever the order of the file
    digest.update(matrix.indptr.tobytes())
    digest.update(matrix.indices.tobytes())
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
    source = {"source": np.array(truth.source)} if truth.source else {}
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
            **source,  # type: ignore[arg-type]  # the stubs take it for another argument
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
        source = str(arrays["source"]) if "source" in arrays else ""
        n_users = int(arrays["n_users"])
        return Truth(str(arrays["overlap"]), neighbors, overlaps, rated, n_users, source)
    except (*UNREADABLE, KeyError) as error:
        raise DatasetError(
            f"cannot read the truth lists in {path}: {type(error).__name__}; get the file once more"
        ) from error


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
