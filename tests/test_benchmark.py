import json

import numpy as np
import pytest

from recdemo import suites
from recdemo.errors import DatasetError, EmbeddingError, RecdemoError
from recdemo.report import as_csv, as_markdown, as_text, json_text, table
from recdemo.runs.files import as_json, write_run
from tests import tiny
from tests.evaluating import evaluate
from tests.fakes import MemoryStore


def test_a_tiny_run_has_the_numbers_of_a_hand_count():
    # Ant-Bee-Cat are queries; by log(count) Ant(4) is nearest Bee(3), Bee nearest Ant, Cat(2)
    # nearest Bee and as far from Ant as from Dog(1): ln 4 - ln 2 = ln 2 - ln 1. Eel is no
    # candidate. Truth: Ant: Bee, Cat; Bee: Ant; Cat: Ant.
    run = evaluate("baseline:popularity")
    [row] = run.rows
    assert row.queries == 3
    assert row.recall[1] == pytest.approx((1 + 1 + 0) / 3)
    assert row.recall[2] == pytest.approx((2 / 2 + 1 + 1 / 2) / 3)
    assert run.chance == {1: 1 / 3, 2: 2 / 3}
    assert (run.dataset.items, run.dataset.rated, run.dataset.users) == (5, 4, 6)


def test_rows_come_best_first_and_a_second_run_loads_nothing():
    store = MemoryStore()
    run = evaluate("baseline:popularity", "baseline:genre", "baseline:lsa@1,2", store=store)
    scores = [row.recall[2] for row in run.rows]
    assert scores == sorted(scores, reverse=True)
    again = evaluate("baseline:popularity", "baseline:genre", "baseline:lsa@1,2", store=store)
    assert store.builds == 4
    assert all(row.seconds.load is None for row in again.rows)
    assert [row.recall for row in again.rows] == [row.recall for row in run.rows]


def test_a_model_of_a_suite_that_cannot_run_is_skipped_with_the_reason():
    run = evaluate("baseline:popularity", "bundled:all-minilm-l6-v2", must_run=False)
    assert [skipped.model for skipped in run.skipped] == ["bundled:all-minilm-l6-v2"]
    assert "other texts" in run.skipped[0].reason


def test_a_named_model_that_cannot_run_is_an_error_and_so_is_a_suite_without_one_that_can():
    with pytest.raises(EmbeddingError, match="other texts"):
        evaluate("baseline:popularity", "bundled:all-minilm-l6-v2")
    with pytest.raises(RecdemoError, match="no model of the suite can run"):
        evaluate("bundled:all-minilm-l6-v2", must_run=False)


def test_default_ks_are_those_that_fit_the_catalog():
    data = tiny.dataset()
    with pytest.raises(DatasetError, match="4 rated items, too few for K = 10"):
        suites.usable_ks(None, data)
    assert suites.usable_ks([2, 1, 2], data) == (1, 2)
    larger = tiny.dataset([[0]] * 60, tiny.catalog(title=[str(i) for i in range(60)]))
    assert suites.usable_ks(None, larger) == (10, 20, 50)


def test_the_offline_suite_names_what_it_is_made_of():
    names = [str(name) for name in suites.open_suite("offline").models]
    assert len(names) == 12
    assert "bundled:all-minilm-l6-v2@64" in names
    with pytest.raises(EmbeddingError, match="unknown suite 'nope'; expected offline"):
        suites.open_suite("nope")


def test_a_run_is_kept_with_its_values_per_query(tmp_path, monkeypatch):
    monkeypatch.setenv("RECDEMO_HOME", str(tmp_path))
    run = evaluate("baseline:popularity", "baseline:genre")
    path = write_run(run)
    stored = json.loads(path.read_text())
    assert stored == json.loads(json_text(run))
    with np.load(path.with_suffix(".npz")) as arrays:
        for i, row in enumerate(stored["rows"]):
            assert arrays[f"recall.{i}"].mean(axis=0).tolist() == list(row["recall"].values())
            assert len(arrays[f"queries.{i}"]) == row["queries"]


def test_json_follows_its_schema():
    plain = as_json(evaluate("baseline:genre-year", ks=(2,)))
    assert plain["schema"] == 1
    assert plain["dataset"] == {
        "name": "tiny", "items": 5, "rated": 4, "users": 6, "interactions": 10,
    }  # fmt: skip
    assert plain["ceiling"] is None
    [row] = plain["rows"]
    expected = {"model", "dimension", "how", "text", "truth", "protocol", "queries",
                "without_vector", "recall", "ndcg", "interval", "bytes_per_item", "seconds",
                "cost_usd", "collection", "fingerprint"}  # fmt: skip
    assert expected <= set(row)
    assert (row["model"], row["dimension"], row["bytes_per_item"]) == ("baseline:genre-year", 3, 12)
    assert row["interval"] == {"recall@2": None, "ndcg@2": None}  # three queries are too few
    assert set(row["seconds"]) == {"embed", "load", "query"}


def test_every_format_tells_the_same_numbers():
    run = evaluate("baseline:popularity", "bundled:all-minilm-l6-v2", must_run=False)
    shown = as_text(table(run, 160))
    for text in (shown, as_markdown(run)):
        assert f"{run.rows[0].recall[2]:.4f}" in text
        assert "looks at behavior" in text
        assert "bundled:all-minilm-l6-v2" in text
        assert "Chance: Recall@2 0.6667" in text
    head, line = as_csv(run).splitlines()
    cells = dict(zip(head.split(","), line.split(","), strict=True))
    assert float(cells["recall@2"]) == run.rows[0].recall[2]
    assert cells["recall@2_low"] == ""


def test_a_narrow_table_fits_into_80_columns():
    run = evaluate("baseline:popularity", "baseline:lsa@1")
    lines = as_text(table(run, 80), 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("baseline:popularity" in line and "0.8333" in line for line in lines)
