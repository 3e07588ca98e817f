import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau

from recdemo.scoring.comparing import (
    differences,
    holm,
    kendall_tau,
    rank_biased_overlap,
    share_of_range,
    sign_flip_test,
    wins_ties_losses,
)
from recdemo.scoring.statistics import intervals


def column(*values: float) -> np.ndarray:
    return np.array(values, float)[:, None]


def test_p_is_that_of_all_sign_patterns():
    given = [0.5, 0.25, -0.125, 0.75, 0.5, 0.1]
    patterns = list(itertools.product([1, -1], repeat=len(given)))
    means = [abs(np.dot(signs, given)) for signs in patterns]
    exact = np.mean([mean >= abs(sum(given)) - 1e-9 for mean in means])
    assert 0.01 < exact < 0.3
    [p] = sign_flip_test(column(*given))
    assert p == pytest.approx(exact, abs=0.01)


def test_a_flip_that_reaches_the_mean_but_for_rounding_counts():
    # All six differences are equal, so only the two patterns of equal signs reach the mean.
    [p] = sign_flip_test(column(*[0.1] * 6))
    assert p == pytest.approx(2 / 64, abs=0.006)


def test_p_is_never_0_and_a_model_against_itself_has_p_1():
    random = np.random.default_rng(1)
    given = np.column_stack([np.full(200, 0.5), np.zeros(200), random.random(200) - 0.5])
    p = sign_flip_test(given, resamples=99)
    assert p[0] == 1 / 100
    assert p[1] == 1
    assert 0 < p[2] <= 1


def test_p_does_not_depend_on_which_model_comes_first_or_on_the_other_columns():
    given = np.random.default_rng(2).normal(0.1, 1, (100, 3))
    p = sign_flip_test(given, resamples=500)
    assert sign_flip_test(-given, resamples=500).tolist() == p.tolist()
    assert sign_flip_test(given[:, 1:2], resamples=500).tolist() == p[1:2].tolist()


def test_holm_has_its_known_answer():
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([0.5, 0.9, 0.5])).tolist() == [1, 1, 1]
    assert holm(np.array([0.04])).tolist() == [0.04]
    assert holm(np.array([])).tolist() == []


def test_a_difference_of_rounding_is_a_tie():
    difference = differences(np.array([0.1 + 0.2, 0.5, 0.1]), np.array([0.3, 0.1, 0.2]))
    assert difference.tolist() == pytest.approx([0, 0.4, -0.1])
    assert wins_ties_losses(difference) == (1, 1, 1)


def test_the_interval_of_a_difference_is_narrower_than_those_of_the_scores():
    random = np.random.default_rng(3)
    a = random.random(400)
    b = a + random.normal(0.01, 0.02, 400)
    found = np.array(intervals(np.column_stack([b - a, a])))
    assert 0 < found[0, 0] < 0.01 < found[0, 1] < 0.015
    widths = found[:, 1] - found[:, 0]
    assert widths[1] > 10 * widths[0]


def test_the_interval_of_no_difference_is_0():
    assert intervals(np.zeros((40, 1))) == [(0, 0)]


def test_a_share_of_what_is_above_chance():
    assert share_of_range(-0.02, 0.12, 0.02) == pytest.approx(-0.2)
    assert share_of_range(-0.02, 0.02, 0.02) is None


def rbo(first: list[int], second: list[int], p: float = 0.9) -> float:
    width = max(len(first), len(second), 1)
    padded = [np.array([x + [-1] * (width - len(x))], np.int32) for x in (first, second)]
    return float(rank_biased_overlap(padded[0], padded[1], p)[0])


def slow_rbo(first: list[int], second: list[int], p: float) -> float:
    k = min(len(first), len(second))
    agreement = [len(set(first[:d]) & set(second[:d])) / d for d in range(1, k + 1)]
    return agreement[-1] * p**k + (1 - p) / p * sum(a * p**d for d, a in enumerate(agreement, 1))


def test_rank_biased_overlap_of_lists_computed_by_hand():
    # Agreement at depth 1, 2, 3: 0, 1, 2/3. p = 0.5: 2/3 / 8 + (1/4 + 2/3 / 8).
    assert rbo([1, 2, 3], [2, 1, 4], p=0.5) == pytest.approx(5 / 12)


def test_equal_lists_overlap_wholly_and_others_not_at_all():
    assert rbo([3, 1, 2], [3, 1, 2]) == pytest.approx(1)
    assert rbo([3, 1, 2], [4, 5, 6]) == 0
    assert rbo([], []) == 1
    assert rbo([], [1, 2]) == 0


def test_the_first_places_weigh_most():
    base = list(range(20))
    early, late = [1, 0, *base[2:]], [*base[:18], 19, 18]
    assert rbo(base, early) < rbo(base, late) < 1


@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
def test_rank_biased_overlap_is_that_of_plain_python_sets(p):
    random = np.random.default_rng(5)
    lists = [
        (random.permutation(30)[: random.integers(1, 21)].tolist(), random.permutation(30)[:20])
        for _ in range(300)
    ]
    first = np.array([a + [-1] * (20 - len(a)) for a, _ in lists], np.int32)
    second = np.array([b for _, b in lists], np.int32)
    expected = [slow_rbo(a, b.tolist(), p) for a, b in lists]
    assert rank_biased_overlap(first, second, p).tolist() == pytest.approx(expected)
    assert rank_biased_overlap(second, first, p).tolist() == pytest.approx(expected)


def test_kendalls_tau_is_scipys():
    random = np.random.default_rng(6)
    a, b = random.integers(0, 6, (2, 12)).astype(float)
    assert kendall_tau(a, b) == pytest.approx(kendalltau(a, b).statistic)
    assert kendall_tau(a, a) == pytest.approx(1)
    assert kendall_tau(a, -a) == pytest.approx(-1)
    assert np.isnan(kendall_tau(a, np.zeros(12)))
