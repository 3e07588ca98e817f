"""Reading a collection of a server from its first row to its last."""

from collections.abc import Iterator

import numpy as np

from recdemo.store import Batch, CollectionInfo, IntArray, remote
from recdemo.store.connection import Connection


def scroll(
    connection: Connection, info: CollectionInfo, limit: int, *, vectors: bool, payloads: bool
) -> Iterator[Batch]:
    """Yield all points in the order of their rows, *limit* at a time; a gap is an error."""
    came, offset = 0, None
    while came < info.count:
        told = connection.attempt(
            lambda offset=offset: connection.client.scroll(  # type: ignore[misc]
                info.name, limit=limit, offset=offset,
                with_payload=payloads, with_vectors=vectors,
            )
        )  # fmt: skip
        points, offset = told or ([], None)
        rows: IntArray = np.array([point.id for point in points], np.int32)
        came += len(rows)
        if (np.diff(rows) <= 0).any() or (offset is None and came != info.count):
            raise remote.damaged(info.name, connection.location.url)
        held = [point.vector for point in points] if vectors else np.zeros((len(rows), 0))
        kept = tuple(point.payload or {} for point in points) if payloads else None
        yield Batch(rows, np.array(held, np.float32), kept)
