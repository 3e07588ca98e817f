"""Copies of a collection in other layouts, which an index study makes and removes again."""

import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from recdemo.store import STUDY, Batch, CollectionInfo, Layout, VectorStore

DEAD = timedelta(days=1)  # no study takes as long


@contextmanager
def copied(
    store: VectorStore, info: CollectionInfo, rated: NDArray[np.bool_], layout: Layout
) -> Iterator[CollectionInfo]:
    """Have the rated items of a collection in another layout for a while."""
    copy = _copy_of(info, layout, sum(int(rated[b.rows].sum()) for b in store.read(info.name)))
    try:
        store.build(copy, _rated(store, info, rated), layout=layout)
        yield copy
    finally:  # after Ctrl-C, too
        if any(each.name == copy.name for each in store.collections()):
            store.delete(copy.name)


def _rated(store: VectorStore, info: CollectionInfo, rated: NDArray[np.bool_]) -> Iterator[Batch]:
    for batch in store.read(info.name):
        may = rated[batch.rows]
        yield Batch(batch.rows[may], batch.vectors[may])


def _copy_of(info: CollectionInfo, layout: Layout, count: int) -> CollectionInfo:
    """Name a copy; two studies of the same collection do not meet."""
    own = json.dumps([info.fingerprint, asdict(layout), secrets.token_hex(8)])
    fingerprint = hashlib.sha256(own.encode()).hexdigest()
    return replace(
        info,
        name=f"{info.name}{STUDY}{fingerprint[:8]}",
        fingerprint=fingerprint,
        count=count,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        complete=False,
    )


def remove_dead(store: VectorStore) -> None:
    """Remove what studies left that were killed; a younger copy may be another's at work."""
    limit = (datetime.now(UTC) - DEAD).isoformat(timespec="seconds")
    for each in store.collections():
        if each.is_study and each.created < limit:
            store.delete(each.name)
