"""Points on their way into a store: each row once, as many as promised, in parts that fit."""

import json
from collections.abc import Iterator

import numpy as np

from recdemo.store import Batch, CollectionInfo

_NUMBER = 26  # bytes of a float32 written as the decimal digits of a double, at most
_POINT = 64  # bytes of a point beside its numbers and payload


class Arrivals:
    """Counts the points of a collection that is being built."""

    def __init__(self, info: CollectionInfo) -> None:
        self._info = info
        self._seen = np.zeros(info.n_items, bool)

    def add(self, batch: Batch) -> None:
        """Note the rows of *batch*; one that came before is a mistake."""
        rows, times = np.unique(batch.rows, return_counts=True)
        again = rows[(times > 1) | self._seen[rows]]
        if len(again):
            raise ValueError(f"{self._info.name}: row {again[0]} came twice")
        self._seen[batch.rows] = True

    def check_all_came(self) -> None:
        """Refuse to end with more or fewer points than promised."""
        came = int(self._seen.sum())
        if came != self._info.count:
            raise ValueError(f"{self._info.name}: expected {self._info.count} points, {came} came")


def parts(batch: Batch, most_bytes: int) -> Iterator[Batch]:
    """Cut a batch into parts below *most_bytes* each as JSON; at least a point at a time."""
    payloads = batch.payloads or ({},) * len(batch.rows)
    start, size = 0, 0
    for i in range(len(batch.rows)):
        own = _NUMBER * batch.vectors.shape[1] + _POINT + len(json.dumps(dict(payloads[i])))
        if size + own > most_bytes and i > start:
            yield Batch(batch.rows[start:i], batch.vectors[start:i], payloads[start:i])
            start, size = i, 0
        size += own
    if start < len(batch.rows):
        yield Batch(batch.rows[start:], batch.vectors[start:], payloads[start:])
