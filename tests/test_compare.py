import csv
import io
import json

import numpy as np
import pytest

from recdemo import answers
from recdemo.compare import compare
from recdemo.dimensions import by_dimension
from recdemo.entrants import open_field
from recdemo.errors import DatasetError, StoreError
from recdemo.report import as_text, comparison, comparison_data
from recdemo.report import by_dimension as dimension_report
from recdemo.runs import Published
from recdemo.scoring.statistics import intervals
from tests import tiny
from tests.evaluating import evaluate
from tests.fakes import MemoryStore
from tests.scored import row, run

RANDOM = np.random.default_rng(1)
BASE = RANDOM.random(60) / 2
NEAR = BASE + RANDOM.normal(0, 0.01, 60)  # as good, but for noise
FAR = BASE - 0.1 + RANDOM.normal(0, 0.01, 60)


def field(*rows, **options):
    return open_field([run(*rows, **options)])


def three():
    return field(row("a:best@8", BASE + 0.001), row("a:near@4", NEAR), row("baseline:far@2", FAR))


def page(compared, examples=(), notes=()):
    return comparison.Page(compared, (0, 1), examples, notes)


def test_each_row_is_compared_with_the_best_on_the_same_queries():
    compared = compare(three())
    assert [(c.first, c.second) for c in compared.comparisons] == [(1, 0), (2, 0)]
    far = compared.comparisons[1]
    apart = FAR - (BASE + 0.001)
    assert far.difference == pytest.approx(apart.mean())
    assert far.interval == pytest.approx(intervals(apart[:, None])[0])
    assert (far.wins, far.ties, far.losses) == (0, 0, 60)
    assert far.p == pytest.approx(1 / 10_001)
    assert far.adjusted == pytest.approx(2 / 10_001)  # Holm over two


def test_what_cannot_be_told_from_the_best_stands_in_its_group():
    compared = compare(three())
    assert [e.name for e in compared.group] == ["a:best@8", "a:near@4"]
    assert compared.comparisons[0].adjusted > 0.05


def test_the_effect_is_also_a_share_of_what_the_best_is_above_chance():
    compared = compare(field(row("a:x@1", np.full(40, 0.45)), row("a:y@1", np.full(40, 0.35))))
    assert compared.chance == 0.25
    assert compared.comparisons[0].share == pytest.approx(-0.1 / 0.2)


def test_all_pairs_are_corrected_for_all_of_them():
    compared = compare(three(), all_pairs=True)
    assert [(c.first, c.second) for c in compared.comparisons] == [(0, 1), (0, 2), (1, 2)]
    assert compared.comparisons[1].adjusted == pytest.approx(3 / 10_001)
    assert compared.comparisons[1].difference > 0
    assert [e.name for e in compared.group] == ["a:best@8", "a:near@4"]


def test_a_model_against_itself_is_identical_with_p_1():
    compared = compare(field(row("a:x@2", BASE), row("a:x@2", BASE)))
    [pair] = compared.comparisons
    assert pair.identical
    assert (pair.p, pair.adjusted, pair.difference, pair.interval) == (1, 1, 0, (0, 0))
    assert "a:x@2 #2 and a:x@2 are identical" in "\n".join(comparison.verdicts(page(compared)))
    assert comparison.columns(compared)[3].cells == ("", "identical")


def test_too_few_items_have_no_interval():
    compared = compare(field(row("a:x@2", BASE[:29]), row("a:y@2", FAR[:29])))
    assert compared.comparisons[0].interval is None
    assert comparison.columns(compared)[3].cells[1] == "too few items"
    assert "29 items are too few" in comparison.verdicts(page(compared))[0]


def test_the_order_at_another_k_is_held_against_this_one():
    values = [BASE, BASE - 0.1, BASE - 0.2]
    assert compare(field(*(row(f"a:{i}@1", v) for i, v in enumerate(values)))).tau == {1: 1}


