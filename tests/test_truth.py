import heapq

import numpy as np
import pytest

from recdemo.errors import DatasetError
from recdemo.truth import OVERLAPS, build_truth
from recdemo.truth.ceiling import agreement, build_ceiling, load_ceiling, save_ceiling
from recdemo.truth.files import find_truth, load_truth, save_truth
from tests import tiny

ANT, BEE, CAT, DOG, EEL = range(5)


def test_jaccard_of_hand_counted_users():
    truth = build_truth(tiny.dataset().interactions(), "jaccard", 2)
    assert truth.neighbors[ANT].tolist() == [BEE, CAT]
    assert truth.overlaps[ANT].tolist() == pytest.approx([3 / 4, 1 / 5])
    assert truth.neighbors[CAT].tolist() == [ANT, -1]  # no user in common with Bee or Dog


def test_cosine_and_lift_of_hand_counted_users():
    given = tiny.dataset().interactions()
    assert build_truth(given, "cosine", 1).overlaps[ANT, 0] == pytest.approx(3 / np.sqrt(12))
    assert build_truth(given, "lift", 1).overlaps[ANT, 0] == pytest.approx(3 * 6 / 12)


def test_an_item_that_shares_no_user_is_rated_but_no_query_and_an_unrated_one_is_neither():
    truth = build_truth(tiny.dataset().interactions(), "jaccard", 2)
    assert truth.rated.tolist() == [True, True, True, True, False]
    assert truth.queries.tolist() == [ANT, BEE, CAT]


def test_equal_overlaps_go_to_the_smaller_row():
    truth = build_truth(tiny.interactions([[0]] * 5), "jaccard", 3)
    assert truth.neighbors.tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2]]
    assert (truth.overlaps == 1).all()


def test_overlaps_closer_than_float32_can_tell_are_still_told_apart():
    # 5001/10001 and 5000/9999 differ by 1e-8; near one half float32 resolves 6e-8.
    query = list(range(5001))
    less = query + list(range(5001, 10001))
    more = query[:5000] + list(range(5001, 9999))
    assert np.float32(5001 / 10001) == np.float32(5000 / 9999)
    truth = build_truth(tiny.interactions([query, less, more]), "jaccard", 2)
    assert truth.neighbors[0].tolist() == [2, 1]


def slow_lists(rated_by: list[list[int]], overlap: str, n_users: int, k: int) -> list[list[int]]:
    """Build lists the obvious way: Python sets and a heap per item."""
    sets = [set(users) for users in rated_by]
    lists = []
    for i, own in enumerate(sets):
        scored = []
        for j, other in enumerate(sets):
            common = len(own & other)
            if i == j or not common:
                continue
            value = {
                "jaccard": common / len(own | other),
                "cosine": common**2 / (len(own) * len(other)),
                "lift": common * n_users / (len(own) * len(other)),
            }[overlap]
            scored.append((-value, j))
        lists.append([j for _, j in heapq.nsmallest(k, scored)])
    return lists


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_random_data_gives_the_lists_of_plain_python_sets(overlap, monkeypatch):
    monkeypatch.setattr("recdemo.truth.blocks.PAIRS", 7 * 60)  # 7 items a block
    random = np.random.default_rng(1)
    rated_by = [np.flatnonzero(random.random(40) < share).tolist() for share in random.random(60)]
    rated_by[7] = []
    truth = build_truth(tiny.interactions(rated_by, 40), overlap, 10)
    expected = slow_lists(rated_by, overlap, 40, 10)
    assert [[j for j in line if j >= 0] for line in truth.neighbors.tolist()] == expected


@pytest.mark.parametrize("k", [0, 4, 100])
def test_a_k_that_no_list_can_reach_is_refused(k):
    with pytest.raises(DatasetError, match="below the 4 rated items"):
        build_truth(tiny.dataset().interactions(), "jaccard", k)


def test_an_unknown_overlap_is_refused():
    with pytest.raises(DatasetError, match="'dice'; expected one of jaccard, cosine, lift"):
        build_truth(tiny.dataset().interactions(), "dice", 2)


def test_kept_lists_come_back_the_same(tmp_path):
    given = tiny.dataset()
    truth = build_truth(given.interactions(), "jaccard", 2)
    save_truth(truth, given.catalog.item_ids, tmp_path / "t.npz")
    back = load_truth(tmp_path / "t.npz", given.catalog.item_ids)
    assert back.neighbors.tolist() == truth.neighbors.tolist()
    assert back.overlaps.tolist() == truth.overlaps.tolist()
    assert back.rated.tolist() == truth.rated.tolist()
    assert (back.overlap, back.n_users, back.k) == ("jaccard", 6, 2)


def test_lists_of_another_catalog_and_damaged_files_are_refused(tmp_path):
    given = tiny.dataset()
    path = tmp_path / "t.npz"
    save_truth(build_truth(given.interactions(), "jaccard", 2), given.catalog.item_ids, path)
    with pytest.raises(DatasetError, match="another catalog"):
        load_truth(path, ("x", "y", "z", "v", "w"))
    whole = path.read_bytes()
    for damaged in (b"", b"not a zip", whole[:200], whole[:-30]):
        path.write_bytes(damaged)
        with pytest.raises(DatasetError, match="cannot read the truth lists"):
            load_truth(path, given.catalog.item_ids)


def test_kept_lists_that_were_cut_short_are_built_anew(home):
    first = find_truth(tiny.dataset(), "jaccard", 2)
    [kept] = (home / "truths").iterdir()
    kept.write_bytes(kept.read_bytes()[:200])
    again = find_truth(tiny.dataset(), "jaccard", 2)
    assert again.neighbors.tolist() == first.neighbors.tolist()
    assert load_truth(kept, tiny.dataset().catalog.item_ids).k == first.k


def test_agreement_counts_only_items_with_a_list():
    a = np.array([[1, 2], [0, -1], [-1, -1]], np.int32)
    b = np.array([[2, 3], [0, 5], [0, 1]], np.int32)
    assert agreement(a, b) == pytest.approx((1 / 2 + 1) / 2)


def test_the_ceiling_is_seeded_and_comes_back_from_its_file(tmp_path):
    random = np.random.default_rng(2)
    rated_by = [np.flatnonzero(random.random(200) < 0.3).tolist() for _ in range(30)]
    given = tiny.interactions(rated_by, 200)
    told = []
    ceiling = build_ceiling(given, "jaccard", 5, (0, 1), lambda *step: told.append(step))
    assert told == sorted(told)
    assert told[-1] == (7 * 30, 7 * 30)  # three truths a seed, and one
    assert build_ceiling(given, "jaccard", 5, seeds=(0, 1)) == ceiling
    assert 0 < max(ceiling.lower) < max(ceiling.upper) < 1
    save_ceiling(ceiling, tmp_path / "c.json")
    assert load_ceiling(tmp_path / "c.json") == ceiling
