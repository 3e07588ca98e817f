"""The ceiling: how well the truth agrees with itself."""

import json
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

import numpy as np
from scipy import sparse

from recdemo.dataset.interactions import IntArray, Interactions
from recdemo.truth import Progress, no_progress, truth_of_users


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How well the truth agrees with itself: what a perfect model could reach.

    The agreement of two sets of lists A and B is |A and B| / |A|, averaged over the items
    with a non-empty list in A. ``lower``: from the two random halves of the users. ``upper``:
    A from all users, B from a bootstrap of the users.
    """

    k: int
    lower: tuple[float, ...]  # one per seed
    upper: tuple[float, ...]
    seeds: tuple[int, ...]


def build_ceiling(
    interactions: Interactions,
    overlap: str,
    k: int,
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4),
    on_progress: Progress = no_progress,
) -> Ceiling:
    """Compute the ceiling at *k*; takes three truths per seed, and one."""
    matrix = interactions.matrix()
    n_users, n_truths = matrix.shape[0], 1 + 3 * len(seeds)
    numbers = count()

    def lists(users: sparse.csr_array) -> IntArray:
        number = next(numbers)

        def tell(done: int, n_items: int) -> None:
            on_progress(number * n_items + done, n_truths * n_items)

        return truth_of_users(users, overlap, k, tell).neighbors

    full = lists(matrix)
    lower, upper = [], []
    for seed in seeds:
        random = np.random.default_rng(seed)
        shuffled = random.permutation(n_users)
        half = n_users // 2
        first, second, drawn = (
            lists(sparse.csr_array(matrix[users]))
            for users in (shuffled[:half], shuffled[half:], random.integers(0, n_users, n_users))
        )
        lower.append(agreement(first, second))
        upper.append(agreement(full, drawn))
    return Ceiling(k, tuple(lower), tuple(upper), seeds)


def agreement(a: IntArray, b: IntArray) -> float:
    """Return |A and B| / |A|, averaged over the items with a non-empty list in *a*.

    Args:
        a: ``(n_items, k)`` lists padded with -1, as is *b*.
    """
    shares = []
    for mine, other in zip(a, b, strict=True):
        own = mine[mine >= 0]
        if len(own):
            shares.append(np.isin(own, other).mean())
    return float(np.mean(shares))


def save_ceiling(ceiling: Ceiling, path: Path) -> None:
    """Write a ceiling as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(ceiling), indent=1) + "\n", encoding="utf-8")


def load_ceiling(path: Path) -> Ceiling:
    """Read a ceiling."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    return Ceiling(
        int(stored["k"]), tuple(stored["lower"]), tuple(stored["upper"]), tuple(stored["seeds"])
    )
