import itertools
import math
from dataclasses import replace

import ir_measures
import numpy as np
import pytest

from recdemo import one_shot
from recdemo.dataset import open_dataset
from recdemo.embedding import open_embedder, parse_model
from recdemo.errors import EmbeddingError
from recdemo.scoring import oneshot
from recdemo.scoring.negatives import draw_negatives
from recdemo.scoring.oneshot import score_one_shot
from recdemo.scoring.split import split
from recdemo.texts import fill
from tests import fakes, tiny
from tests.tiny import behavior


def score(vectors, parts, negatives=None, missing=(), **options):
    vectors = np.array(vectors, np.float32).reshape(len(vectors), -1)
    has_vector = ~np.isin(np.arange(len(vectors)), missing)
    return score_one_shot(vectors, has_vector, parts, negatives, **options)


# User 0 touched 0 and then 1; the 99 others, 2 to 100, are all negatives there can be.
HUNDRED = split(behavior([[0, 1], range(2, 101)], 101))


def hundred(target: float, others=range(1, 100), sampled: bool = True, **options):
    """Score user 0, whose history stands at 0, for a target at this distance."""
    negatives = draw_negatives(HUNDRED) if sampled else None
    scores = score([0, target, *others], HUNDRED, negatives, **options)
    return scores.ndcg[0], scores.hit[0]


@pytest.mark.parametrize("sampled", [True, False])
@pytest.mark.parametrize(
    ("rank", "ndcg"), [(1, 1), (2, 0.63093), (3, 0.5), (10, 0.28906), (11, 0), (100, 0)]
)
def test_the_place_of_the_target_gives_the_textbook_number(rank, ndcg, sampled):
    found, hit = hundred(rank - 0.5, sampled=sampled)
    assert found == pytest.approx(ndcg, abs=5e-6)
    assert hit == (rank <= 10)


@pytest.mark.parametrize("sampled", [True, False])
def test_equal_vectors_score_chance_and_the_ends_are_far_apart(sampled):
    same = {"target": 0, "others": [0] * 99, "sampled": sampled}
    assert hundred(**same) == pytest.approx((0.04544, 0.1), abs=5e-6)
    assert hundred(**same, ties="pessimistic") == (0, 0)
    assert hundred(**same, ties="optimistic") == (1, 1)


@pytest.mark.parametrize("sampled", [True, False])
def test_a_tie_is_worth_the_mean_of_the_places_it_spans(sampled):
    others = [0.1] * 8 + [0.5] * 5 + [2] * 86  # places 9 to 14, two of them among the first 10
    ndcg, hit = hundred(0.5, others, sampled)
    assert ndcg == pytest.approx((1 / math.log2(10) + 1 / math.log2(11)) / 6)
    assert hit == pytest.approx(2 / 6)
    assert hundred(0.5, others, sampled, ties="pessimistic") == (0, 0)
    assert hundred(0.5, others, sampled, ties="optimistic") == pytest.approx((1 / math.log2(10), 1))


def test_an_unknown_rule_for_ties_is_a_mistake():
    with pytest.raises(ValueError, match="unknown ties 'lucky'"):
        hundred(1, ties="lucky")


def test_chance_is_that_of_the_own_number_of_candidates():
    parts = split(behavior([[0, 1], [2, 3]], 4))
    scores = score([0, 1, 5, 9], parts, k=2)  # three candidates each, the target among them
    worth = 1 + 1 / math.log2(3)
    assert scores.chance == pytest.approx({"ndcg": worth / 3, "hit": 2 / 3})
    # User 1 of the hundred has only two negatives, so the first 10 hold every candidate.
    scores = score(range(101), HUNDRED, draw_negatives(HUNDRED))
    assert scores.chance["hit"] == pytest.approx((10 / 100 + 1) / 2)


@pytest.mark.parametrize("sampled", [True, False])
def test_a_target_without_any_other_candidate_is_found(sampled):
    parts = split(behavior([[0, 1], [1, 0]], 2))
    scores = score([0, 1], parts, draw_negatives(parts) if sampled else None)
    assert scores.ndcg.tolist() == [1, 1]
    assert scores.chance == {"ndcg": 1, "hit": 1}


