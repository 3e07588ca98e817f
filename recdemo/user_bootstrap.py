"""How much scores would move with other users: the truth from resampled users, scored anew.

The item bootstrap answers "other items, same users". Here users are drawn with replacement, the
truth lists are computed from them, and the same predictions are scored against those. Truth from
resampled users is noisier than the full truth, so scores against it lie lower, and a percentile
interval would leave out its own point estimate. Only the standard error is reported.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from recdemo.dataset import Dataset
from recdemo.errors import DatasetError
from recdemo.protocols import OVERLAP, lists_of, score_lists_of
from recdemo.runs import Run
from recdemo.store import Neighbors, VectorStore
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
    matrix = dataset.interactions().matrix()
    full = {truth.overlap: truth for truth in truths}
    rows = [row for row in run.rows if row.protocol == OVERLAP]
    lists = [lists_of(store, row.collection, full[row.truth], max(run.ks)) for row in rows]
    values: list[list[dict[str, float]]] = [[] for _ in rows]
    for seed in range(resamples):
        drawn = np.random.default_rng(seed).integers(0, matrix.shape[0], matrix.shape[0])
        users = sparse.csr_array(matrix[drawn])
        resampled = {
            overlap: truth_of_users(users, overlap, truth.k) for overlap, truth in full.items()
        }
        for row, found, means in zip(rows, lists, values, strict=True):
            means.append(_means(found, full[row.truth], resampled[row.truth], run.ks))
        on_progress(seed + 1, resamples)
    errors = {id(row): _standard_errors(means) for row, means in zip(rows, values, strict=True)}
    return replace(
        run,
        rows=tuple(
            replace(row, user_standard_error=errors[id(row)]) if id(row) in errors else row
            for row in run.rows
        ),
    )


def _means(
    lists: Sequence[Neighbors], full: Truth, resampled: Truth, ks: tuple[int, ...]
) -> dict[str, float]:
    """Score the same predictions against the truth of a resample, on its own queries."""
    kept = resampled.neighbors[full.queries, 0] >= 0
    asked, start = [], 0
    for part in lists:
        inside = kept[start : start + len(part.rows)]
        start += len(part.rows)
        asked.append(Neighbors(part.rows[inside], part.distances[inside]))
    scores = score_lists_of(asked, resampled, ks)
    return {
        f"{measure}@{k}": value
        for measure in ("recall", "ndcg")
        for k, value in scores.means(measure).items()
    }


def _standard_errors(means: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.std([m[name] for m in means], ddof=1)) for name in means[0]}
