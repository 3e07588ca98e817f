import numpy as np
import pytest

from recdemo.errors import DatasetError
from recdemo.scoring.recall import Scores
from recdemo.slicing import check_by, slices_of
from tests import tiny


def scores(*recall: float) -> Scores:
    values = np.array(recall)[:, None]
    return Scores(np.arange(len(recall), dtype=np.int32), (2,), values, values / 2)


def named(found):
    return {s.name: (s.queries, s.recall[2], s.ndcg[2]) for s in found}


def slices(row: Scores, data, by):
    [found] = slices_of([row], data, by)
    return found


def test_rows_share_their_resamples_and_keep_their_own_scores():
    data = tiny.dataset([[0]] * 40, tiny.catalog(kind=["a"] * 40))
    random = np.random.default_rng(1)
    rows = [scores(*random.random(40)), scores(*random.random(40))]
    both = slices_of(rows, data, ["kind"])
    assert both == [slices(row, data, ["kind"]) for row in rows]
    assert slices_of(rows, data, []) == [(), ()]


def test_an_item_with_two_genres_stands_in_both_slices():
    found = named(slices(scores(1, 0, 0.5), tiny.dataset(), ["genres"]))
    assert found == {"Fur": (2, 0.75, 0.375), "Six": (2, 0.5, 0.25)}


def test_a_missing_year_stands_in_no_decade_and_empty_slices_are_left_out():
    found = named(slices(scores(1, 0, 0.5), tiny.dataset(), ["decade"]))
    assert found == {"1990s": (2, 0.5, 0.25), "2000s": (1, 0.5, 0.25)}


def test_popularity_goes_by_the_number_of_users():
    sizes = [1, 10, 11, 50, 51, 200, 201]
    data = tiny.dataset(
        [list(range(n)) for n in sizes], tiny.catalog(title=[str(n) for n in sizes])
    )
    found = slices(scores(0, 1, 0, 0, 1, 1, 0.5), data, ["popularity"])
    assert [(s.name, s.queries) for s in found] == [
        ("1-10", 2), ("11-50", 2), ("51-200", 2), ("> 200", 1),
    ]  # fmt: skip
    assert [s.recall[2] for s in found] == [0.5, 0, 1, 0.5]


def test_a_slice_of_thirty_has_an_interval_and_a_smaller_one_has_none():
    data = tiny.dataset([[0]] * 40, tiny.catalog(kind=["a"] * 30 + ["b"] * 10))
    large, small = slices(scores(*([0.0, 1.0] * 20)), data, ["kind"])
    low, high = large.interval["recall@2"]
    assert low < 0.5 < high
    assert small.interval["recall@2"] is None


def test_an_unknown_field_is_refused_with_the_known_ones():
    with pytest.raises(DatasetError, match="by 'actors'; expected popularity, decade, title"):
        check_by(tiny.dataset(), ["genres", "actors"])
