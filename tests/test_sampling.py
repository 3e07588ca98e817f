import dataclasses
import itertools

import numpy as np
import pytest

from recdemo.compare import compare
from recdemo.dataset import Dataset
from recdemo.entrants import open_field
from recdemo.errors import DatasetError
from recdemo.plans import Request, carry_out, from_settings
from recdemo.report import as_markdown, json_text
from recdemo.runs import differences
from recdemo.runs.files import read_run, write_run
from recdemo.scoring.sampling import FEWEST, Stratum, _shares, draw_sample
from recdemo.scoring.statistics import bootstrap_means, intervals
from tests import tiny
from tests.fakes import MemoryStore

N_ITEMS = 120
MODELS = ("baseline:genre", "baseline:random@4", "baseline:popularity")


def rows(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int32)


def counts(*groups: tuple[int, int]) -> np.ndarray:
    """Return (items, users of each) as a count per item."""
    return np.repeat([users for _, users in groups], [items for items, _ in groups])


def test_strata_hold_equally_many_items_and_keep_equal_popularity_together():
    # Four strata at most, of 25 items or more: the 40 items with one user stay together.
    sample = draw_sample(rows(100), counts((40, 1), (15, 2), (10, 3), (35, 9)), 40)
    assert sample.described == (
        Stratum(1, 1, 40, 16),
        Stratum(2, 3, 25, 10),
        Stratum(9, 9, 35, 14),
    )
    assert np.bincount(sample.strata.which).tolist() == [16, 10, 14]
    assert sample.strata.population == 100


def test_what_is_left_and_too_small_for_a_stratum_goes_to_the_last_one():
    sample = draw_sample(rows(100), counts((25, 1), (25, 2), (40, 3), (10, 9)), 40)
    assert [(s.low, s.high, s.items) for s in sample.described] == [
        (1, 1, 25), (2, 2, 25), (3, 9, 50),
    ]  # fmt: skip


def test_queries_are_drawn_once_each_in_order_and_by_their_own_rows():
    queries = rows(200)[::2]
    popularity = np.arange(200, dtype=np.int32)
    sample = draw_sample(queries, popularity, 50)
    assert len(sample.queries) == 50
    assert (np.diff(sample.queries) > 0).all()
    assert np.isin(sample.queries, queries).all()
    for stratum, row in zip(sample.strata.which, sample.queries, strict=True):
        described = sample.described[stratum]
        assert described.low <= popularity[row] <= described.high


def test_the_same_seed_draws_the_same_items_and_another_one_others():
    popularity = np.arange(500, dtype=np.int32)
    first, again, other = (draw_sample(rows(500), popularity, 50, seed) for seed in (1, 1, 2))
    assert first.queries.tolist() == again.queries.tolist()
    assert first.queries.tolist() != other.queries.tolist()


def test_shares_are_exact_on_average_and_never_a_whole_item_away():
    sizes, n = np.array([3, 7, 15]), 8  # exactly 0.96, 2.24 and 4.8
    seen = [_shares(sizes, n, np.random.default_rng(seed)) for seed in range(4_000)]
    assert all(sum(shares) == n for shares in seen)
    assert np.mean(seen, axis=0) == pytest.approx([0.96, 2.24, 4.8], abs=0.03)
    assert {tuple(shares) for shares in seen} <= set(itertools.product((0, 1), (2, 3), (4, 5)))


def test_every_item_is_drawn_equally_often_so_the_plain_mean_is_unbiased():
    popularity = counts((37, 1), (20, 2), (13, 5), (30, 40))
    values = np.sqrt(popularity)  # what popular items score
    drawn, means = np.zeros(100), []
    for seed in range(3_000):
        sample = draw_sample(rows(100), popularity, 31, seed)
        drawn[sample.queries] += 1
        means.append(values[sample.queries].mean())
    # 3,000 draws with p = 0.31 scatter by 25 each
    assert drawn.mean() == 3_000 * 31 / 100
    assert np.abs(drawn - 930).max() < 4 * 25.4
    for users in (1, 2, 5, 40):
        assert drawn[popularity == users].mean() == pytest.approx(930, abs=20)
    error = np.std(means) / np.sqrt(len(means))
    assert np.mean(means) == pytest.approx(values.mean(), abs=4 * error)


