import dataclasses

import numpy as np
import pytest

from recdemo.check import Check, judge, read_checks
from recdemo.errors import DatasetError
from recdemo.runs import Run
from recdemo.scoring.recall import Scores
from recdemo.slicing import slices_of
from tests import tiny
from tests.evaluating import evaluate

MODEL = "baseline:popularity@1"  # Recall@1 2/3, Recall@2 2.5/3


def run_of(values, label_run=None) -> Run:
    """Return a run whose one row has these recalls at K = 2, one per item."""
    run = label_run or evaluate("baseline:popularity")
    column = np.array(values, float)[:, None]
    scores = Scores(np.arange(len(values), dtype=np.int32), (2,), column, column)
    row = dataclasses.replace(run.rows[0], scores=scores, recall={2: column.mean()})
    return dataclasses.replace(run, rows=(row,), ks=(2,))


def verdict(check, run=None, stored=None):
    [found] = judge(run or evaluate("baseline:popularity"), [check], lambda name: stored)
    return found


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        (Check(MODEL, at_least=0.83), True),
        (Check(MODEL, at_least=0.84), False),
        (Check(MODEL, at_most=0.83), False),
        (Check(MODEL, at_most=0.84), True),
        (Check("baseline:popularity", measure="recall@1", at_least=0.66), True),
        (Check(MODEL, measure="recall@1", at_least=0.67), False),
        (Check(MODEL, text="synopsis", truth="jaccard", at_least=0.83), True),
    ],
)
def test_a_threshold_is_held_against_the_score(check, passed):
    found = verdict(check)
    assert found.passed is passed
    assert MODEL in found.sentence


def test_a_slice_is_held_to_its_own_threshold():
    run = evaluate("baseline:popularity")
    slices = slices_of([run.rows[0].scores], tiny.dataset(), ["genres"])[0]
    run = dataclasses.replace(run, rows=(dataclasses.replace(run.rows[0], slices=slices),))
    check = Check(MODEL, measure="recall@2", by="genres", slice="Six", at_least=1.0)
    assert verdict(check, run).passed
    assert not verdict(dataclasses.replace(check, slice="Fur"), run).passed
    with pytest.raises(DatasetError, match="no slice genres 'Fin'; it has genres Fur, genres Six"):
        verdict(dataclasses.replace(check, slice="Fin"), run)


def test_a_difference_to_a_stored_run_goes_by_the_paired_interval():
    base = np.linspace(0, 1, 200)
    check = Check(MODEL, measure="recall@2", against="x", margin=0.01)
    assert verdict(check, run_of(base), run_of(base)).passed
    assert verdict(check, run_of(base - 0.005), run_of(base)).passed  # worse, not by more
    assert not verdict(check, run_of(base - 0.02), run_of(base)).passed
    noisy = base + np.tile([0.5, -0.5], 100)  # as good on average, but nobody can tell
    assert not verdict(check, run_of(noisy), run_of(base)).passed


def test_other_items_or_too_few_cannot_be_compared():
    check = Check(MODEL, measure="recall@2", against="x")
    with pytest.raises(DatasetError, match="other items"):
        verdict(check, run_of([0.5] * 40), run_of([0.5] * 41))
    with pytest.raises(DatasetError, match="too few items"):
        verdict(check, run_of([0.5] * 9), run_of([0.5] * 9))


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (Check("baseline:genre", at_least=0), "no row for 'baseline:genre'; it has baseline:pop"),
        (Check(MODEL, text="card", at_least=0), "no row for"),
        (Check(MODEL, measure="recall@3", at_least=0), "unknown measure 'recall@3'"),
        (Check(MODEL, measure="hit", at_least=0), "unknown measure 'hit'"),
        (Check(MODEL, by="genres", slice="Fur", at_least=0), "recdemo evaluate --by genres"),
    ],
)
def test_a_check_that_fits_nothing_is_an_error_not_a_pass(check, message):
    with pytest.raises(DatasetError, match=message):
        verdict(check)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold"),
        ("x = 1", "must hold"),
        ("check = 1", "must hold"),
        ("[[check]]\nat_least = 1", "names no model"),
        ("[[check]]\nmodel = 'm'", "needs one of"),
        ("[[check]]\nmodel = 'm'\nat_least = 1\nat_most = 2", "needs one of"),
        ("[[check]]\nmodel = 'm'\nat_leats = 1", "unknown key 'at_leats'"),
        ("[[check]]\nmodel = 'm'\nat_least = '1'", "must be a number"),
        ("[[check]]\nmodel = 'm'\nat_least = true", "must be a number"),
        ("[[check]]\nmodel = 1\nat_least = 1", "must be text"),
        ("[[check]]\nmodel = 'm'\nby = 'year'\nat_least = 1", "both by and slice"),
        ("[[check]]\nmodel = 'm'\nat_least = 1\nmargin = 1", "margin goes with against"),
        ("[[check]", "is no TOML"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(text, message, tmp_path):
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(DatasetError, match=message):
        read_checks(path)


def test_a_file_of_checks_is_read(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text("[[check]]\nmodel = 'a:b@2'\nat_least = 1\n[[check]]\nmodel='c:d'\nagainst='x'")
    assert read_checks(path) == [Check("a:b@2", at_least=1), Check("c:d", against="x")]
    with pytest.raises(DatasetError, match="cannot read"):
        read_checks(tmp_path / "none.toml")
