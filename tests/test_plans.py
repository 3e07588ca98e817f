import dataclasses

import numpy as np
import pytest

from recdemo.errors import DatasetError, StoreError
from recdemo.plans import Request, carry_out, from_settings
from recdemo.runs import differences
from recdemo.runs.files import read_run, write_run
from recdemo.store.edge import EdgeStore
from tests import tiny
from tests.fakes import MemoryStore

REQUEST = Request(models=("baseline:popularity", "baseline:genre"), ks=(1, 2))


def run(request: Request = REQUEST, store=None):
    return carry_out(request, store or MemoryStore(), "embedded", dataset=tiny.dataset())


def test_a_run_tells_how_to_make_it_again(home):
    first = run(dataclasses.replace(REQUEST, by=("genres",), truths=("lift", "jaccard")))
    kept = from_settings(read_run(write_run(first)).settings)
    assert kept == dataclasses.replace(REQUEST, by=("genres",), truths=("lift", "jaccard"))
    assert differences(first, run(kept)) == []


def test_the_same_request_gives_the_same_numbers_on_another_store_in_another_order(
    home, tmp_path, monkeypatch
):
    """The fake store breaks ties the other way round than the engine, and answers in one go."""
    ours = run()
    monkeypatch.setattr("recdemo.loading.BATCH_ROWS", 2)
    monkeypatch.setattr("recdemo.neighbors.PART", 1)
    monkeypatch.setattr("recdemo.truth.blocks.PAIRS", 1)
    edge = EdgeStore(tmp_path / "edge", lambda message: None)
    turned = dataclasses.replace(REQUEST, models=REQUEST.models[::-1])
    theirs = run(turned, edge)
    edge.close()
    assert differences(ours, theirs) == []
    assert [row.recall for row in ours.rows] == [row.recall for row in theirs.rows]


def test_differences_name_what_differs(home):
    counts = np.array([1, 9, 1, 9, 0], np.int32)
    other = dataclasses.replace(tiny.dataset(), counts=counts)
    changed = carry_out(REQUEST, MemoryStore(), "embedded", dataset=other)
    assert "recall of baseline:popularity@1 differs" in differences(run(), changed)
    fewer = run(dataclasses.replace(REQUEST, models=("baseline:genre",)))
    assert "baseline:popularity@1 did not run" in differences(run(), fewer)


def test_several_truths_give_rows_each_and_the_agreement_of_their_orders(home):
    found = run(
        Request(models=("baseline:popularity", "baseline:genre", "baseline:lsa@1"), ks=(2,),
                truths=("jaccard", "lift"))
    )  # fmt: skip
    assert [row.truth for row in found.rows] == ["jaccard"] * 3 + ["lift"] * 3
    assert set(found.truths) == {"jaccard", "lift"}
    assert -1 <= found.tau["jaccard/lift"] <= 1


def test_a_baseline_that_reads_no_text_stands_once_among_several_texts(home):
    found = run(Request(models=("baseline:genre", "baseline:lsa@1"), ks=(2,), text="card,synopsis"))
    assert sorted((row.model, row.text) for row in found.rows) == [
        ("baseline:genre", "any"), ("baseline:lsa", "card"), ("baseline:lsa", "synopsis"),
    ]  # fmt: skip


def test_a_user_bootstrap_gives_standard_errors_and_leaves_the_scores(home):
    found = run(dataclasses.replace(REQUEST, user_bootstrap=5))
    assert [row.recall for row in found.rows] == [row.recall for row in run().rows]
    for row in found.rows:
        assert set(row.user_standard_error) == {"recall@1", "recall@2", "ndcg@1", "ndcg@2"}
        assert all(error >= 0 for error in row.user_standard_error.values())
    assert max(row.user_standard_error["recall@1"] for row in found.rows) > 0
    with pytest.raises(DatasetError, match="at least 2 resamples, not 1"):
        run(dataclasses.replace(REQUEST, user_bootstrap=1))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(truths=("dice",)), "unknown truth 'dice'"),
        (Request(by=("actors",)), "cannot slice tiny by 'actors'"),
        (Request(ks=(4,)), "below the 4 rated items"),
    ],
)
def test_faults_of_a_request_are_found_before_the_work(request_, message, home):
    store = MemoryStore()
    with pytest.raises(DatasetError, match=message):
        run(request_, store)
    assert store.builds == 0


def test_a_run_without_settings_cannot_be_made_again():
    assert from_settings({}) == Request()
    with pytest.raises(StoreError, match="does not say how it was made"):
        from_settings(["x"])


def test_a_model_that_is_named_twice_is_evaluated_once(home):
    twice = dataclasses.replace(REQUEST, models=("baseline:random@3,3", "baseline:random@3"))
    assert [(row.model, row.dimension) for row in run(twice).rows] == [("baseline:random", 3)]
