import json

import numpy as np
import pytest

from recdemo.advise import advise
from recdemo.entrants import open_field
from recdemo.report import advice as report
from recdemo.report import as_text
from recdemo.report.advice_sentences import decimal_bytes, sentences
from recdemo.runs import Seconds
from tests.scored import row, run

N = 60
NOISE = np.random.default_rng(2).normal(0, 0.001, N)
NOISE -= NOISE.mean()
BASE = np.linspace(0.2, 0.6, N)


def model(label: str, loss: float = 0, **other):
    """A row whose mean is 0.4 less a loss, give or take a little on every item."""
    return row(label, BASE - loss + NOISE * (1 if loss else 0), **other)


def advised(*rows, margin=0.005):
    return advise(open_field([run(*rows)]), margin)


def told(advice, *counts):
    return sentences(advice, counts or (50, 1_000_000))


def one(lines, words):
    [line] = [line for line in lines if words in line]
    return line


SIZES = (model("openai:x@64", 0.05), model("openai:x@512", 0.003), model("openai:x@3072"))


def test_the_smallest_dimension_is_the_one_whose_interval_ends_inside_the_margin():
    advice = advised(*SIZES)
    [short] = advice.shortenings
    assert (short.best.name, short.smallest.name) == ("openai:x@3072", "openai:x@512")
    assert short.next_smaller is not None
    assert short.next_smaller.name == "openai:x@64"
    line = one(told(advice), "512 dimensions are not worse than 3,072")
    assert "0.3970 against 0.4000, -0.0030 [" in line
    assert "2,048 bytes per item instead of 12,288; 64 would lose -0.0500" in line


def test_a_margin_inside_the_interval_is_not_enough():
    # The mean loses 0.003 and the interval reaches a little further down.
    low = advised(*SIZES).candidates[1].gap.interval[0]
    assert -0.0034 < low < -0.003
    assert advised(*SIZES, margin=-low + 1e-6).smallest(False).name == "openai:x@512"
    assert advised(*SIZES, margin=-low - 1e-6).smallest(False).name == "openai:x@3072"


def test_the_best_is_never_worse_than_itself_even_without_a_margin():
    advice = advised(*SIZES, margin=0)
    assert advice.shortenings[0].smallest.name == "openai:x@3072"
    assert "No smaller model evaluated is within the margin" in "\n".join(told(advice))


def test_the_smallest_of_all_models_may_be_another_model():
    advice = advised(*SIZES, model("ollama:y@128", 0.001))
    assert advice.smallest(False).name == "ollama:y@128"
    assert "512 bytes per item" in one(told(advice), "the smallest model not worse")


def test_the_cheapest_model_is_known_by_what_embedding_has_cost():
    # 50 items for 0.001 and 0.00005 dollars: 20 and 1 dollars per million items.
    dear = model("openai:x@64", cost_usd=0.001)
    cheap = model("dashscope:y@128", 0.002, cost_usd=0.00005)
    advice = advised(dear, cheap)
    assert advice.cheapest().name == "dashscope:y@128"
    assert advice.cheapest().usd_per_million == pytest.approx(1)
    assert "USD 1.00 to embed a million items" in one(told(advice), "cheapest")
    free = advised(dear, cheap, model("ollama:z@1024", 0.002))
    assert free.cheapest().name == "ollama:z@1024"
    assert "embedding is free" in one(told(free), "cheapest")


def test_a_service_that_has_cost_nothing_was_in_the_cache_and_is_not_free():
    advice = advised(model("openai:x@64", cost_usd=0.0), model("openai:y@8", 0.1, cost_usd=None))
    assert advice.cheapest() is None
    assert "the cost of openai:x@64, openai:y@8" in "\n".join(told(advice))


def test_dimensions_of_a_model_cost_what_the_one_that_was_paid_for_did():
    advice = advised(
        model("openai:x@64", 0.001, cost_usd=0.0), model("openai:x@512", cost_usd=0.01)
    )
    assert [c.usd_per_million for c in advice.candidates] == pytest.approx([200, 200])
    assert advice.cheapest().dimension == 64


def test_a_baseline_that_beats_all_models_comes_first():
    advice = advised(model("openai:x@64", 0.1), model("baseline:genre@3"))
    first = told(advice)[0]
    assert first.startswith("A free baseline beats every model: baseline:genre@3 (0.4000)")
    assert "openai:x@64 (0.3000), the best model; the difference is +0.1000 [+0.0997, " in first
    assert "12 bytes per item" in one(told(advice), "smallest free baseline not worse")


