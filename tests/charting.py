"""Runs with invented numbers, for tests of charts and reports."""

from dataclasses import replace
from typing import Any

from recdemo.runs import CeilingFacts, DatasetFacts, Published, Row, Run, Seconds


def row(model: str, dimension: int, recall: float, **fields) -> Row:
    values: dict[str, Any] = {
        "how": "native",
        "text": "synopsis",
        "truth": "jaccard",
        "protocol": "overlap",
        "queries": 40,
        "without_vector": 0,
        "ndcg": {100: recall},
        "interval": {"recall@100": (recall - 0.01, recall + 0.01)},
        "bytes_per_item": 4 * dimension,
        "seconds": Seconds(None, None, 0.1),
        "cost_usd": None,
        "collection": f"c-{model}-{dimension}",
        "fingerprint": "f" * 64,
    }
    return Row(model=model, dimension=dimension, recall={100: recall}, **values | fields)


def run(*rows: Row, **fields) -> Run:
    made = Run(
        id="20260101T000000-aaaa",
        created="2026-01-01T00:00:00+00:00",
        recdemo="0.1.0",
        dataset=DatasetFacts("tiny", 50, 40, 6, 300),
        store="embedded",
        ks=(100,),
        chance={100: 0.03},
        ceiling=None,
        rows=rows,
        skipped=(),
        published=(),
    )
    return replace(made, **fields)


def study() -> Run:
    """A run with everything: a baseline, two dimensions, a single model, published rows."""
    return run(
        row("baseline:genre-year", 19, 0.19),
        row("openai:large", 256, 0.16, how="matryoshka"),
        row("openai:large", 64, 0.12, how="matryoshka"),
        row("ollama:small", 96, 0.1),
        ceiling=CeilingFacts(100, (0.44, 0.46), (0.7, 0.72), (0, 1)),
        published=(
            Published("openai:large", 64, {100: 0.11}, "a study"),
            Published("openai:large", 3072, {100: 0.17}, "a study"),
        ),
    )