def test_a_baseline_ahead_of_all_models_is_pointed_out_unless_it_looks_at_behavior():
    ahead = compare(field(row("baseline:genre@3", BASE), row("a:x@2", FAR)))
    assert "free baseline, baseline:genre@3" in "\n".join(comparison.verdicts(page(ahead)))
    cheating = row("baseline:popularity@1", BASE, note="looks at behavior")
    told = "\n".join(comparison.verdicts(page(compare(field(cheating, row("a:x@2", FAR))))))
    assert "free baseline" not in told
    assert "baseline:popularity: looks at behavior." in told


# Lists


@pytest.fixture
def tiny_run():
    data, store = tiny.dataset(), MemoryStore()
    made = evaluate("baseline:popularity", "baseline:genre", data=data, store=store)
    return open_field([made]), data, store


def test_lists_are_asked_again_from_the_collections(tiny_run):
    given, data, store = tiny_run
    lists, notes = answers.read_lists(given, data, lambda location: store)
    assert notes == []
    names = [e.row.model for e in given.entrants]
    # By the logarithm of raters Ant (4) is nearest Bee (3), then Cat (2); Eel has none.
    assert lists[names.index("baseline:popularity")].tolist() == [[1, 2], [0, 2], [1, 0]]
    compared = compare(given, lists=lists)
    assert compared.comparisons[0].overlap is not None
    assert compare(given, lists={0: lists[0], 1: lists[0]}).comparisons[0].overlap == 1


class Emptied(MemoryStore):
    def neighbors(self, name, rows, k, **options):
        raise StoreError(f"no collection {name!r}")


def test_a_collection_that_is_gone_leaves_its_lists_out_and_says_so(tiny_run):
    given, data, _ = tiny_run
    lists, notes = answers.read_lists(given, data, lambda location: Emptied())
    assert lists == {}
    assert all(note.startswith("No lists of baseline:") for note in notes)
    assert "RBO" not in [column.title for column in comparison.columns(compare(given))]


def test_lists_of_users_are_not_asked_for():
    rows = [row(f"a:{i}@1", BASE, protocol="one-shot", truth="") for i in range(2)]
    lists, [note] = answers.read_lists(field(*rows), tiny.dataset(), lambda location: Emptied())
    assert lists == {}
    assert "about users" in note


def test_items_that_differ_most_come_with_scores_and_the_beginning_of_both_lists(tiny_run):
    given, data, store = tiny_run
    lists, _ = answers.read_lists(given, data, lambda location: store)
    truth = answers.truth_of(given, data)
    found = answers.most_different(given, (0, 1), lists, data, 5, truth, length=1)
    # Recall@2 by genre against popularity: Ant 2/3 and 1, Bee 1 and 1, Cat 1 and 1/2.
    assert [(one.label, one.users) for one in found] == [("Cat (2001)", 2), ("Ant (1990)", 4)]
    assert found[0].scores == (1, 0.5)
    assert found[0].lists == ((answers.Named("Dog", False),), (answers.Named("Bee (1991)", False),))
    text = as_text(comparison.table(page(compare(given), found), 100), 100)
    assert "Cat (2001), 2 users: Recall@2 1.00 against 0.50" in text
    assert "baseline:genre@2: ✓ Bee (1991)" in text
    assert "baseline:popularity@1: Bee (1991)" in text


def test_a_data_set_that_has_changed_is_no_place_to_look_up_items(monkeypatch, tiny_run):
    given, data, _ = tiny_run
    monkeypatch.setattr(answers, "open_dataset", lambda name, read: data)
    assert answers.dataset_of(given.entrants[0].run) is data
    fewer = tiny.dataset([[0], [0, 1], [1], [0], []])
    monkeypatch.setattr(answers, "open_dataset", lambda name, read: fewer)
    with pytest.raises(DatasetError, match="no longer what run"):
        answers.dataset_of(given.entrants[0].run)


# What people and programs read


