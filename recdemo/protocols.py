"""Protocols: how a collection is asked, and what its answers are held against.

``overlap`` asks for the neighbors of every rated item and compares them with its truth list.
``one-shot`` asks how near the next item of a user is to the one before: among a sample of other
items, and (``one-shot-full``) among all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from recdemo.neighbors import nearest_with_ties
from recdemo.one_shot import Task
from recdemo.one_shot import score_collection as score_one_shot
from recdemo.scoring.oneshot import K, OneShotScores, Ties
from recdemo.scoring.recall import Scores, score_lists
from recdemo.store import Candidates, Neighbors, VectorStore
from recdemo.truth import Truth

OVERLAP, ONE_SHOT, ONE_SHOT_FULL = "overlap", "one-shot", "one-shot-full"
PROTOCOLS = (OVERLAP, ONE_SHOT)


@dataclass(frozen=True, slots=True, eq=False)
class Judgment:
    """The scores of one collection by one truth or sample."""

    protocol: str
    truth: str  # jaccard, cosine or lift; "" where there are no truth lists
    scores: Scores
    without_vector: int = 0  # queries that score 0 for want of a vector
    chance: Mapping[str, float] = field(default_factory=dict)  # where it is the row's own


class Judge(Protocol):
    """Scores collections, all in the same way."""

    @property
    def ks(self) -> tuple[int, ...]:
        """The Ks scored at."""
        ...

    @property
    def n_queries(self) -> int:
        """How many items, or users, are asked for."""
        ...

    @property
    def n_rated(self) -> int:
        """How many items may be found."""
        ...

    def judge(self, store: VectorStore, name: str) -> list[Judgment]:
        """Score a collection."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """Neighbors against truth lists, one or several."""

    truths: tuple[Truth, ...]  # lists at least as long as the largest K
    ks: tuple[int, ...]

    @property
    def n_queries(self) -> int:
        """The items with a truth list."""
        return len(self.truths[0].queries)

    @property
    def n_rated(self) -> int:
        """The items with an interaction."""
        return self.truths[0].n_rated

    def judge(self, store: VectorStore, name: str) -> list[Judgment]:
        """Score a collection against all truths; it is asked once where they ask the same."""
        found: list[Judgment] = []
        lists: list[Neighbors] = []
        asked: Truth | None = None
        for truth in self.truths:
            if asked is None or not _same_questions(asked, truth):
                lists, asked = lists_of(store, name, truth, max(self.ks)), truth
            scores = score_lists_of(lists, truth, self.ks)
            found.append(Judgment(OVERLAP, truth.overlap, scores, _without_vector(lists)))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class OneShot:
    """The next item of each user, ranked by its distance from the one before."""

    task: Task
    ties: Ties = "expected"
    ks: tuple[int, ...] = (K,)

    @property
    def n_queries(self) -> int:
        """The users with two interactions or more."""
        return len(self.task.split.users)

    @property
    def n_rated(self) -> int:
        """The items with an interaction."""
        return int(self.task.split.rated.sum())

    def judge(self, store: VectorStore, name: str) -> list[Judgment]:
        """Score a collection among the sample, and among all rated items."""
        answer = score_one_shot(store, name, self.task, self.ties, self.ks[0])
        return [_one_shot(ONE_SHOT, answer.sampled), _one_shot(ONE_SHOT_FULL, answer.full)]

    def facts(self) -> dict[str, Any]:
        """Return what a reader of the scores must know of the split and the sample."""
        split, negatives = self.task.split, self.task.negatives
        return {
            "users": len(split.users),
            "users_with_fewer_than_two_interactions": split.n_few,
            "targets_decided_by_a_timestamp_tie": split.tie_share,
            "shots": split.histories.shape[1],
            "negatives": negatives.n,
            "negatives_hash": negatives.hash,
            "seed": negatives.seed,
            "ties": self.ties,
        }


def _one_shot(protocol: str, found: OneShotScores) -> Judgment:
    chance = {f"recall@{found.k}": found.chance["hit"], f"ndcg@{found.k}": found.chance["ndcg"]}
    return Judgment(protocol, "", found.scores(), found.n_no_target, chance)


def lists_of(store: VectorStore, name: str, truth: Truth, k: int) -> list[Neighbors]:
    """Ask a collection for the neighbors of every query item of *truth*, ties settled."""
    candidates = Candidates(truth.rated)
    return list(nearest_with_ties(store, name, truth.queries, k, candidates))


def score_lists_of(lists: Sequence[Neighbors], truth: Truth, ks: tuple[int, ...]) -> Scores:
    """Score what `lists_of` found against the truth."""
    return score_lists(truth, truth.queries, ((n.rows, n.distances) for n in lists), ks)


def score_collection(store: VectorStore, name: str, truth: Truth, ks: tuple[int, ...]) -> Scores:
    """Ask a collection for the neighbors of every query item and score them."""
    return score_lists_of(lists_of(store, name, truth, max(ks)), truth, ks)


def _without_vector(lists: Sequence[Neighbors]) -> int:
    """Count the queries that found nothing at all: only one without a vector does."""
    return sum(int((part.rows[:, 0] < 0).sum()) for part in lists)


def _same_questions(a: Truth, b: Truth) -> bool:
    return np.array_equal(a.queries, b.queries) and np.array_equal(a.rated, b.rated)
