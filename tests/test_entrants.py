from dataclasses import replace

import numpy as np
import pytest

from recdemo.entrants import Choice, open_field
from recdemo.errors import DatasetError
from recdemo.runs import DatasetFacts
from tests.scored import FACTS, row, run

LOW, HIGH = np.full(40, 0.1), np.full(40, 0.2)


def names(field) -> list[str]:
    return [entrant.name for entrant in field.entrants]


def test_rows_come_best_first_under_their_labels():
    field = open_field([run(row("a:x@2", LOW), row("a:y@3", HIGH))])
    assert names(field) == ["a:y@3", "a:x@2"]
    assert (field.measure, field.k, field.title) == ("recall", 10, "Recall@10")


def test_the_text_is_part_of_the_name_where_texts_differ():
    rows = [row("a:x@2", HIGH), row("a:x@2", LOW, text="full"), row("a:y@1", LOW / 2, text="any")]
    assert names(open_field([run(*rows)])) == ["a:x@2 card", "a:x@2 full", "a:y@1"]


def test_prefix_and_run_are_part_of_the_name_where_nothing_else_tells_rows_apart():
    plain, prefixed = row("a:x@2", HIGH), row("a:x@2", LOW, prefix="query: ")
    assert names(open_field([run(plain, prefixed)])) == [
        "a:x@2 no prefix",
        "a:x@2 prefix 'query: '",
    ]
    assert names(open_field([run(plain), run(row("a:x@2", LOW), id="r2")])) == [
        "a:x@2 of r1",
        "a:x@2 of r2",
    ]


def test_a_model_named_twice_in_one_run_stands_against_itself():
    assert names(open_field([run(row("a:x@2", LOW), row("a:x@2", LOW))])) == ["a:x@2", "a:x@2 #2"]


def test_what_several_runs_hold_with_the_same_scores_is_taken_once():
    first = run(row("a:x@2", HIGH), row("a:y@2", LOW))
    field = open_field([first, run(row("a:x@2", HIGH), row("a:z@2", LOW), id="r2")])
    assert names(field) == ["a:x@2", "a:y@2", "a:z@2"]
    assert field.repeated == 1


def test_rows_are_chosen_by_model_text_and_truth():
    given = run(
        row("a:x@2", HIGH),
        row("a:x@4", LOW),
        row("a:y@4", LOW, text="full"),
        row("a:x@2", LOW, truth="lift"),
    )
    assert names(open_field([given], Choice(("a:x@2,4",), (), "jaccard"))) == ["a:x@2", "a:x@4"]
    assert names(open_field([given], Choice((), ("full",), None))) == ["a:y@4"]
    with pytest.raises(DatasetError, match=r"no row of 'b:x' in r1; there is a:x@2, a:x@4, a:y@4"):
        open_field([given], Choice(("b:x",)))
    with pytest.raises(DatasetError, match="no row in r1 has the chosen text"):
        open_field([given], Choice((), ("synopsis",)))


def other_run(*rows, **changed):
    return run(*(rows or (row("a:y@2", LOW),)), id="r2", **changed)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (other_run(row("a:y@2", LOW, truth="lift")), "different truth: a:x@2 has jaccard"),
        (other_run(row("a:y@2", LOW, protocol="one-shot")), "different protocol"),
        (other_run(row("a:y@2", LOW, k=5), ks=(1, 5)), "different K: a:x@2 has 10, a:y@2 has 5"),
        (other_run(dataset=replace(FACTS, name="other")), "different catalog"),
        (other_run(dataset=DatasetFacts("tiny", 50, 41, 6, 98)), "98 interactions"),
        (other_run(row("a:y@2", LOW[:35])), "different query items: a:x@2 has 40"),
        (other_run(hashes={"truth jaccard": "22222222"}), "different truth lists"),
        (other_run(hashes={"negatives": "22222222"}), "different negatives"),
        (other_run(row("a:y@2", LOW, scores=None)), "no values per item for a:y@2"),
    ],
)  # fmt: skip
def test_what_asks_different_things_is_not_compared(second, message):
    first = run(
        row("a:x@2", HIGH),
        hashes={"truth jaccard": "11111111", "negatives": "1", "texts card": "1"},
    )
    with pytest.raises(DatasetError, match=message) as error:
        open_field([first, second])
    assert "\n" not in str(error.value)


def test_the_same_number_of_other_queries_is_another_question():
    moved = row("a:y@2", LOW)
    moved.scores.queries[0] = 49
    with pytest.raises(DatasetError, match="different query items"):
        open_field([run(row("a:x@2", HIGH), moved)])


def test_texts_may_differ_and_so_may_truths_that_are_not_looked_at():
    first = run(row("a:x@2", HIGH), hashes={"texts card": "1", "truth lift": "1"})
    second = other_run(hashes={"texts card": "2", "truth lift": "2"})
    assert len(open_field([first, second]).entrants) == 2


def test_the_hash_of_longer_truth_lists_says_nothing_about_shorter_ones():
    first = run(row("a:x@2", HIGH), hashes={"truth jaccard": "1"})
    second = other_run(row("a:y@2", LOW, k=200), ks=(1, 200), hashes={"truth jaccard": "2"})
    assert len(open_field([first, second], k=1).entrants) == 2


def test_a_k_that_not_all_rows_have_is_refused():
    assert open_field([run(row("a:x@2", HIGH))], k=1).k == 1
    with pytest.raises(DatasetError, match="not all rows have K = 7; all have 1, 10"):
        open_field([run(row("a:x@2", HIGH))], k=7)


def test_users_are_compared_by_ndcg_and_with_their_own_chance():
    rows = [
        row(label, HIGH, protocol="one-shot", truth="", chance={"ndcg@10": 0.04})
        for label in ("a:x@2", "a:y@2")
    ]
    field = open_field([run(*rows)])
    assert (field.title, field.unit) == ("nDCG@10", "users")
    assert field.entrants[0].chance("ndcg", 10) == 0.04
    assert field.entrants[0].chance("recall", 10) is None


def test_a_row_is_found_by_its_name_or_by_a_model_that_only_it_is_of():
    field = open_field([run(row("a:x@2", HIGH), row("a:x@4", LOW), row("a:y@4", LOW / 2))])
    assert (field.find("a:x@4"), field.find("a:y")) == (1, 2)
    with pytest.raises(DatasetError, match="2 rows fit 'a:x'; expected one of a:x@2, a:x@4"):
        field.find("a:x")
    with pytest.raises(DatasetError, match="no row fits 'a'"):
        field.find("a")