def test_a_baseline_that_cannot_be_told_from_the_best_model_is_not_said_to_beat_it():
    near = row("baseline:genre@3", BASE + NOISE + 1e-6)
    advice = advised(model("openai:x@64"), near)
    assert told(advice)[0].startswith("A free baseline cannot be told from the best model")


def test_where_models_are_better_it_is_still_said_how_far_baselines_get():
    advice = advised(model("openai:x@64"), model("baseline:genre@3", 0.1))
    assert told(advice)[0] == "The best model is openai:x@64 (0.4000)."
    assert "baseline:genre@3 (0.3000), differs from the best model by -0.1000 [" in told(advice)[1]
    assert "No free baseline was evaluated" in "\n".join(told(advised(*SIZES)))


def test_what_looks_at_behavior_is_shown_and_never_advised():
    popular = model("baseline:popularity@1", note="looks at behavior")
    advice = advised(model("openai:x@64", 0.1), popular, model("baseline:genre@3", 0.2))
    assert advice.best_baseline.name == "baseline:genre@3"
    assert advice.smallest(True) is None
    assert "looks at behavior, as the truth does" in told(advice)[-1]


def test_without_models_baselines_are_measured_by_the_best_of_them():
    advice = advised(model("baseline:lsa@64", 0.002), model("baseline:lsa@128"))
    assert advice.reference.name == "baseline:lsa@128"
    assert told(advice)[0].startswith("Only baselines were evaluated")
    assert "64 dimensions are not worse than 128" in "\n".join(told(advice))


def test_one_row_or_too_few_items_tell_nothing():
    assert told(advised(model("openai:x@64")))[0].startswith(
        "Nothing can be told: there is only one row"
    )
    few = advised(row("openai:x@64", BASE[:29]), row("baseline:genre@3", BASE[:29] / 2))
    assert told(few)[0].startswith("Nothing can be told: 29 items are too few")
    assert "(too few items for an interval)" in told(few)[1]
    plain = json.loads(report.as_json(few, (50,)))
    assert (plain["smallest_model"], plain["cheapest_model"]) == (None, None)


def test_dimensions_of_different_texts_are_different_models():
    advice = advised(
        model("openai:x@64", 0.001, text="full"), model("openai:x@512"), model("openai:x@64", 0.1)
    )
    assert [(s.best.name, s.smallest.name) for s in advice.shortenings] == [
        ("openai:x@512 card", "openai:x@512 card")
    ]
    assert advice.smallest(False).name == "openai:x@64 full"


def test_memory_is_four_bytes_a_number_and_time_a_query():
    advice = advised(
        model("ollama:x@256", seconds=Seconds(None, None, 0.12)), model("ollama:y@8", 1)
    )
    lines = told(advice, 1_000_000, 50)
    assert "ollama:x@256 1.02 GB for 1,000,000 items, 51.2 kB for 50 items" in one(lines, "Memory")
    assert "1.5 times" in one(lines, "Memory")
    assert "ollama:x@256 2.00 ms" in one(lines, "Time per query")


@pytest.mark.parametrize(
    ("count", "text"),
    [(76, "76 bytes"), (999, "999 bytes"), (1000, "1 kB"), (999_999, "1 MB"), (1.536e9, "1.54 GB"),
     (4e12, "4 TB")],
)  # fmt: skip
def test_bytes_are_written_in_decimal_units(count, text):
    assert decimal_bytes(count) == text


@pytest.mark.parametrize("width", [80, 120, 160])
def test_advice_fits_the_terminal(width):
    rows = [model("bundled:all-minilm-l6-v2@384"), model("openai:text-embedding-3-large@3072", 0.1)]
    lines = as_text(report.table(advised(*rows), (50, 1_000_000), width), width).splitlines()
    assert max(map(len, lines)) <= width
    assert sum("bundled:all-minilm-l6-v2@384" in line for line in lines) > 1


def test_json_holds_the_sentences_and_the_figures_behind_them():
    plain = json.loads(report.as_json(advised(*SIZES), (50,)))
    assert plain["best_model"] == "openai:x@3072"
    assert plain["smallest_model"] == "openai:x@512"
    assert plain["best_baseline"] is None
    assert plain["shortest"][0]["smallest"] == "openai:x@512"
    assert plain["rows"][0]["bytes"] == {"50": 4 * 3072 * 50}
    assert [r["not_worse"] for r in plain["rows"]] == [True, True, False]
    assert plain["sentences"][0] == "The best model is openai:x@3072 (0.4000)."
