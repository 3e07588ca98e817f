"""The invented data sets of the benchmarks are what they promise to be."""

import numpy as np
import pytest

from recdemo.dataset import open_dataset
from recdemo.truth import build_truth
from tests.benchmarks import generate
from tests.benchmarks.generate import Shape, in_memory, write

SHAPE = Shape(users=2000, items=600, interactions=40_000, seed=3)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_written_folder_holds_what_memory_would(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(generate, "ITEMS_AT_ONCE", 250)
    write(SHAPE, tmp_path, kind)
    data = open_dataset(str(tmp_path))
    assert (len(data), data.n_users, data.n_interactions) == (600, 2000, 40_000)
    assert set(data.catalog.fields) == {"title", "year", "genres", "synopsis"}
    given, again = data.interactions(), in_memory(SHAPE)
    assert given.users.tolist() == again.users.tolist()
    assert given.rows.tolist() == again.rows.tolist()
    assert given.timestamps is not None


def test_pairs_are_distinct_and_parts_change_only_the_draws(monkeypatch):
    monkeypatch.setattr(generate, "PART", 7_000)
    given = in_memory(SHAPE)
    assert len(np.unique(given.users.astype(np.int64) * 600 + given.rows)) == 40_000
    assert np.bincount(given.users).tolist() == SHAPE.activity.tolist()


def test_the_seed_decides():
    assert in_memory(SHAPE).rows.tolist() == in_memory(SHAPE).rows.tolist()
    other = Shape(SHAPE.users, SHAPE.items, SHAPE.interactions, seed=4)
    assert in_memory(other).rows.tolist() != in_memory(SHAPE).rows.tolist()


def test_users_and_items_have_long_tails_and_groups_show_in_the_truth():
    given = in_memory(SHAPE)
    per_user, per_item = np.bincount(given.users), given.counts()
    assert per_user.mean() > 1.5 * np.median(per_user)
    assert per_item.mean() > 2 * np.median(per_item)
    lists = build_truth(given, "cosine", 10).neighbors
    same = SHAPE.groups[lists] == SHAPE.groups[:, None]
    share = (np.bincount(SHAPE.groups) / 600) ** 2  # of two items drawn at random
    assert same[lists >= 0].mean() > 2 * share.sum()


def test_even_users_who_touch_all_they_may_are_drawn():
    full = Shape(users=50, items=40, interactions=500)  # ten items each, the most there is
    assert np.bincount(in_memory(full).users).tolist() == [10] * 50


@pytest.mark.parametrize("interactions", [49, 501])
def test_interactions_that_the_users_cannot_have_are_refused(interactions):
    with pytest.raises(SystemExit, match="50 users can touch from 50 to 500 items in all"):
        in_memory(Shape(50, 40, interactions))
