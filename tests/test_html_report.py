import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from recdemo.cli import app
from recdemo.errors import DatasetError, StoreError
from recdemo.examples import Examples, best_rows, check_same, find_examples, known_items
from recdemo.html_report import as_html
from recdemo.runs import Skipped, Slice
from recdemo.truth import build_truth
from tests import tiny
from tests.charting import row, run, study
from tests.evaluating import evaluate
from tests.fakes import MemoryStore

NOTHING = Examples(None)


class Page(HTMLParser):
    """What a browser would see: elements with attributes, and text outside of scripts."""

    def __init__(self, html: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(html.decode())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        (self.scripts if self._inside == "script" else self.texts).append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(text for text in self.texts if text)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def examples_of(made, data, store) -> Examples:
    truth = build_truth(data.interactions(), "jaccard", 2)
    return find_examples(made, data, store, truth)


def test_a_page_has_everything_of_a_run():
    made = replace(
        study(),
        skipped=(Skipped("openai:gone", "OPENAI_API_KEY is not set"),),
        settings={"suite": "offline", "ks": [100]},
        versions={"python": "3.11"},
        hashes={"texts synopsis": "abc123"},
    )
    page = Page(as_html(made, Examples(None, notes=("The example lists are left out: moved.",))))
    for expected in (
        "recdemo report: tiny",
        "Recall@K: share of the K items",
        "openai:large",
        "0.1600",
        "0.1500-0.1700",
        "Chance: Recall@100 0.0300.",
        "published: texts by gpt-4o-mini",
        "The example lists are left out: moved.",
        "openai:gone: OPENAI_API_KEY is not set",
        "offline",
        "3.11",
        "abc123",
        "c-openai:large-256",
        "recdemo evaluate --like 20260101T000000-aaaa",
    ):
        assert expected in page.text, expected


def test_a_page_reads_well_on_a_phone_on_paper_and_aloud():
    html = as_html(study(), NOTHING)
    page = Page(html)
    assert page.all("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all(
        "meta"
    )
    assert b"@media print" in html
    assert b"prefers-color-scheme: dark" in html
    assert len(page.all("h1")) == 1
    assert all(attributes.get("scope") in ("col", "row") for attributes in page.all("th"))
    charts = [a for a in page.all("div") if a.get("role") == "img"]
    assert len(charts) == 2
    assert all(
        "openai:large 0.1200 at 64 to 0.1600 at 256" in (a["aria-label"] or "") for a in charts
    )
    boxes = [a for a in page.all("div") if a.get("class") == "scroll"]
    assert len(boxes) == len(page.all("table"))
    assert all(box["aria-label"] and box["tabindex"] == "0" for box in boxes)


def test_a_page_needs_nothing_from_elsewhere():
    page = Page(as_html(study(), NOTHING))
    assert not {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "base"}
    assert all("src" not in attributes for attributes in page.all("script"))
    links = [attributes["href"] or "" for attributes in page.all("a")]
    assert links
    assert all(link.startswith("#") for link in links)


def test_the_data_of_the_charts_are_in_the_page():
    [_, script] = Page(as_html(study(), NOTHING)).scripts
    found = re.search(r'"#chart-dimension": (\{.*\}),$', script, re.MULTILINE)
    assert found is not None
    spec = json.loads(found[1])
    values = [record for values in spec["datasets"].values() for record in values]
    assert {0.16, 0.12} <= {record.get("score") for record in values}


def test_every_text_of_the_data_is_only_text():
    titles = [
        "<script>alert(1)</script>",
        "[red] x",
        "\"quoted\" & 'single' &amp;",
        "שלום עולם",
        "</table></script><img src=x onerror=alert(2)>",
        "half \ud800 a pair",
        "{{ 7 * 7 }}{% raw %}",
        "\u202ereversed",
    ]
    text = "{title} </script><script>alert(3)</script>"
    items = tiny.catalog(
        "<i>tiny</i>",
        title=titles,
        year=[1990] * 8,
        genres=[("<b>bold</b>",), ("Fur",)] * 4,
        directors=[("</h3>",)] * 8,
        synopsis=titles,
    )
    users = [[0, 1, 2], [0, 1], [2, 3], [0], [1, 3], [0, 1, 2, 3], [2], [0, 3]]
    data, store = tiny.dataset(users, items), MemoryStore()
    made = evaluate("baseline:lsa@1,2", "baseline:genre", data=data, store=store, text=text)
    made = replace(made, skipped=(Skipped("<u>x</u>", "<script>alert(4)</script>"),))
    page = Page(as_html(made, examples_of(made, data, store)))
    assert len(page.all("script")) == 2  # ours
    assert not {tag for tag, _ in page.elements} & {"img", "i", "u"}
    assert not any("alert" in (attributes.get("class") or "") for attributes in page.all("td"))
    for shown in (
        *titles[:5],
        "half ? a pair",
        *titles[6:],
        "<u>x</u>",
        "<b>bold</b>",
        "<i>tiny</i>",
    ):
        assert shown in page.text, shown
    assert all("alert(3)</script>" not in script for script in page.scripts)


def test_examples_are_the_most_rated_items_of_equal_parts_of_the_catalog():
    data = tiny.dataset([[0], [0, 1], [0], [], [], [0, 1, 2]], tiny.catalog(title=list("abcdef")))
    assert known_items(data) == [1, 2, 5]
    assert known_items(tiny.dataset([[0], [1]], tiny.catalog(title=["a", "b"]))) == [0, 1]


def test_examples_are_of_the_best_two_models_and_the_best_that_is_no_baseline():
    rows = [
        row("baseline:a", 1, 0.5),
        row("baseline:a", 2, 0.4),
        row("baseline:b", 1, 0.3),
        row("baseline:c", 1, 0.25),
        row("x:y", 8, 0.2),
        row("x:z", 8, 0.1),
    ]
    assert [r.label for r in best_rows(run(*rows))] == ["baseline:a@1", "baseline:b@1", "x:y@8"]
    assert [r.label for r in best_rows(run(*rows[3:]))] == ["baseline:c@1", "x:y@8"]
    other = row("x:w", 8, 0.9, truth="lift")
    assert [r.label for r in best_rows(run(rows[0], other))] == ["baseline:a@1"]


def test_lists_come_from_the_collections_of_the_run_with_marks():
    # By popularity Ant(4) is nearest Bee(3), then Cat(2), Dog(1), Eel(0 counts as 1). Its truth
    # is Bee and Cat; of Dog there is none.
    data, store = tiny.dataset(), MemoryStore()
    made = evaluate("baseline:popularity", data=data, store=store)
    found = examples_of(made, data, store)
    ant = found.shown[0]
    assert [data.catalog.title(e.row) for e in ant.opinions[0].items] == [
        "Bee",
        "Cat",
        "Dog",
        "Eel",
    ]
    assert [e.in_truth for e in ant.opinions[0].items] == [True, True, False, False]
    assert store.builds == 1
    text = Page(as_html(made, found)).text
    assert "Ant (1990) · Fur, Six · 4 users" in text
    assert "2 of 4 in the truth" in text
    assert "in this list only" not in text  # there is no other list


def test_an_item_that_one_list_has_alone_is_marked():
    data, store = tiny.dataset(), MemoryStore()
    made = evaluate("baseline:popularity", "baseline:genre", data=data, store=store)
    lists = examples_of(made, data, store).shown[0].opinions
    assert [len(opinion.items) for opinion in lists] == [4, 4]
    assert all(e.other_rank is not None for opinion in lists for e in opinion.items)
    ranks = [{e.row: (e.rank, e.other_rank) for e in opinion.items} for opinion in lists]
    assert ranks[0] == {row: (a, b) for row, (b, a) in ranks[1].items()}


def test_a_collection_that_is_gone_is_said_and_the_rest_shown(home):
    from recdemo.store.edge import EdgeStore

    data, store = tiny.dataset(), EdgeStore(home / "collections")
    made = evaluate("baseline:popularity", "baseline:genre", data=data, store=store)
    gone = made.rows[0]
    store.delete(gone.collection)
    found = examples_of(made, data, store)
    assert len(found.notes) == 1
    assert gone.label in found.notes[0]
    assert [opinion.model for opinion in found.shown[0].opinions] == [made.rows[1].label]
    store.delete(made.rows[1].collection)
    found = examples_of(made, data, store)
    assert (len(found.notes), found.shown) == (2, ())
    assert gone.label in Page(as_html(made, found)).text


def test_lists_without_truth_have_no_marks():
    data, store = tiny.dataset(), MemoryStore()
    made = evaluate("baseline:popularity", data=data, store=store)
    text = Page(as_html(made, find_examples(made, data, store))).text
    assert "nothing is marked" in text
    assert "in the truth" not in text.replace("in the truth lists", "")


def test_other_data_than_those_of_the_run_are_refused():
    made = evaluate("baseline:popularity")
    check_same(made, tiny.dataset())
    with pytest.raises(DatasetError, match="is not the data of run"):
        check_same(made, tiny.dataset([[0, 1], [0], [1], [2], []], tiny.dataset().catalog))


def test_slices_are_in_the_page():
    slices = (Slice("genres", "Fur", 12, {100: 0.2}, {100: 0.2}, {"recall@100": None}),)
    text = Page(as_html(run(row("a:b", 8, 0.1, slices=slices)), NOTHING)).text
    assert "Recall@100 by genres" in text
    assert "0.200 too few items" in text


def test_a_run_of_one_row_without_intervals_is_a_page():
    page = Page(as_html(evaluate("baseline:popularity"), NOTHING))
    assert "1 row;" in page.text
    assert "0.8333" in page.text


@pytest.fixture
def recdemo(home):
    def call(*arguments: str):
        return CliRunner().invoke(app, arguments)

    assert call("evaluate", "baseline:genre-year", "--k", "5").exit_code == 0
    return call


def test_the_command_writes_a_page_or_text_by_the_ending_of_the_file(recdemo, tmp_path):
    assert recdemo("report", "--output", str(tmp_path / "r.html")).exit_code == 0
    text = Page((tmp_path / "r.html").read_bytes()).text
    assert "baseline:genre-year@19" in text
    assert "Star Wars: Episode IV" in text
    recdemo("report", "latest", "--output", str(tmp_path / "r.md"))
    assert "| baseline:genre-year |" in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert recdemo("report", "--format", "csv").stdout.startswith("model,dimension")
    assert json.loads(recdemo("report", "--format", "json").stdout)["ks"] == [5]
    assert recdemo("report", "--grpc").exit_code == 2  # the run's store is no server


def test_the_command_writes_a_folder_of_trec_files(recdemo, tmp_path):
    folder = tmp_path / "trec"
    assert recdemo("report", "--format", "trec", "--output", str(folder)).exit_code == 0
    names = ["README.txt", "baseline-genre-year@19.run", "qrels.txt"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert len(np.loadtxt(folder / "qrels.txt", dtype=str)) == 3706 * 5
    assert recdemo("report", "--format", "trec").exit_code == 2  # no folder named
    again = recdemo("report", "--format", "trec", "--output", str(folder))
    assert isinstance(again.exception, StoreError)


def test_a_report_is_written_without_lists_where_the_data_set_is_gone(recdemo, tmp_path):
    page = Page(recdemo("report", "--dataset", str(tmp_path / "moved")).stdout_bytes)
    assert "The example lists are left out" in page.text
    assert "baseline:genre-year" in page.text
