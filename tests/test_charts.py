import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import pytest

from recdemo.charts import describe, references_of, series_of, write_chart
from recdemo.charts.axes import (
    HEIGHT,
    byte_ticks,
    dimension_ticks,
    recall_axis,
    spread,
)
from recdemo.charts.drawing import (
    one_below_another,
    recall_by_bytes,
    recall_by_cost,
    recall_by_dimension,
)
from recdemo.charts.looks import looks_of
from recdemo.charts.saving import save
from recdemo.errors import RecdemoError, StoreError
from tests.charting import row, run, study
from tests.evaluating import evaluate


def texts_of(svg: str) -> list[str]:
    """Return every text of a picture."""
    return [e.text or "" for e in ET.fromstring(svg).iter() if e.tag.endswith("}text")]


@pytest.fixture
def drawn(tmp_path):
    def draw(run) -> str:
        write_chart(run, tmp_path / "chart.svg")
        return (tmp_path / "chart.svg").read_text(encoding="utf-8")

    return draw


def test_a_series_holds_one_model_on_one_text_by_ascending_dimension():
    genre, large, small, published = series_of(study())
    assert (large.model, large.text, large.dimensions) == ("openai:large", "synopsis", (64, 256))
    assert large.values == (0.12, 0.16)
    assert large.lows == (0.11, 0.15)
    assert large.bytes_per_item == (256, 1024)
    assert (published.published, published.dimensions) == (True, (64, 3072))
    assert published.lows == (None, None)
    assert published.label == "openai:large, published"
    assert [s.is_mark for s in (genre, large, small, published)] == [True, False, False, False]


def test_a_label_names_the_text_only_where_a_run_has_several():
    one = run(row("a:b", 8, 0.1), row("a:b", 16, 0.2))
    assert [s.label for s in series_of(one)] == ["a:b"]
    several = run(
        row("a:b", 8, 0.1, text="card"),
        row("a:b", 8, 0.2, text="{title} " * 9),
        row("baseline:genre", 18, 0.1, text="any"),
    )
    labels = [s.label for s in series_of(several)]
    assert labels[0] == "a:b · card"
    assert labels[1].endswith("…")
    assert len(labels[1]) < 40
    assert labels[2] == "baseline:genre"


def test_scores_by_another_truth_are_not_in_the_chart():
    mixed = run(row("a:b", 8, 0.1), row("a:b", 8, 0.9, truth="lift"))
    assert [s.values for s in series_of(mixed)] == [(0.1,)]


def test_the_one_shot_protocol_is_drawn_by_its_full_ranking():
    chance = {"ndcg@100": 0.002}
    sampled = row("a:b", 8, 0.3, protocol="one-shot", truth="")
    full = row("a:b", 8, 0.02, protocol="one-shot-full", truth="", chance=chance)
    made = run(sampled, full, one_shot={"shots": 1}, chance={})
    assert [s.values for s in series_of(made)] == [(0.02,)]
    assert [level.value for level in references_of(made)] == [0.002]
    assert describe(made) == "full nDCG@100 by dimension: a:b 0.0200 at 8; chance 0.0020"


def test_costs_are_for_a_million_items_and_the_cache_hides_none():
    rows = [row("openai:b", 8, 0.1, cost_usd=0.002), row("openai:b", 16, 0.1, cost_usd=0.0)]
    [series] = series_of(run(*rows))
    assert series.costs == (pytest.approx(40), pytest.approx(40))  # one payment for both
    [series] = series_of(run(rows[1]))
    assert series.costs == (None,)
    [series] = series_of(run(row("ollama:b", 8, 0.1, cost_usd=None)))
    assert series.costs == (0.0,)


def test_the_ceiling_is_set_apart_where_it_is_far_above_the_scores():
    axis = recall_axis([0.19, 0.03], [0.45, 0.71])
    assert axis.ticks == (0, 0.05, 0.1, 0.15, 0.2, 0.45, 0.71)
    assert axis.broken is not None
    low, high = axis.broken
    assert (low, 0.2 < high < 0.45) == (0.2, True)
    pixels = [axis.pixel(value) for value in (0, 0.1, 0.2, 0.45, 0.71)]
    assert pixels[0] == HEIGHT
    assert pixels[1] == pytest.approx((pixels[0] + pixels[2]) / 2)
    assert pixels == sorted(pixels, reverse=True)
    assert recall_axis([0.19], []).broken is None
    assert recall_axis([0.4], [0.45, 0.5]).broken is None


@pytest.mark.parametrize(
    ("top", "end"), [(0.0, 1.0), (1.0, 1.0), (0.003, 0.0035), (0.24, 0.25), (0.83, 1.0)]
)
def test_the_axis_ends_at_a_round_number_at_or_above_the_scores(top, end):
    axis = recall_axis([top], [])
    assert axis.domain == (0, end)
    assert all(round(tick, axis.decimals) == tick for tick in axis.ticks)


def test_labels_keep_their_order_and_do_not_cover_each_other():
    placed = spread([390.0, 391.0, 100.0, 399.0])
    assert placed[2] == 100
    order = [placed[i] for i in (0, 1, 3)]
    assert all(b - a >= 12.999 for a, b in pairwise(order))
    assert max(placed) <= HEIGHT + 7


def test_ticks_stand_at_powers():
    assert dimension_ticks([64, 384, 512, 64, 3072]) == [64, 512]
    assert dimension_ticks([384, 96]) == [96, 384]
    assert byte_ticks(4, 12288) == [4, 16, 64, 256, 1024, 4096, 16384]
    assert byte_ticks(76, 76) == [64, 256]
    assert byte_ticks(1, 1) == [1]


