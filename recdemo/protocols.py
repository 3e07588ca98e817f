"""Protocols: how a collection is asked, and what its answers are held against."""

from collections.abc import Sequence

import numpy as np

from recdemo.neighbors import nearest_with_ties
from recdemo.scoring.recall import Scores, score_lists
from recdemo.store import Candidates, Neighbors, VectorStore
from recdemo.truth import Truth

OVERLAP = "overlap"


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


def score_truths(
    store: VectorStore, name: str, truths: Sequence[Truth], ks: tuple[int, ...]
) -> list[Scores]:
    """Score a collection against several truths; it is asked once where they ask the same."""
    found: list[Scores] = []
    lists: list[Neighbors] = []
    asked: Truth | None = None
    for truth in truths:
        if asked is None or not _same_questions(asked, truth):
            lists, asked = lists_of(store, name, truth, max(ks)), truth
        found.append(score_lists_of(lists, truth, ks))
    return found


def _same_questions(a: Truth, b: Truth) -> bool:
    return np.array_equal(a.queries, b.queries) and np.array_equal(a.rated, b.rated)