def test_every_format_tells_the_same_numbers():
    shown = page(compare(three()), notes=["A note."])
    far = shown.compared.comparisons[1]
    plain = json.loads(comparison_data.as_json(shown))
    assert plain["comparisons"][1]["difference"] == far.difference
    assert plain["comparisons"][1]["p_holm"] == far.adjusted
    assert plain["not_told_from_the_best"] == ["a:best@8", "a:near@4"]
    lines = list(csv.DictReader(io.StringIO(comparison_data.as_csv(shown))))
    assert float(lines[1]["difference"]) == far.difference
    assert lines[1]["rbo"] == ""
    for text in (as_text(comparison.table(shown, 160)), comparison.as_markdown(shown)):
        assert f"{far.difference:+.4f}" in text
        assert "Cannot be told from the best, a:best@8: a:near@4" in text
        assert "A note." in text


@pytest.mark.parametrize("width", [80, 120])
def test_a_table_fits_the_terminal_with_its_interval(width):
    rows = [
        row("bundled:all-minilm-l6-v2@384", BASE),
        row("openai:text-embedding-3-large@3072", FAR),
    ]
    compared = compare(field(*rows))
    lines = as_text(comparison.table(page(compared), width), width).splitlines()
    assert max(map(len, lines)) <= width
    assert any(comparison.interval(compared.comparisons[0]) in line for line in lines)


# By dimension


def by_dimensions(*rows, published=()):
    return by_dimension(field(*rows), published)


def cells(grid):
    return {line.name: line.cells for line in grid.lines}


def test_models_are_set_side_by_side_at_equal_dimension():
    grid = by_dimensions(
        row("ollama:x@64", BASE), row("ollama:x@128", FAR), row("openai:y@128", BASE + 0.05)
    )
    assert grid.dimensions == (64, 128)
    assert [(line.name, line.kind) for line in grid.lines] == [
        ("openai:y", "service"),
        ("ollama:x", "open"),
    ]
    assert cells(grid)["openai:y"][128].best
    assert not cells(grid)["ollama:x"][128].as_good
    assert not cells(grid)["ollama:x"][64].best  # nothing to be better than
    assert "at 128" in "\n".join(dimension_report.notes(grid))


def test_what_cannot_be_told_from_the_best_of_its_column_is_as_good():
    found = cells(by_dimensions(row("ollama:x@64", BASE + 0.001), row("openai:y@64", NEAR)))
    assert (found["ollama:x"][64].best, found["openai:y"][64].as_good) == (True, True)


def test_published_rows_stand_in_brackets_and_apart_from_measured_ones():
    published = [
        Published("openai:y", 64, {10: 0.9}, "a study"),
        Published("ollama:z", 64, {10: 0.8}, "a study"),
    ]
    grid = by_dimensions(row("ollama:x@64", BASE), published=published)
    text = as_text(dimension_report.table(grid, 100), 100)
    assert "[0.9000]*" in text
    assert "[openai:y]" in text
    assert "published (a study): texts by gpt-4o-mini; measured: card" in text
    assert not grid.lines[0].cells[64].best
    assert "_0.8000_" in dimension_report.as_markdown(grid)
    assert [r["published"] for r in json.loads(dimension_report.as_json(grid))["scores"]] == [
        False,
        True,
        True,
    ]


def test_baselines_whose_dimension_the_data_give_are_named_below():
    grid = by_dimensions(row("ollama:x@64", FAR), row("baseline:genre-year@19", BASE))
    assert grid.dimensions == (64,)
    assert grid.references == (("baseline:genre-year@19", pytest.approx(BASE.mean())),)
    assert "baseline:genre-year@19 0." in dimension_report.as_markdown(grid)


def test_more_dimensions_than_fit_are_several_tables():
    rows = [row(f"ollama:x@{64 * i}", BASE) for i in range(1, 13)]
    grid = by_dimensions(*rows)
    text = as_text(dimension_report.table(grid, 60), 60)
    assert max(map(len, text.splitlines())) <= 60
    assert text.count("Model") > 1
    assert all(str(64 * i) in text for i in range(1, 13))
    head = dimension_report.as_csv(grid).splitlines()
    assert len(head) == 13
