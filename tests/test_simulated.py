"""What intervals and tests promise, on many sets whose truth is known.

Scores are like recall: shares of 100 found, from items some of which are hard for all models.
"""

import hashlib

import numpy as np
import pytest

from recdemo.scoring.comparing import holm, sign_flip_test
from recdemo.scoring.sampling import Strata
from recdemo.scoring.statistics import intervals

pytestmark = pytest.mark.slow

SETS, ITEMS, RESAMPLES = 4_000, 200, 1_000
ROUNDS = 5  # of 4,000 sets: one round scatters by 0.4 %, too much for a band of 1 % each way
K = 100
LEVEL = 0.05
MEAN = 1 / 6  # of Beta(1, 5), from which the ease of an item is drawn
CATALOG, STRATA = 1_000, 10  # items that the 200 are drawn from, where they are a sample


@pytest.fixture
def random(request) -> np.random.Generator:
    """A generator seeded by the name of the test, so that no seed is chosen by its result."""
    return np.random.default_rng(_seed(request.node.name))


@pytest.fixture
def seed(request) -> int:
    return _seed(request.node.name) + 1


def _seed(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6])


def ease(random: np.random.Generator) -> np.ndarray:
    return random.beta(1, 5, (ITEMS, SETS))


def scores(random: np.random.Generator, ease: np.ndarray) -> np.ndarray:
    return random.binomial(K, ease) / K


def share_covered(
    values: np.ndarray, mean: float | np.ndarray, seed: int, strata: Strata | None = None
) -> float:
    """Return in how many sets the interval holds the true mean."""
    low, high = np.array(intervals(values, RESAMPLES, seed, strata)).T
    return float(((low <= mean) & (mean <= high)).mean())


def sampled(random: np.random.Generator, catalogs: np.ndarray) -> np.ndarray:
    """Draw equally many of each stratum of each catalog, ``(200, sets)``, by stratum.

    Args:
        catalogs: ``(1000, sets)``, the least popular items first.
    """
    by_stratum = catalogs.reshape(STRATA, -1, catalogs.shape[1])
    numbers = random.random(by_stratum.shape, np.float32)
    drawn = np.argpartition(numbers, ITEMS // STRATA, axis=1)[:, : ITEMS // STRATA]
    return np.take_along_axis(by_stratum, drawn, axis=1).reshape(ITEMS, -1)


SAMPLE = Strata(np.repeat(np.arange(STRATA, dtype=np.int16), ITEMS // STRATA), CATALOG)


def three_standard_errors(n: int) -> float:
    return 3 * float(np.sqrt(LEVEL * (1 - LEVEL) / n))


def test_the_interval_of_a_score_holds_the_true_mean_in_95_of_100_sets(random, seed):
    covered = [share_covered(scores(random, ease(random)), MEAN, seed + i) for i in range(ROUNDS)]
    assert 0.94 <= np.mean(covered) <= 0.96


def test_the_paired_interval_holds_the_true_difference_in_95_of_100_sets(random, seed):
    covered = []
    for i in range(ROUNDS):
        shared = ease(random)
        difference = scores(random, shared * 0.9) - scores(random, shared)
        covered.append(share_covered(difference, -0.1 * MEAN, seed + i))
    assert 0.94 <= np.mean(covered) <= 0.96


@pytest.mark.parametrize("noise", [0.0, 0.3], ids=["popularity tells all", "or some"])
def test_the_interval_of_a_sample_holds_the_mean_of_catalogs_like_it_in_95_of_100(
    noise, random, seed
):
    covered, of_catalog = [], []
    for i in range(ROUNDS):
        ease = random.beta(1, 5, (CATALOG, SETS))
        popularity = ease + noise * random.random(ease.shape)
        order = np.argsort(popularity, axis=0)
        catalogs = scores(random, np.take_along_axis(ease, order, axis=0))
        drawn = sampled(random, catalogs)
        covered.append(share_covered(drawn, MEAN, seed + i, SAMPLE))
        of_catalog.append(share_covered(drawn, catalogs.mean(axis=0), seed + i, SAMPLE))
    assert 0.94 <= np.mean(covered) <= 0.96
    assert np.mean(of_catalog) >= 0.95  # of what the whole run would give, it is a wide one


def test_the_paired_interval_of_a_sample_holds_the_difference_in_95_of_100(random, seed):
    covered = []
    for i in range(ROUNDS):
        shared = np.sort(random.beta(1, 5, (CATALOG, SETS)), axis=0)
        difference = scores(random, shared * 0.9) - scores(random, shared)
        drawn = sampled(random, difference)
        covered.append(share_covered(drawn, -0.1 * MEAN, seed + i, SAMPLE))
    assert 0.94 <= np.mean(covered) <= 0.96


def test_the_paired_test_finds_a_difference_that_is_not_there_in_5_of_100_sets(random, seed):
    shared = ease(random)
    p = sign_flip_test(scores(random, shared) - scores(random, shared), RESAMPLES, seed)
    assert (p <= LEVEL).mean() == pytest.approx(LEVEL, abs=three_standard_errors(SETS))


def test_the_paired_test_finds_a_difference_that_is_there(random, seed):
    shared = ease(random)
    p = sign_flip_test(scores(random, shared * 0.9) - scores(random, shared), RESAMPLES, seed)
    assert (p <= LEVEL).mean() > 0.95


def test_with_holm_one_family_of_five_in_20_holds_a_difference_that_is_not_there(random, seed):
    shared = ease(random)
    p = sign_flip_test(scores(random, shared) - scores(random, shared), RESAMPLES, seed)
    adjusted = np.array([holm(family) for family in p.reshape(-1, 5)])
    found = (adjusted.min(axis=1) <= LEVEL).mean()
    assert found == pytest.approx(LEVEL, abs=three_standard_errors(SETS // 5))
