"""How much scores would move with other users: the truth from resampled users, scored anew.

The item bootstrap answers "other items, same users". Here users are drawn with replacement, the
truth lists are computed from them, and the same predictions are scored against those. Truth from
resampled users is noisier than the full truth, so scores against it lie lower, and a percentile
interval would leave out its own point estimate. Only the standard error is reported.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from recdemo.dataset import Dataset
from recdemo.errors import DatasetError
from recdemo.protocols import OVERLAP, ask
from recdemo.runs import Run
from recdemo.scoring.recall import Scores, Tally
from recdemo.store import IntArray, Neighbors, VectorStore
from recdemo.truth import Progress, Truth, no_progress, truth_of_users

FEWEST = 2  # a standard error needs two resamples


def with_user_bootstrap(
    run: Run,
    dataset: Dataset,
    store: VectorStore,
    truths: Sequence[Truth],
    resamples: int,
    on_progress: Progress = no_progress,
) -> Run:
    """Return the run with the standard error of every overlap score over *resamples*."""
    if resamples < FEWEST:
        raise DatasetError(f"a user bootstrap needs at least {FEWEST} resamples, not {resamples}")
    full = {truth.overlap: truth for truth in truths}
    rows = [row for row in run.rows if row.protocol == OVERLAP]
    steps = resamples + len(rows)
    lists: dict[str, list[IntArray]] = {overlap: [] for overlap in full}  # one per resample
    queries = {row.truth: row.known_scores.queries for row in rows}
    matrix = dataset.interactions().matrix()
    for seed in range(resamples):
        drawn = np.random.default_rng(seed).integers(0, matrix.shape[0], matrix.shape[0])
        users = sparse.csr_array(matrix[drawn])
        for overlap, truth in full.items():
            resampled = truth_of_users(users, overlap, truth.k)
            lists[overlap].append(resampled.neighbors[queries[overlap]])
        on_progress(seed + 1, steps)
    errors = {}
    for i, row in enumerate(rows, 1):
        asked = ask(store, row.collection, full[row.truth].rated, queries[row.truth], max(run.ks))
        found = _score_all(asked, lists[row.truth], queries[row.truth], len(dataset), run.ks)
        errors[id(row)] = _standard_errors(list(map(_means, found)))
        on_progress(resamples + i, steps)
    return replace(
        run,
        rows=tuple(
            replace(row, user_standard_error=errors[id(row)]) if id(row) in errors else row
            for row in run.rows
        ),
    )


def _score_all(
    asked: Iterable[Neighbors],
    resampled: Sequence[IntArray],
    queries: IntArray,
    n_items: int,
    ks: tuple[int, ...],
) -> list[Scores]:
    """Score the same predictions against each truth, on the queries that have a list in it.

    Args:
        resampled: truth lists of the queries, ``(q, K)`` each.
    """
    kept = [lists[:, 0] >= 0 for lists in resampled]
    tallies = [
        Tally(lists[inside], n_items, queries[inside], ks)
        for lists, inside in zip(resampled, kept, strict=True)
    ]
    start = 0
    for part in asked:
        for tally, inside in zip(tallies, kept, strict=True):
            own = inside[start : start + len(part.rows)]
            tally.add(part.rows[own], part.distances[own])
        start += len(part.rows)
    return [tally.scores() for tally in tallies]


def _means(scores: Scores) -> dict[str, float]:
    return {
        f"{measure}@{k}": value
        for measure in ("recall", "ndcg")
        for k, value in scores.means(measure).items()
    }


def _standard_errors(means: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.std([m[name] for m in means], ddof=1)) for name in means[0]}