@pytest.mark.parametrize("n", [-1, 0, FEWEST - 1])
def test_a_sample_that_says_nothing_is_refused(n):
    with pytest.raises(DatasetError, match=f"a sample of {n} query items says nothing"):
        draw_sample(rows(100), counts((100, 1)), n)


def test_where_popularity_tells_the_score_the_interval_is_narrower_than_a_plain_one():
    popularity = counts((500, 1), (500, 2))
    sample = draw_sample(rows(1_000), popularity, 100)
    values = popularity[sample.queries, None].astype(float)
    values += np.random.default_rng(0).normal(0, 0.01, values.shape)
    [(low, high)] = intervals(values, strata=sample.strata)
    [(plain_low, plain_high)] = intervals(values)
    assert low < 1.5 < high
    assert 0.2 < (high - low) / (plain_high - plain_low) < 0.45  # the catalog is one of many


def test_a_sample_of_all_has_the_interval_of_all():
    random = np.random.default_rng(1)
    popularity = random.integers(1, 50, 400).astype(np.int32)
    values = (popularity[:, None] + random.normal(0, 20, (400, 1))).clip(0)
    strata = draw_sample(rows(400), popularity, 400).strata
    plain, stratified = bootstrap_means(values), bootstrap_means(values, strata=strata)
    assert stratified.mean() == pytest.approx(plain.mean(), rel=0.005)
    assert stratified.std() == pytest.approx(plain.std(), rel=0.04)


def test_resamples_do_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch):
    values = np.random.default_rng(2).random((90, 2))
    strata = draw_sample(rows(300), np.arange(300, dtype=np.int32), 90).strata
    plain = bootstrap_means(values, 60)
    whole = bootstrap_means(values, 60, strata=strata)
    monkeypatch.setattr("recdemo.scoring.statistics._CELLS", 90 * 7)
    assert bootstrap_means(values, 60) == pytest.approx(plain)
    assert bootstrap_means(values, 60, strata=strata).std() == pytest.approx(whole.std(), rel=0.2)


def data() -> Dataset:
    """Return items with a long tail of users, two genres, and some without any user."""
    random = np.random.default_rng(5)
    weights = 1 / np.arange(1, N_ITEMS + 1)
    touched = [
        np.unique(random.choice(N_ITEMS, 8, p=weights / weights.sum())).tolist() for _ in range(400)
    ]
    given = tiny.behavior(touched, N_ITEMS)
    names = [f"item {row}" for row in range(N_ITEMS)]
    genres = [(f"g{row % 7}",) for row in range(N_ITEMS)]
    items = tiny.catalog("long", title=names, genres=genres)
    return Dataset(items, given.counts(), given.n_users, len(given), lambda: given)


def run(sample: int | None = None, notices: list[str] | None = None, **other):
    request = Request(models=MODELS, text="card", ks=(5, 10), sample=sample, **other)
    told = [] if notices is None else notices
    return carry_out(request, MemoryStore(), "embedded", dataset=data(), on_notice=told.append)


def test_a_sampled_run_has_the_scores_of_the_whole_run_on_its_items(home):
    whole, sampled = run(), run(40)
    of_whole = {row.label: row.known_scores for row in whole.rows}
    for row in sampled.rows:
        scores, all_scores = row.known_scores, of_whole[row.label]
        place = np.searchsorted(all_scores.queries, scores.queries)
        assert row.queries == len(scores.queries) == 40
        assert scores.recall.tolist() == all_scores.recall[place].tolist()
        assert scores.ndcg.tolist() == all_scores.ndcg[place].tolist()
        assert row.recall[10] == pytest.approx(float(all_scores.recall[place, 1].mean()))
    assert sampled.chance == whole.chance


