"""Runs with invented scores per query, for tests of what is made of runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recdemo.runs import DatasetFacts, Row, Run, Seconds
from recdemo.scoring.recall import Scores

FACTS = DatasetFacts("tiny", 50, 41, 6, 99)


def row(label: str, recall: Sequence[float] | np.ndarray, k: int = 10, **other: Any) -> Row:
    """Return the row of ``provider:name@dimension`` with these scores at *k*, and half at 1."""
    model, _, dimension = label.partition("@")
    values = np.asarray(recall, float)
    both = np.column_stack([values / 2, values])
    scores = Scores(np.arange(len(values), dtype=np.int32), (1, k), both, both / 4)
    values_of: dict[str, Any] = {
        "model": model,
        "dimension": int(dimension),
        "how": "native",
        "text": "card",
        "truth": "jaccard",
        "protocol": "overlap",
        "queries": len(values),
        "without_vector": 0,
        "recall": scores.means("recall"),
        "ndcg": scores.means("ndcg"),
        "interval": {},
        "bytes_per_item": 4 * int(dimension),
        "seconds": Seconds(0.0, 0.1, 0.5),
        "cost_usd": 0.0,
        "collection": f"c.{label}",
        "fingerprint": label,
        "scores": scores,
    }
    return Row(**values_of | other)


def run(*rows: Row, id: str = "r1", ks: Sequence[int] = (1, 10), **other: Any) -> Run:
    """Return a run of these rows."""
    given: Mapping[str, Any] = {
        "id": id,
        "created": "2026-01-01T00:00:00+00:00",
        "recdemo": "0",
        "dataset": FACTS,
        "store": "embedded",
        "ks": tuple(ks),
        "chance": {k: k / 40 for k in ks},
        "ceiling": None,
        "rows": rows,
        "skipped": (),
        "published": (),
    }
    return Run(**{**given, **other})
