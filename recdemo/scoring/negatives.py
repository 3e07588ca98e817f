"""Negatives: the items that the target of each user is ranked among, drawn once and kept.

They are kept in a file and named by a hash, so that all models and dimensions, today's and
tomorrow's, are ranked among the same ones.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset.archive import UNREADABLE
from recdemo.dataset.interactions import IntArray
from recdemo.errors import StoreError
from recdemo.scoring.split import Split
from recdemo.settings import settings

N_NEGATIVES = 99
SEED = 0
_USERS = 1024  # at a time; another number means other draws
_CELLS = 2**20  # of a (users, rated items) array of random numbers; likewise


@dataclass(frozen=True, slots=True, eq=False)
class Negatives:
    """For each user some rated items that the user never touched."""

    users: IntArray  # (u,) ascending
    rows: IntArray  # (u, at most n) ascending, padded with -1 at the end
    n: int  # asked for
    seed: int

    @property
    def hash(self) -> str:
        """A hash of all draws, 64 hex digits."""
        digest = hashlib.sha256(f"{self.rows.shape}".encode())
        digest.update(self.users.astype("<i4").tobytes())
        digest.update(self.rows.astype("<i4").tobytes())
        return digest.hexdigest()


def draw_negatives(split: Split, n: int = N_NEGATIVES, seed: int = SEED) -> Negatives:
    """Draw *n* distinct items for each user, uniformly over the rated ones not touched.

    A user who has fewer of them gets all.
    """
    if n < 1:
        raise ValueError(f"expected at least 1 negative, got {n}")
    free = split.n_free()  # (u,)
    rated = np.flatnonzero(split.rated)
    # Positions in `rated`; one past its end stands for nothing, and sorts last.
    width = min(n, int(free.max()))
    drawn = np.full((len(free), width), len(rated), np.int32)
    random = np.random.default_rng(seed)
    order = np.argsort(free, kind="stable")  # users alike in it need about as many draws
    scarce = free[order] - n < len(rated) / 4  # where most draws would be rejected at the end
    for part in _parts(order[scarce], max(1, _CELLS // len(rated))):
        drawn[part] = _shuffled(random, _touched(split, part), len(part), len(rated), width)
    for part in _parts(order[~scarce], _USERS):
        drawn[part] = _rejected(random, _touched(split, part), len(part), len(rated), n)
    drawn.sort(axis=1)
    rows = np.append(rated, -1).astype(np.int32)[drawn]
    return Negatives(split.users, rows, n, seed)


def _parts(places: NDArray[np.intp], step: int) -> Iterator[NDArray[np.intp]]:
    for start in range(0, len(places), step):
        yield places[start : start + step]


def _touched(split: Split, part: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return line x rated items + position of all that some users touched, ascending."""
    touched = split.touched[part].tocoo()
    position = np.cumsum(split.rated) - 1
    keys: NDArray[np.int64] = touched.row * np.int64(split.rated.sum()) + position[touched.col]
    return keys


def _shuffled(
    random: np.random.Generator, touched: NDArray[np.int64], lines: int, n_rated: int, width: int
) -> NDArray[np.intp]:
    """Give every item a random number and take the smallest that are left, ``(lines, width)``."""
    numbers = random.random((lines, n_rated))
    numbers.ravel()[touched] = np.inf
    first = np.argpartition(numbers, width - 1, axis=1)[:, :width]
    return np.where(np.take_along_axis(numbers, first, axis=1) < np.inf, first, n_rated)


def _rejected(
    random: np.random.Generator, touched: NDArray[np.int64], lines: int, n_rated: int, n: int
) -> IntArray:
    """Draw anew what repeats or was touched, until each line has n, ``(lines, n)``.

    One after the other in each line; only the arithmetic is done for all at once.
    """
    drawn = np.empty((lines, 0), np.int32)
    while True:
        more = random.integers(0, n_rated, (lines, n // 2 + n), np.int32)
        drawn = np.hstack([drawn, more])
        order = np.argsort(drawn, axis=1, kind="stable")  # the first of equal ones stays first
        ordered = np.take_along_axis(drawn, order, axis=1)
        keys = ordered + np.arange(lines)[:, None] * np.int64(n_rated)
        found = np.minimum(np.searchsorted(touched, keys), len(touched) - 1)
        fits = touched[found] != keys
        fits[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
        fresh = np.empty_like(fits)
        np.put_along_axis(fresh, order, fits, axis=1)
        so_far = np.cumsum(fresh, axis=1)
        if so_far[:, -1].min() >= n:
            kept: IntArray = drawn[fresh & (so_far <= n)].reshape(lines, n)
            return kept


def find_negatives(name: str, split: Split, n: int = N_NEGATIVES, seed: int = SEED) -> Negatives:
    """Return the kept negatives of a data set, or draw and keep them.

    A file that is damaged is drawn anew.

    Args:
        name: of the data set, for the name of the file.
    """
    path = negatives_path(name, split, n, seed)
    kept = _load(path, split, n, seed)
    if kept is not None:
        return kept
    negatives = draw_negatives(split, n, seed)
    _save(negatives, path)
    return negatives


def negatives_path(name: str, split: Split, n: int, seed: int) -> Path:
    """Return where negatives are kept, by all that they depend on."""
    digest = hashlib.sha256(f"negatives {n} {seed} {len(split.rated)}".encode())
    for part in (split.users, split.touched.indptr, split.touched.indices, split.rated):
        digest.update(part.astype("<i8").tobytes())
    return settings().truths / f"{name}-{digest.hexdigest()[:16]}.negatives.npz"


def _save(negatives: Negatives, path: Path) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("wb") as file:
                np.savez_compressed(
                    file, users=negatives.users, rows=negatives.rows, hash=np.array(negatives.hash)
                )
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot keep the negatives in {path.parent}: {error.strerror or error}; "
            "set RECDEMO_HOME to a folder you own"
        ) from error


def _load(path: Path, split: Split, n: int, seed: int) -> Negatives | None:
    """Read kept negatives; None where there are none, or not these."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            negatives = Negatives(stored["users"], stored["rows"], n, seed)
            intact = negatives.hash == str(stored["hash"])
    except (*UNREADABLE, KeyError):
        return None
    return negatives if intact and np.array_equal(negatives.users, split.users) else None
