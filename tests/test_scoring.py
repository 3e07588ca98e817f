import itertools

import ir_measures
import numpy as np
import pytest

from recdemo.scoring.recall import score_lists
from recdemo.scoring.statistics import bootstrap_means, intervals
from recdemo.truth import Truth


def truth_of(lists: list[list[int]], k: int, n_items: int) -> Truth:
    neighbors = np.full((n_items, k), -1, np.int32)
    for row, items in enumerate(lists):
        neighbors[row, : len(items[:k])] = items[:k]
    rated = np.ones(n_items, bool)
    return Truth("jaccard", neighbors, np.zeros((n_items, k), np.float32), rated, 9)


def score(truth_list, found, distances, ks, n_items=30):
    truth = truth_of([truth_list], max(ks), n_items)
    queries = np.array([0], np.int32)
    lists = [(np.array([found], np.int32), np.array([distances], np.float32))]
    return score_lists(truth, queries, lists, ks)


def test_without_ties_recall_is_the_share_of_the_truth_found():
    scores = score([1, 2, 3, 4], [9, 2, 1, 8, 3], [1, 2, 3, 4, 5], (2, 4))
    assert scores.recall.tolist() == [[1 / 2, 2 / 4]]  # at 2 only 1 and 2 are relevant


def test_without_ties_ndcg_is_the_textbook_number():
    scores = score([1, 2, 3], [9, 2, 1], [1, 2, 3], (3,))
    ideal = 1 + 1 / np.log2(3) + 1 / 2
    assert scores.ndcg[0, 0] == pytest.approx((1 / np.log2(3) + 1 / 2) / ideal)


def test_a_truth_list_shorter_than_k_divides_by_its_own_length():
    scores = score([1, 2], [1, 7, 8, 9], [1, 2, 3, 4], (4,))
    assert scores.recall[0, 0] == 1 / 2
    assert scores.ndcg[0, 0] == pytest.approx(1 / (1 + 1 / np.log2(3)))


def test_items_tied_at_the_last_place_share_it():
    # One strictly nearer, three at the second distance, K = 2: each counts 1/3.
    scores = score([1, 2], [9, 1, 2, 8], [1, 2, 2, 2], (2,))
    assert scores.recall[0, 0] == pytest.approx((1 / 3 + 1 / 3) / 2)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_a_tie_is_worth_the_mean_over_all_orders(k):
    found, distances = [5, 1, 2, 6, 3, 7], [1, 2, 2, 2, 2, 3]
    truth = [1, 3, 9, 2]
    tied = score(truth, found, distances, (k,))
    orders = [
        score(truth, [5, *order, 7], [1, 2, 3, 4, 5, 6], (k,))
        for order in itertools.permutations(found[1:5])
    ]
    assert tied.recall[0, 0] == pytest.approx(np.mean([o.recall[0, 0] for o in orders]))
    assert tied.ndcg[0, 0] == pytest.approx(np.mean([o.ndcg[0, 0] for o in orders]))


def test_a_constant_vector_scores_chance():
    others = list(range(1, 30))
    scores = score([3, 1, 4, 15, 9, 2, 6, 5, 8, 7], others, [0.0] * 29, (5, 10))
    assert scores.recall[0].tolist() == pytest.approx([5 / 29, 10 / 29])
    assert scores.ndcg[0].tolist() == pytest.approx([5 / 29, 10 / 29])


def test_an_item_without_vector_finds_nothing_and_scores_zero():
    scores = score([1, 2], [-1, -1], [np.inf, np.inf], (2,))
    assert scores.recall[0, 0] == 0
    assert scores.ndcg[0, 0] == 0


def test_parts_of_different_width_are_scored_in_order():
    truth = truth_of([[1], [0], [0]], 1, 3)
    queries = np.array([0, 1, 2], np.int32)
    lists = [
        (np.array([[1]], np.int32), np.array([[1.0]])),
        (np.array([[2, 0], [0, 1]], np.int32), np.array([[1.0, 1.0], [1.0, 2.0]])),
    ]
    assert score_lists(truth, queries, lists, (1,)).recall[:, 0].tolist() == [1, 1 / 2, 1]


def test_lists_that_do_not_cover_the_queries_are_a_mistake():
    truth = truth_of([[1], [0]], 1, 2)
    with pytest.raises(ValueError, match="0 lists for 2 queries"):
        score_lists(truth, np.array([0, 1], np.int32), [], (1,))


def test_random_lists_give_the_recall_of_plain_python_sets():
    random = np.random.default_rng(3)
    found = np.stack([random.permutation(49)[:20] + 1 for _ in range(50)]).astype(np.int32)
    lists = [(random.permutation(49)[:20] + 1).tolist() for _ in range(50)]
    truth = truth_of(lists, 20, 50)
    queries = np.arange(50, dtype=np.int32)
    distances = np.sort(random.random((50, 20)), axis=1)
    scores = score_lists(truth, queries, [(found, distances)], (5, 20))
    for i, k in ((i, k) for i in range(50) for k in (5, 20)):
        expected = len(set(found[i, :k].tolist()) & set(lists[i][:k])) / k
        assert scores.recall[i, (5, 20).index(k)] == pytest.approx(expected)


def test_scores_without_ties_are_those_of_ir_measures():
    random = np.random.default_rng(8)
    lists = [(random.permutation(49)[:20] + 1).tolist() for _ in range(30)]
    found = np.stack([random.permutation(49)[:40] + 1 for _ in range(30)]).astype(np.int32)
    distances = np.sort(random.random((30, 40)), axis=1)
    queries = np.arange(30, dtype=np.int32)
    for k in (5, 20):
        scores = score_lists(truth_of(lists, 20, 50), queries, [(found, distances)], (k,))
        qrels = {str(i): {str(j): 1 for j in lists[i][:k]} for i in range(30)}
        run = {
            str(i): {str(j): -d for j, d in zip(found[i].tolist(), distances[i], strict=True)}
            for i in range(30)
        }
        for measure, values in ((ir_measures.R @ k, scores.recall),
                                (ir_measures.nDCG @ k, scores.ndcg)):  # fmt: skip
            theirs = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
            assert values[:, 0].tolist() == pytest.approx([theirs[str(i)] for i in range(30)])


def test_an_interval_holds_its_own_mean_also_where_nothing_varies():
    random = np.random.default_rng(4)
    values = np.column_stack([random.random(50), np.full(50, 0.1), np.full(50, 1 / 3)])
    for (low, high), mean in zip(intervals(values), values.mean(axis=0), strict=True):
        assert low <= mean <= high


def test_an_interval_is_as_wide_as_the_central_limit_theorem_says():
    values = np.random.default_rng(5).random((400, 1))
    [(low, high)] = intervals(values)
    expected = 2 * 1.96 * values.std() / np.sqrt(400)
    assert high - low == pytest.approx(expected, rel=0.05)


def test_columns_share_their_resamples():
    x = np.random.default_rng(6).random((100, 1))
    means = bootstrap_means(np.hstack([x, x + 1]), resamples=50)
    assert means[:, 1] == pytest.approx(means[:, 0] + 1)


def test_too_few_queries_have_no_interval():
    assert intervals(np.ones((29, 2))) == [None, None]
