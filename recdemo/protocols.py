"""Protocols: how a collection is asked, and what its answers are held against.

``overlap`` asks for the neighbors of every rated item and compares them with its truth list.
``one-shot`` asks how near the next item of a user is to the one before: among a sample of other
items, and (``one-shot-full``) among all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recdemo.neighbors import nearest_with_ties
from recdemo.one_shot import Task
from recdemo.one_shot import score_collection as score_one_shot
from recdemo.scoring.oneshot import K, OneShotScores, Ties
from recdemo.scoring.recall import Scores, Tally, score_lists
from recdemo.scoring.sampling import Sample, Strata
from recdemo.store import Candidates, IntArray, Neighbors, VectorStore
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

    def light(self) -> "Judge":
        """Return the same judge with no more than judging needs, to be sent to a process."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """Neighbors against truth lists, one or several."""

    truths: tuple[Truth, ...]  # lists at least as long as the largest K
    ks: tuple[int, ...]
    sample: Sample | None = None  # of the query items, which all truths must have the same

    @property
    def n_queries(self) -> int:
        """The items with a truth list, or those of them that were drawn."""
        return len(self._queries(self.truths[0]))

    @property
    def n_rated(self) -> int:
        """The items with an interaction."""
        return self.truths[0].n_rated

    def judge(self, store: VectorStore, name: str) -> list[Judgment]:
        """Score a collection against all truths; it is asked once where they ask the same."""
        return self.light().judge(store, name)

    def light(self) -> "OverlapQuestions":
        """Return what is asked and with which answers it is compared, and no more."""
        strata = None if self.sample is None else self.sample.strata
        asked = tuple(
            Question(
                truth.overlap,
                queries := self._queries(truth),
                truth.neighbors[queries, : max(self.ks)],
                truth.rated,
            )
            for truth in self.truths
        )
        return OverlapQuestions(asked, self.ks, strata)

    def _queries(self, truth: Truth) -> IntArray:
        return truth.queries if self.sample is None else self.sample.queries


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is asked, and the lists that the answers are held against."""

    overlap: str  # jaccard, cosine or lift
    queries: IntArray  # (q,) rows
    lists: IntArray  # (q, K) their truth lists
    rated: NDArray[np.bool_]  # (n_items,) the candidates

    def same(self, other: "Question") -> bool:
        """Whether the other asks the same, whatever its lists."""
        asks = np.array_equal(self.queries, other.queries)
        return asks and np.array_equal(self.rated, other.rated)


@dataclass(frozen=True, slots=True, eq=False)
class OverlapQuestions:
    """An `Overlap` without what judging does not need."""

    questions: tuple[Question, ...]
    ks: tuple[int, ...]
    strata: Strata | None = None

    @property
    def n_queries(self) -> int:
        """The items that are asked for."""
        return len(self.questions[0].queries)

    @property
    def n_rated(self) -> int:
        """The items with an interaction."""
        return int(self.questions[0].rated.sum())

    def judge(self, store: VectorStore, name: str) -> list[Judgment]:
        """Score a collection; it is asked once for questions that are the same."""
        found: list[Judgment] = []
        for group in _together(self.questions):
            queries, rated = group[0].queries, group[0].rated
            tallies = [
                Tally(each.lists, len(rated), queries, self.ks, self.strata) for each in group
            ]
            without_vector = 0
            for part in ask(store, name, rated, queries, max(self.ks)):
                # only a query without a vector finds nothing at all
                without_vector += int((part.rows[:, 0] < 0).sum())
                for tally in tallies:
                    tally.add(part.rows, part.distances)
            found += [
                Judgment(OVERLAP, each.overlap, tally.scores(), without_vector)
                for each, tally in zip(group, tallies, strict=True)
            ]
        return found

    def light(self) -> "OverlapQuestions":
        """Return itself."""
        return self


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

    def light(self) -> "OneShot":
        """Return itself: all of it is needed."""
        return self

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


def ask(
    store: VectorStore, name: str, rated: NDArray[np.bool_], queries: IntArray, k: int
) -> Iterator[Neighbors]:
    """Ask a collection for the neighbors of query items among the rated ones, ties settled."""
    return nearest_with_ties(store, name, queries, k, Candidates(rated))


def score_collection(store: VectorStore, name: str, truth: Truth, ks: tuple[int, ...]) -> Scores:
    """Ask a collection for the neighbors of every query item and score them."""
    lists = ask(store, name, truth.rated, truth.queries, max(ks))
    return score_lists(truth, truth.queries, ((n.rows, n.distances) for n in lists), ks)


def _together(questions: Sequence[Question]) -> list[list[Question]]:
    """Return the questions, those one after the other that are the same together."""
    groups: list[list[Question]] = []
    for question in questions:
        if groups and groups[-1][0].same(question):
            groups[-1].append(question)
        else:
            groups.append([question])
    return groups
