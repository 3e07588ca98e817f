"""Truth lists block by block: here, or where there is much to do in a process per processor.

All processes read the same files, mapped into memory, so what users touched is in memory once
however many processes there are.
"""

import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout
from scipy import sparse

from recdemo.errors import StoreError
from recdemo.processes import Processes, n_processors
from recdemo.truth.blocks import Lists, Touched, blocks_of, lists_of, work_of

MUCH = 1.5e9  # additions for which starting processes pays: a few seconds of work
MOST = 16  # processes
PREFIX, ALIVE = "recdemo-truth-", "alive.lock"  # of temporary folders, and held in each
LOST = (
    "a process that built truth lists was ended from outside, perhaps for want of memory; "
    "try again with more of it, or with fewer processors"
)


def all_lists(
    touched: Touched, overlap: str, k: int, on_progress: Callable[[int, int], None]
) -> Lists:
    """Return the lists of all items."""
    n_items = len(touched.counts)
    work = work_of(touched)
    blocks = blocks_of(work)
    workers = min(n_processors(), len(blocks), MOST)
    much = workers > 1 and work.sum() >= MUCH
    here = (lists_of(touched, overlap, k, *block) for block in blocks)
    found = _beside(touched, overlap, k, blocks, workers) if much else here
    lists = Lists(np.empty((n_items, k), np.int32), np.empty((n_items, k), np.float32))
    with closing(found):  # at once when interrupted between two blocks, too
        for (start, stop), part in zip(blocks, found, strict=True):
            lists.neighbors[start:stop], lists.overlaps[start:stop] = part.neighbors, part.overlaps
            on_progress(stop, n_items)
    return lists


def _beside(
    touched: Touched, overlap: str, k: int, blocks: list[tuple[int, int]], workers: int
) -> Generator[Lists]:
    """Yield the lists of the blocks in their order, made by other processes."""
    with _own_folder() as folder:
        _share(touched, folder)
        with Processes(workers, _prepare, (folder, overlap, k), LOST) as processes:
            yield from processes.in_order(_work, blocks)


@contextmanager
def _own_folder() -> Iterator[Path]:
    """Make a temporary folder, and remove those of processes that were killed."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{ALIVE}"):
        with suppress(Timeout, OSError), FileLock(lock, timeout=0):
            shutil.rmtree(lock.parent)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder, FileLock(Path(folder, ALIVE)):
        yield Path(folder)


def _share(touched: Touched, folder: Path) -> None:
    """Write what all processes read; the ones and zeros of both ways round are the same."""
    arrays = {
        "ones": touched.by_user.data,
        "counts": touched.counts,
        "users": touched.by_user.indptr,
        "items": touched.by_user.indices,
        "items_of": touched.by_item.indptr,
        "users_of": touched.by_item.indices,
    }
    try:
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
    except OSError as error:
        size = sum(array.nbytes for array in arrays.values()) / 1e6
        raise StoreError(
            f"cannot write {size:,.0f} MB to {folder.parent}: {error.strerror or error}; set "
            "TMPDIR to a folder with more room"
        ) from error


def _shared(folder: Path) -> Touched:
    read = {path.stem: np.load(path, mmap_mode="r") for path in folder.glob("*.npy")}
    n_users, n_items = len(read["users"]) - 1, len(read["items_of"]) - 1
    return Touched(
        sparse.csr_array((read["ones"], read["items"], read["users"]), (n_users, n_items)),
        sparse.csr_array((read["ones"], read["users_of"], read["items_of"]), (n_items, n_users)),
        read["counts"],
    )


# What a process needs for all its work, set once when it starts.
_touched_here: Touched
_overlap_here: str
_k_here: int


def _prepare(folder: Path, overlap: str, k: int) -> None:
    global _touched_here, _overlap_here, _k_here
    _touched_here, _overlap_here, _k_here = _shared(folder), overlap, k


def _work(start: int, stop: int) -> Lists:
    return lists_of(_touched_here, _overlap_here, _k_here, start, stop)
