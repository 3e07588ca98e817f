"""Runs: every evaluation is kept as a JSON file, with the per-query values beside it."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from recdemo.errors import StoreError
from recdemo.scoring.recall import Scores
from recdemo.settings import settings

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """The size of what was evaluated."""

    name: str
    items: int
    rated: int
    users: int
    interactions: int


@dataclass(frozen=True, slots=True)
class Seconds:
    """Wall-clock seconds; None where the collection was there already."""

    embed: float | None
    load: float | None
    query: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One row of the result table."""

    model: str  # provider:name
    dimension: int
    how: str
    text: str
    truth: str  # jaccard, cosine or lift
    protocol: str
    queries: int
    without_vector: int  # queries that score 0 for want of a vector
    recall: Mapping[int, float]  # K -> mean over queries
    ndcg: Mapping[int, float]
    interval: Mapping[str, tuple[float, float] | None]  # "recall@100" -> 95 %
    bytes_per_item: int
    seconds: Seconds
    cost_usd: float | None
    collection: str
    fingerprint: str
    prefix: str = ""
    revision: str = ""
    note: str = ""
    scores: Scores | None = None  # per query; in the .npz of the run

    @property
    def label(self) -> str:
        """``provider:name@dimension``."""
        return f"{self.model}@{self.dimension}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A model of a suite that could not run, and why."""

    model: str
    reason: str


@dataclass(frozen=True, slots=True)
class Published:
    """A row of a published study; other texts, so beside the measured ones, not among them."""

    model: str
    dimension: int
    recall: Mapping[int, float]
    source: str


@dataclass(frozen=True, slots=True)
class CeilingFacts:
    """How well the truth agrees with itself, one number per seed."""

    k: int
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One evaluation."""

    id: str
    created: str  # ISO 8601, UTC
    recdemo: str
    dataset: DatasetFacts
    store: str
    ks: tuple[int, ...]
    chance: Mapping[int, float]  # K -> Recall@K of a model that knows nothing
    ceiling: CeilingFacts | None
    rows: tuple[Row, ...]  # best first
    skipped: tuple[Skipped, ...]
    published: tuple[Published, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)  # what to ask for to run it again
    versions: Mapping[str, str] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)

    @property
    def headline(self) -> int:
        """The K that rows are sorted by: 100, or the largest."""
        return 100 if 100 in self.ks else max(self.ks)


def new_id(now: datetime) -> str:
    """Return the id of a run: its time, so that ids sort, and four random letters."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"


def as_json(run: Run) -> dict[str, Any]:
    """Return a run as plain values; keys as in ``recdemo evaluate --format json``."""
    plain = {
        "schema": SCHEMA,
        "recdemo": run.recdemo,
        "id": run.id,
        "created": run.created,
        "dataset": asdict(run.dataset),
        "store": run.store,
        "ks": list(run.ks),
        "chance": _by_k(run.chance),
        "ceiling": None if run.ceiling is None else asdict(run.ceiling),
        "rows": [_row(row) for row in run.rows],
        "skipped": [asdict(skipped) for skipped in run.skipped],
        "published": [asdict(row) | {"recall": _by_k(row.recall)} for row in run.published],
        "settings": dict(run.settings),
        "versions": dict(run.versions),
        "hashes": dict(run.hashes),
    }
    return plain


def _row(row: Row) -> dict[str, Any]:
    plain = {name: getattr(row, name) for name in Row.__dataclass_fields__ if name != "scores"}
    plain["recall"], plain["ndcg"] = _by_k(row.recall), _by_k(row.ndcg)
    plain["interval"] = dict(row.interval)
    plain["seconds"] = asdict(row.seconds)
    return plain


def _by_k(values: Mapping[int, float]) -> dict[str, float]:
    return {str(k): value for k, value in values.items()}


def write_run(run: Run) -> Path:
    """Keep a run: ``<id>.json``, and per-query values in ``<id>.npz``, written first."""
    folder = settings().runs
    path = folder / f"{run.id}.json"
    arrays: dict[str, Any] = {}
    for i, row in enumerate(run.rows):
        if row.scores is not None:
            arrays |= {
                f"queries.{i}": row.scores.queries,
                f"recall.{i}": row.scores.recall,
                f"ndcg.{i}": row.scores.ndcg,
            }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path.with_suffix(".npz"), **arrays)
        partial = path.with_suffix(".json.part")
        partial.write_text(json.dumps(as_json(run), indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise StoreError(f"cannot keep the run in {folder}: {error.strerror or error}") from error
    return path
