"""Rows and vectors of an embedded collection, in two NumPy files beside the engine's own.

They are kept a second time because the engine needs half a second to give back what a
memory-mapped file gives at once: vectors to query with, and those that settle ties.
"""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from recdemo.store import Batch, CollectionInfo, FloatArray, IntArray
from recdemo.store.arriving import Arrivals
from recdemo.store.files import ROWS, VECTORS, damaged, file_errors, sync

_UNSORTED = "unsorted.npy"
_PART_BYTES = 8 * 2**20  # of vectors read or written at a time


class PointsWriter:
    """Writes the points of a collection as they arrive, and sorts them by row in the end.

    Plain writes, not a memory-mapped file: on a full disk those raise an error, while the
    other ends the process. The points are never all in memory.
    """

    def __init__(self, path: Path, info: CollectionInfo) -> None:
        self._path, self._info = path, info
        self._rows: list[IntArray] = []
        self._arrivals = Arrivals(info)
        self._file = _create(path / VECTORS, info)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, batch: Batch) -> None:
        """Write the points of *batch*; a row that came before is a mistake."""
        self._arrivals.add(batch)
        self._rows.append(batch.rows.astype(np.int32))
        with file_errors(self._path):
            batch.vectors.astype(np.float32, copy=False).tofile(self._file)

    def finish(self) -> None:
        """Write the rows, and put the vectors into their order."""
        rows = np.concatenate([np.zeros(0, np.int32), *self._rows])
        self._arrivals.check_all_came()
        with file_errors(self._path):
            sync(self._file)
            self._file.close()
            order = np.argsort(rows)
            if (rows[order] != rows).any():
                self._sort(order)
            with (self._path / ROWS).open("wb") as file:
                np.save(file, rows[order])
                sync(file)

    def _sort(self, order: NDArray[np.intp]) -> None:
        unsorted = self._path / _UNSORTED
        (self._path / VECTORS).rename(unsorted)
        vectors: FloatArray = np.load(unsorted, mmap_mode="r")
        with _create(self._path / VECTORS, self._info) as file:
            for part in _parts(self._info):
                vectors[order[part]].tofile(file)
            sync(file)
        del vectors  # Windows does not delete what is mapped
        unsorted.unlink()


def _create(path: Path, info: CollectionInfo) -> IO[bytes]:
    header = {"descr": "<f4", "fortran_order": False, "shape": (info.count, info.dimension)}
    with file_errors(path):
        file = path.open("wb")
        np.lib.format.write_array_header_1_0(file, header)
    return file


def open_points(path: Path, info: CollectionInfo) -> tuple[IntArray, FloatArray]:
    """Return the rows ``(count,)`` and the memory-mapped vectors ``(count, dimension)``."""
    with file_errors(path):
        try:
            rows: IntArray = np.load(path / ROWS)
            # an empty file cannot be mapped
            vectors: FloatArray = np.load(path / VECTORS, mmap_mode="r" if info.count else None)
        except (FileNotFoundError, ValueError, EOFError) as error:  # cut short, or not NumPy's
            raise damaged(path) from error
    if rows.shape != (info.count,) or vectors.shape != (info.count, info.dimension):
        raise damaged(path)
    if rows.dtype != np.int32 or vectors.dtype != np.float32:
        raise damaged(path)
    return rows, np.asarray(vectors)  # np.memmap is slow to index


def read_points(path: Path, info: CollectionInfo) -> Iterator[Batch]:
    """Yield all points in the order of their rows."""
    rows, vectors = open_points(path, info)
    for part in _parts(info):
        yield Batch(rows[part], np.array(vectors[part]))


def _parts(info: CollectionInfo) -> Iterator[slice]:
    step = max(1, _PART_BYTES // (4 * info.dimension))
    for start in range(0, info.count, step):
        yield slice(start, start + step)
