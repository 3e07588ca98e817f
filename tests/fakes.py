"""Fakes that keep the contracts of the real parts."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recdemo.store import (
    EXACT,
    PLAIN,
    Batch,
    Candidates,
    CollectionInfo,
    CollectionStatus,
    IntArray,
    Layout,
    Neighbors,
    Search,
)


class MemoryStore:
    """A store that computes every distance with NumPy, float64, one query at a time.

    Ties at the last place go to the LARGER row on purpose: nothing may rely on the engine.
    """

    def __init__(self) -> None:
        self.kept: dict[str, tuple[CollectionInfo, IntArray, np.ndarray]] = {}
        self.builds = 0

    def build(
        self, info: CollectionInfo, batches: Iterable[Batch], *, layout: Layout = PLAIN
    ) -> None:
        if info.name in self.kept:
            return
        given = list(batches)
        rows = np.concatenate([batch.rows for batch in given])
        vectors = np.concatenate([batch.vectors for batch in given])
        order = np.argsort(rows)
        self.kept[info.name] = (replace(info, complete=True), rows[order], vectors[order])
        self.builds += 1

    def neighbors(
        self,
        name: str,
        rows: IntArray,
        k: int,
        *,
        candidates: Candidates | None = None,
        search: Search = EXACT,
    ) -> Neighbors:
        _, stored, vectors = self.kept[name]
        found = np.full((len(rows), k), -1, np.int32)
        distances = np.full((len(rows), k), np.inf, np.float32)
        for i, row in enumerate(rows):
            if row not in stored:
                continue
            own = vectors[np.searchsorted(stored, row)].astype(np.float64)
            away = np.sqrt(((vectors.astype(np.float64) - own) ** 2).sum(axis=1))
            away = away.astype(np.float32)
            may = stored != row
            if candidates is not None:
                may &= candidates.mask[stored]
            order = np.lexsort((-stored[may], away[may]))[:k]
            kept_rows, kept = stored[may][order], away[may][order]
            order = np.lexsort((kept_rows, kept))
            found[i, : len(order)], distances[i, : len(order)] = kept_rows[order], kept[order]
        return Neighbors(found, distances)

    def seconds(
        self, name: str, rows: IntArray, k: int, *, search: Search = EXACT
    ) -> NDArray[np.float64]:
        return np.full(len(rows), 0.001)

    def read(self, name: str, *, payloads: bool = False) -> Iterator[Batch]:
        _, rows, vectors = self.kept[name]
        for start in range(0, len(rows), 2):
            yield Batch(rows[start : start + 2], vectors[start : start + 2])

    def status(self, name: str) -> CollectionStatus:
        _, rows, vectors = self.kept[name]
        return CollectionStatus(vectors.nbytes, len(rows), 0, "complete")

    def collections(self) -> list[CollectionInfo]:
        return [self.kept[name][0] for name in sorted(self.kept)]

    def delete(self, name: str) -> None:
        del self.kept[name]

    def versions(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        pass


def info(name: str, n_items: int, dimension: int) -> CollectionInfo:
    return CollectionInfo(
        name=name,
        dataset="tiny",
        text="synopsis",
        model="fake:model",
        prefix="",
        dimension=dimension,
        how="native",
        count=n_items,
        n_items=n_items,
        fingerprint="f" * 64,
        texts_hash="t" * 64,
    )


def filled(vectors: np.ndarray, name: str = "c") -> MemoryStore:
    """Return a store with one collection of these vectors, row by row."""
    store = MemoryStore()
    rows = np.arange(len(vectors), dtype=np.int32)
    batch = Batch(rows, np.asarray(vectors, np.float32))
    store.build(info(name, len(vectors), vectors.shape[1]), [batch])
    return store