def test_a_run_keeps_its_sample_and_tells_of_it(home):
    found = run(40, by=("popularity",))
    path = write_run(found)
    kept = read_run(path)
    assert kept.sample == found.sample
    assert (kept.sample.n, sum(s.drawn for s in kept.sample.strata)) == (40, 40)
    assert kept.sample.of == sum(s.items for s in kept.sample.strata)
    strata = kept.rows[0].known_scores.strata
    assert strata.population == kept.sample.of
    assert np.bincount(strata.which).tolist() == [s.drawn for s in kept.sample.strata]
    text = as_markdown(kept)
    assert f"Sample of 40 of {kept.sample.of} query items, stratified by popularity" in text
    assert f"mean over a sample of 40 of {kept.dataset.rated} rated items" in text
    assert '"sample": {' in json_text(kept)
    assert sum(s.queries for s in kept.rows[0].slices) == 40
    assert '"sample": null' in json_text(run())


def test_where_popularity_is_the_same_or_not_known_the_sample_is_a_plain_one(home):
    alike = dataclasses.replace(data(), counts=np.minimum(data().counts, 1))
    request = Request(models=MODELS, text="card", ks=(5,), sample=40)
    found = carry_out(request, MemoryStore(), "embedded", dataset=alike)
    [stratum] = found.sample.strata
    assert (stratum.low, stratum.high, stratum.drawn) == (1, 1, 40)
    assert f"Sample of 40 of {found.sample.of} query items, at random (seed" in as_markdown(found)


def test_a_sampled_run_can_be_made_again_from_its_file(home):
    first = run(40)
    request = from_settings(read_run(write_run(first)).settings)
    again = carry_out(request, MemoryStore(), "embedded", dataset=data())
    assert request.sample == 40
    assert differences(first, again) == []
    assert again.rows[0].interval == first.rows[0].interval


def test_two_runs_with_the_same_sample_are_paired_and_others_refused(home):
    random = Request(models=("baseline:random@2",), text="card", ks=(5, 10), sample=40)
    other = carry_out(random, MemoryStore(), "embedded", dataset=data())
    field = open_field([run(40), other])
    assert field.unit == "sampled items"
    compared = compare(field)
    values = field.values()
    apart = values[:, 1:] - values[:, :1]
    ends = [pair.interval for pair in compared.comparisons]
    expected = intervals(apart, strata=field.strata)
    assert [e for pair in ends for e in pair] == pytest.approx([e for p in expected for e in p])
    with pytest.raises(DatasetError, match=r"different query items: .* with the same --sample"):
        open_field([run(), other])


def test_a_user_bootstrap_of_a_sample_asks_the_sampled_items_only(home):
    found = run(40, user_bootstrap=3)
    assert all(row.user_standard_error["recall@10"] >= 0 for row in found.rows)
    assert max(row.user_standard_error["recall@10"] for row in found.rows) > 0


def test_a_sample_of_no_fewer_than_all_is_all_and_says_so(home):
    told = []
    found = run(5_000, told)
    assert found.sample is None
    assert differences(found, run()) == []
    assert told == [f"all {found.rows[0].queries} query items are asked, since --sample 5,000 "
                    "is no fewer"]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"sample": 5}, "a sample of 5 query items says nothing; use --sample 30"),
        ({"sample": 40, "protocol": "one-shot"}, "asks about users, and --sample draws items"),
    ],
)
def test_a_sample_that_makes_no_sense_is_found_before_the_work(wanted, message, home):
    store = MemoryStore()
    ks = None if "protocol" in wanted else (5,)
    request = dataclasses.replace(Request(models=MODELS, text="card", ks=ks), **wanted)
    with pytest.raises(DatasetError, match=message):
        carry_out(request, store, "embedded", dataset=data())
    assert store.builds == 0
