"""Stores and collections for tests."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from qdrant_client import QdrantClient

from recdemo.store import (
    Batch,
    CollectionInfo,
    FloatArray,
    IntArray,
    Neighbors,
    VectorStore,
)
from recdemo.store.connection import Connection
from recdemo.store.edge import EdgeStore
from recdemo.store.location import Location
from recdemo.store.server import ServerStore


def open_test_store(kind: str, folder: Path) -> VectorStore:
    """Open a store: ``edge``, or the code of the server store on the client's ``memory``."""
    return EdgeStore(folder) if kind == "edge" else memory_store()


def memory_store(client: QdrantClient | None = None) -> ServerStore:
    """Open the server store on an in-process client, which answers as a server does."""
    location = Location("http://in-process:6333")
    connection = Connection(client or QdrantClient(":memory:"), location, sleep=never)
    connection.greet()
    return ServerStore(connection)


def never(seconds: float) -> None:
    """Fail the test: nothing here is worth a second try."""
    raise AssertionError(f"waited {seconds} s")


def collection(
    name: str = "tiny.card.fake.2.12345678", *, count: int, n_items: int = 5, dimension: int = 2
) -> CollectionInfo:
    """Describe a collection of invented vectors."""
    return CollectionInfo(
        name=name,
        dataset="tiny",
        text="card",
        model="fake:model",
        prefix="",
        dimension=dimension,
        how="native",
        count=count,
        n_items=n_items,
        fingerprint="12345678" * 8,
        texts_hash="0" * 64,
    )


def batch(rows: Sequence[int] | ArrayLike, vectors: ArrayLike) -> Batch:
    """Make a batch with payloads, as the loader does."""
    ids = np.asarray(rows, np.int32)
    payloads = tuple({"item_id": f"m{row}"} for row in ids.tolist())
    return Batch(ids, np.asarray(vectors, np.float32), payloads)


def brute_force(
    vectors: FloatArray, findable: IntArray, with_vector: IntArray, queries: IntArray, k: int
) -> Neighbors:
    """Every distance on its own, in double precision; slow and obvious."""
    found = Neighbors(
        np.full((len(queries), k), -1, np.int32), np.full((len(queries), k), np.inf, np.float32)
    )
    for i, query in enumerate(queries):
        if query not in with_vector:
            continue
        own = vectors[query].astype(float)
        nearest = sorted((float(np.linalg.norm(vectors[row] - own)), row) for row in findable)
        nearest = [(distance, row) for distance, row in nearest if row != query][:k]
        found.distances[i, : len(nearest)] = [distance for distance, _ in nearest]
        found.rows[i, : len(nearest)] = [row for _, row in nearest]
    return found


# Three items on a line, row 2 without a vector, and the nearest of each.
LINE = collection("line.card.fake.2.12345678", count=3, n_items=4)
POINTS = [batch([0, 1, 3], [[0, 0], [0, 1], [0, 3]])]
ROWS: IntArray = np.array([0, 1, 2, 3], np.int32)
NEAREST = [[1], [0], [-1], [1]]


def build_line(folder: Path) -> Path:
    """Build the collection above in an embedded store, and return its folder."""
    EdgeStore(folder).build(LINE, POINTS)
    return folder / LINE.name


def nearest(folder: Path) -> list[list[int]]:
    """Ask the collection above for the nearest of each row."""
    found: list[list[int]] = EdgeStore(folder).neighbors(LINE.name, ROWS, 1).rows.tolist()
    return found


def left_in(folder: Path) -> list[str]:
    """Name what lies in a folder, lock files aside."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")