@pytest.mark.parametrize("sampled", [True, False])
def test_items_without_vector_are_missed_passed_over_and_counted(sampled):
    parts = split(behavior([[0, 1], [2, 3], [3, 0], [4, 5]], 6))
    negatives = draw_negatives(parts) if sampled else None
    scores = score([0, 1, 9, 9, 0.5, 0.2], parts, negatives, missing=[1, 2, 5])
    assert scores.users.tolist() == [0, 2, 3]  # user 1 has a history without vector
    assert (scores.n_no_history, scores.n_no_target) == (1, 2)
    assert scores.ndcg.tolist() == [0, pytest.approx(1 / math.log2(3)), 0]  # 4 is nearer to 3
    assert scores.scores().means("recall") == {10: pytest.approx(1 / 3)}


def test_a_shot_without_vector_is_passed_over_where_another_has_one():
    parts = split(behavior([[0, 1, 2], [3, 4]], 5), shots=2)
    scores = score([0, 0, 3, 2, 4], parts, missing=[1])
    assert scores.users.tolist() == [0, 1]
    assert scores.ndcg[0] == pytest.approx(1 / math.log2(3))


@pytest.mark.parametrize("sampled", [True, False])
def test_the_same_distances_in_another_order_are_a_tie(sampled):
    orders = list(itertools.permutations([0.1, 0.2, 0.7]))  # from three unit vectors
    parts = split(behavior([[0, 1, 2, 3], range(4, 9)], 9), shots=3)
    vectors = [*np.eye(3), *orders]
    negatives = draw_negatives(parts) if sampled else None
    for ties, place in (("optimistic", 1), ("pessimistic", 6)):
        scores = score(vectors, parts, negatives, ties=ties)
        assert scores.ndcg[0] == pytest.approx(1 / math.log2(place + 1))


def test_a_model_without_any_history_vector_cannot_be_scored():
    with pytest.raises(EmbeddingError, match="no history item"):
        score([0, 1, 2], split(behavior([[0, 1]], 3)), missing=[0])


def test_negatives_of_other_users_are_a_mistake():
    parts = split(behavior([[0, 1], [2, 3]], 4))
    other = replace(draw_negatives(parts), users=np.array([0, 2], np.int32))
    with pytest.raises(ValueError, match="other users"):
        score([0, 1, 2, 3], parts, other)


def plainly(vectors, lists, candidates, missing, shots, k=10):
    """Score with plain loops: the newest last in each list, candidates of each user."""
    scores = {}
    for user, rows in enumerate(lists):
        history = [row for row in rows[-1 - shots : -1] if row not in missing]
        if not history:
            continue
        away = {
            row: sum(sorted(math.dist(vectors[row], vectors[other]) for other in history))
            for row in [*candidates[user], rows[-1]]
            if row not in missing
        }
        own = away.pop(rows[-1], math.inf)
        nearer = sum(distance < own for distance in away.values())
        equal = sum(distance == own for distance in away.values())
        places = range(nearer + 1, nearer + equal + 2)
        worth = [1 / math.log2(p + 1) if p <= k and own < math.inf else 0 for p in places]
        scores[user] = sum(worth) / len(worth)
    return scores


@pytest.mark.parametrize("shots", [1, 3])
@pytest.mark.parametrize("sampled", [True, False])
@pytest.mark.parametrize("kind", ["whole", "real", "far", "close", "twins"])
def test_random_data_give_the_numbers_of_plain_loops(kind, sampled, shots):
    random = np.random.default_rng(11)
    vectors = {
        "whole": random.integers(0, 4, (70, 3)),  # many ties between different vectors
        "real": random.standard_normal((70, 13)),
        "far": 1e4 + random.integers(0, 3, (70, 2)),  # where a matrix product rounds
        "close": np.vstack([[1e4, 0], random.integers(0, 7, (69, 2)) * 1e-4]),  # as above
        "twins": random.standard_normal((9, 301))[random.integers(0, 9, 70)],
    }[kind].astype(np.float32)
    lists = [random.permutation(60)[: random.integers(2, 25)].tolist() for _ in range(80)]
    missing = {3, 14, 15, 65}
    parts = split(behavior(lists, 70), shots)
    negatives = draw_negatives(parts, 25) if sampled else None
    rated = set(np.flatnonzero(parts.rated).tolist())
    candidates = [
        negatives.rows[user].tolist() if negatives else sorted(rated - set(rows))
        for user, rows in enumerate(lists)
    ]
    expected = plainly(vectors.astype(float).tolist(), lists, candidates, missing, shots)
    scores = score(vectors, parts, negatives, missing=list(missing))
    assert scores.users.tolist() == list(expected)
    assert scores.ndcg.tolist() == pytest.approx(list(expected.values()), abs=1e-12)