def test_no_two_series_look_alike_even_without_color():
    models = [row(f"a:m{i}", 8, 0.1) for i in range(5)]
    looks = looks_of(series_of(run(*models)))
    assert len({look.shape for look in looks}) == 5
    texts = [row("a:m", 8, 0.1, text=name) for name in ("card", "full", "synopsis")]
    looks = looks_of(series_of(run(*texts)))
    assert len({(look.shape, look.dash) for look in looks}) == 3
    many = [row(f"a:m{i}", 8, 0.1, text=t) for i in range(12) for t in ("card", "full")]
    looks = looks_of(series_of(run(*many)))
    assert len({(look.color, look.shape, look.dash) for look in looks}) == 24


def test_a_model_keeps_its_look_when_scores_change_their_order():
    a, b = row("a:a", 8, 0.2), row("b:b", 8, 0.1)
    first = {look.label: look for look in looks_of(series_of(run(a, b)))}
    assert first == {look.label: look for look in looks_of(series_of(run(b, a)))}


def test_published_values_are_hollow_and_labelled():
    looks = {look.label: look for look in looks_of(series_of(study()))}
    published, measured = looks["openai:large, published"], looks["openai:large"]
    assert published.fill == "transparent"
    assert measured.fill == measured.color == published.color
    assert published.shape != measured.shape


def test_a_picture_shows_every_level_model_and_tick(drawn):
    texts = texts_of(drawn(study()))
    for expected in (
        "Recall@100 by dimension",
        "Recall@100 by bytes per item",
        "chance 0.0300",
        "ceiling, halves 0.4500",
        "ceiling, bootstrap 0.7100",
        "genre-year 0.1900",
        "openai:large",
        "openai:large, published",
        "ollama:small",
        "axis shortened here",
        "64",
        "256",
        "1 KiB",
    ):
        assert expected in texts, expected
    assert "96" not in texts  # no power of two
    assert texts.count("3072") == 0


def test_the_same_numbers_give_the_same_picture_and_others_another(drawn):
    first = drawn(study())
    assert drawn(study()) == first
    later = replace(study(), id="20270101T000000-bbbb", created="2027-01-01T00:00:00+00:00")
    assert drawn(later) == first
    rows = (row("baseline:genre-year", 19, 0.18), *study().rows[1:])
    assert drawn(replace(study(), rows=rows)) != first


def test_a_run_of_one_row_without_interval_ceiling_and_published_rows_is_drawn(drawn):
    texts = texts_of(drawn(evaluate("baseline:popularity")))
    assert "chance 0.6667" in texts
    assert "baseline:popularity" in texts  # alone it is a point like any other
    assert not any("95 %" in text or "ceiling" in text for text in texts)


def test_scores_of_zero_are_drawn(drawn):
    assert "a:b" in texts_of(drawn(run(row("a:b", 8, 0.0, interval={}), chance={100: 0.0})))


def test_cost_is_drawn_only_where_something_costs():
    assert recall_by_cost(study()) is None
    free = row("baseline:lsa", 64, 0.1, cost_usd=0.0)
    assert recall_by_cost(run(free)) is None
    paid = recall_by_cost(run(free, row("openai:b", 8, 0.2, cost_usd=0.001)))
    assert paid is not None
    assert paid.to_dict()["height"] == HEIGHT


def test_recall_is_drawn_over_the_logarithm_of_dimension_and_bytes():
    for chart in (recall_by_dimension(study()), recall_by_bytes(study())):
        scales = [
            layer["encoding"]["x"]["scale"]
            for layer in chart.to_dict()["layer"]
            if "scale" in layer["encoding"].get("x", {})
        ]
        assert {(scale["type"], scale["base"]) for scale in scales} == {("log", 2)}


def test_a_hostile_text_is_only_text(drawn):
    hostile = '<script>alert("x")</script> & {title}'
    svg = drawn(run(row("a:b", 8, 0.1, text=hostile), row("a:b", 8, 0.2, text="card")))
    assert "<script" not in svg
    assert any(text.startswith('a:b · <script>alert("x")') for text in texts_of(svg))


def test_the_ending_decides_how_a_chart_is_written(tmp_path):
    for name in ("c.svg", "c.PNG", "c.html"):
        save(recall_by_dimension(study()), tmp_path / name)
    assert (tmp_path / "c.svg").read_bytes().startswith(b"<svg")
    png = (tmp_path / "c.PNG").read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    assert png.startswith(b"\x89PNG")
    assert (width > 1200, height > 800) == (True, True)
    assert b"<!doctype html>" in (tmp_path / "c.html").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.PNG", "c.html", "c.svg"]


def test_another_ending_names_the_three_before_anything_is_drawn(tmp_path):
    for name in ("c.pdf", "c", "html"):
        with pytest.raises(RecdemoError, match=r"expected a name in \.svg, \.png or \.html"):
            write_chart(study(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_chart_that_cannot_be_written_leaves_nothing(tmp_path):
    chart = one_below_another(study())
    with pytest.raises(StoreError, match="cannot write"):
        save(chart, tmp_path / "no" / "c.svg")
    (tmp_path / "c.svg").mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        save(chart, tmp_path / "c.svg")
    assert [p.name for p in tmp_path.iterdir()] == ["c.svg"]


def test_a_page_of_charts_needs_nothing_from_elsewhere(tmp_path):
    write_chart(study(), tmp_path / "c.html")
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert not re.search(
        r"<(link|img|iframe)\b|<script[^>]+src=|@import|url\(", page.split("const ")[0]
    )
    assert page.count("<script") == page.count("</script>") == 1
    assert page.count('role="img" aria-label="Recall@100 by dimension: ') == 2
    assert "vegaEmbed" in page


def test_series_are_there_without_loading_what_draws_them():
    script = (
        "import sys, recdemo.charts\n"
        "print([n for n in ('altair', 'vl_convert', 'jinja2') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
