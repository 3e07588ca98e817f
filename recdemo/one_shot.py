"""The one-shot protocol on a collection: what is drawn once for all models, and scored for each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset import Dataset
from recdemo.scoring.negatives import N_NEGATIVES, SEED, Negatives, find_negatives
from recdemo.scoring.oneshot import K, OneShotScores, Ties, score_one_shot
from recdemo.scoring.split import Split, split
from recdemo.store import VectorStore


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What every model is asked, the same for all of them."""

    split: Split
    negatives: Negatives


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The scores of one model, among the sample and among all rated items."""

    sampled: OneShotScores
    full: OneShotScores


def prepare(dataset: Dataset, shots: int = 1, n: int = N_NEGATIVES, seed: int = SEED) -> Task:
    """Split the interactions of a data set, and find or draw its negatives."""
    parts = split(dataset.interactions(), shots)
    return Task(parts, find_negatives(dataset.name, parts, n, seed))


def score_collection(
    store: VectorStore, name: str, task: Task, ties: Ties = "expected", k: int = K
) -> Answer:
    """Score the vectors of a collection."""
    vectors, has_vector = read_vectors(store, name, len(task.split.rated))
    return Answer(
        sampled=score_one_shot(vectors, has_vector, task.split, task.negatives, ties, k),
        full=score_one_shot(vectors, has_vector, task.split, None, ties, k),
    )


def read_vectors(
    store: VectorStore, name: str, n_items: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Read a collection: vectors ``(n_items, dimension)``, and which items have one."""
    batches = list(store.read(name))
    dimension = batches[0].vectors.shape[1] if batches else 1
    vectors = np.zeros((n_items, dimension), np.float32)
    has_vector = np.zeros(n_items, bool)
    for batch in batches:
        vectors[batch.rows], has_vector[batch.rows] = batch.vectors, True
    return vectors, has_vector
