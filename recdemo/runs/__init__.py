"""Runs: what one evaluation found, as plain values."""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from recdemo.scoring.recall import Scores
from recdemo.scoring.sampling import Stratum

SAME = 1e-6  # scores that differ by less are equal: the last digits depend on the machine


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


@dataclass(frozen=True, slots=True)
class Slice:
    """The score of a row on some of its queries."""

    by: str  # popularity, or the field
    name: str  # as in "1-10" or "Comedy"
    queries: int
    recall: Mapping[int, float]
    ndcg: Mapping[int, float]
    interval: Mapping[str, tuple[float, float] | None]


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
    tokens: int = 0  # used by the service
    chance: Mapping[str, float] = field(default_factory=dict)  # where a row has its own
    user_standard_error: Mapping[str, float] = field(default_factory=dict)  # of a user bootstrap
    slices: tuple[Slice, ...] = ()
    scores: Scores | None = None  # per query; in the .npz of the run

    @property
    def label(self) -> str:
        """``provider:name@dimension``."""
        return f"{self.model}@{self.dimension}"

    @property
    def known_scores(self) -> Scores:
        """The scores per query, of a row that was just made; else they may be gone."""
        if self.scores is None:
            raise ValueError(f"{self.label} has no scores per query")
        return self.scores


@dataclass(frozen=True, slots=True)
class Skipped:
    """A model of a suite that could not run, and why."""

    model: str
    reason: str


def by_reason(skipped: Sequence[Skipped]) -> list[tuple[str, str]]:
    """Return each reason once, after the models that it holds for: models, reason.

    Dimensions of one model are drawn together, and a reason that names them counts as one.
    """
    groups: dict[str, list[Skipped]] = {}
    for row in skipped:
        model, _, dimension = row.model.partition("@")
        same = row.reason.replace(row.model, model)
        if dimension:
            same = re.sub(rf"\bnot {dimension}\b", "not that many", same)
        groups.setdefault(same, []).append(row)
    return [(_names(rows), reason) for reason, rows in groups.items()]


def _names(rows: Sequence[Skipped]) -> str:
    dimensions: dict[str, list[str]] = {}
    for row in rows:
        model, _, dimension = row.model.partition("@")
        dimensions.setdefault(model, []).extend([dimension] if dimension else [])
    return ", ".join(
        f"{model}@{','.join(dict.fromkeys(found))}" if found else model
        for model, found in dimensions.items()
    )


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


@dataclass(frozen=True, slots=True)
class TruthFacts:
    """What one truth allows at worst and at best."""

    chance: Mapping[int, float]  # K -> Recall@K of a model that knows nothing
    ceiling: CeilingFacts | None


@dataclass(frozen=True, slots=True)
class SampleFacts:
    """Which query items were asked, where not all were."""

    n: int
    of: int  # query items in all
    seed: int
    strata: tuple[Stratum, ...]  # by popularity, the least popular first


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
    truths: Mapping[str, TruthFacts] = field(default_factory=dict)  # overlap -> its own facts
    tau: Mapping[str, float] = field(default_factory=dict)  # "jaccard/lift" -> Kendall's tau-b
    one_shot: Mapping[str, Any] = field(default_factory=dict)  # split and sample, if used
    sample: SampleFacts | None = None  # None: all query items were asked
    settings: Mapping[str, Any] = field(default_factory=dict)  # what to ask for to run it again
    versions: Mapping[str, str] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)

    @property
    def headline(self) -> int:
        """The K that rows are sorted by: 100, or the largest."""
        return headline_of(self.ks)

    @property
    def measure(self) -> str:
        """The measure that rows are sorted by: recall, or ndcg of the one-shot protocol."""
        return "ndcg" if self.one_shot else "recall"

    def score(self, row: Row) -> float:
        """The score that a row is sorted by."""
        return (row.ndcg if self.one_shot else row.recall)[self.headline]


def headline_of(ks: Sequence[int]) -> int:
    """Return the K that rows are sorted by: 100, or the largest."""
    return 100 if 100 in ks else max(ks)


def new_id(now: datetime) -> str:
    """Return the id of a run: its time, so that ids sort, and four random letters."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"


def differences(a: Run, b: Run) -> list[str]:
    """Say in which hashes and scores two runs differ; scores as far as digits mean anything."""
    found = [
        f"the hash of the {name} differs"
        for name in a.hashes
        if b.hashes.get(name) not in (None, a.hashes[name])
    ]
    theirs = {(row.label, row.text, row.truth, row.protocol): row for row in b.rows}
    for row in a.rows:
        other = theirs.get((row.label, row.text, row.truth, row.protocol))
        if other is None:
            found.append(f"{row.label} did not run")
            continue
        for name in ("recall", "ndcg"):
            mine, other_values = getattr(row, name), getattr(other, name)
            if any(abs(value - other_values.get(k, -1)) > SAME for k, value in mine.items()):
                found.append(f"{name} of {row.label} differs")
    return found