@pytest.mark.parametrize("sampled", [True, False])
def test_nothing_depends_on_how_many_are_computed_at_once(sampled, monkeypatch):
    random = np.random.default_rng(13)
    lists = [random.permutation(60)[:9].tolist() for _ in range(50)]
    parts = split(behavior(lists, 60), shots=2)
    negatives = draw_negatives(parts) if sampled else None
    vectors = random.integers(0, 3, (60, 3))
    at_once = score(vectors, parts, negatives)
    monkeypatch.setattr(oneshot, "PAIR_BYTES", 7 * 8 * 3)
    monkeypatch.setattr(oneshot, "BLOCK_BYTES", 7 * 8 * 60)
    assert score(vectors, parts, negatives).ndcg.tolist() == at_once.ndcg.tolist()


def test_scores_without_ties_are_those_of_ir_measures():
    random = np.random.default_rng(12)
    vectors = random.standard_normal((150, 8)).astype(np.float32)
    lists = [random.permutation(150)[:30].tolist() for _ in range(40)]
    parts = split(behavior(lists, 150))
    negatives = draw_negatives(parts)
    scores = score(vectors, parts, negatives)
    qrels = {str(user): {str(rows[-1]): 1} for user, rows in enumerate(lists)}
    run = {
        str(user): {
            str(row): -float(np.linalg.norm(vectors[row] - vectors[rows[-2]]))
            for row in [rows[-1], *negatives.rows[user].tolist()]
        }
        for user, rows in enumerate(lists)
    }
    for measure, values in ((ir_measures.nDCG @ 10, scores.ndcg),
                            (ir_measures.Success @ 10, scores.hit)):  # fmt: skip
        theirs = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
        assert values.tolist() == pytest.approx([theirs[str(user)] for user in range(40)])


def test_a_collection_is_scored_among_the_sample_and_among_all(home):
    given = behavior([[0, 1], [2, 0], [4, 2, 0]], 5)
    data = replace(tiny.dataset(), interactions=lambda: given)
    task = one_shot.prepare(data, n=1)
    answer = one_shot.score_collection(fakes.filled(np.array([[0], [1], [2], [3], [0]])), "c", task)
    assert answer.full.ndcg.tolist() == score([0, 1, 2, 3, 0], task.split).ndcg.tolist()
    assert answer.sampled.chance["hit"] == answer.full.chance["hit"] == 1
    assert one_shot.prepare(data, n=1).negatives.hash == task.negatives.hash


def test_on_movielens_the_baselines_have_the_numbers_of_a_slow_program(real_data, home):
    data = open_dataset(str(real_data / "ml-1m.zip"))
    task = one_shot.prepare(data)
    assert (len(task.split.users), task.split.n_few) == (6040, 0)
    has_vector = np.ones(len(data), bool)
    texts = fill(data.catalog, "card")
    for name, sampled, full in (
        ("genre-year", 0.18667, 0.02092),
        ("popularity", 0.15667, 0.00726),
    ):
        [embedded] = open_embedder(parse_model(f"baseline:{name}"), data, texts).embed(texts.values)
        for negatives, expected in ((task.negatives, sampled), (None, full)):
            scores = score_one_shot(embedded.vectors, has_vector, task.split, negatives)
            assert scores.ndcg.mean() == pytest.approx(expected, abs=6e-6)
