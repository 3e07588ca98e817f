"""Index studies: what is measured, what is refused, and what is left behind, which is nothing."""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from recdemo.charts.frontier import draw, words
from recdemo.cli import app
from recdemo.errors import StoreError
from recdemo.housekeeping import chosen, unasked
from recdemo.index_study import Plan, StudyRow, check_plan, default_efs, study
from recdemo.protocols import score_collection
from recdemo.report.index_study import columns, record, sentences
from recdemo.scoring.statistics import intervals
from recdemo.store import STUDY, CollectionInfo, Layout, VectorStore
from recdemo.store.edge import EdgeStore
from recdemo.store.sizes import memory_per_item
from recdemo.truth import Truth
from tests.stores import batch, collection, memory_store

N, DIMENSION, K = 1200, 32, 10
INFO = collection(count=N, n_items=N, dimension=DIMENSION)
PLAN = Plan(K, (16, 64), (4, 16), ("none", "scalar", "binary"))
RATED = np.arange(N) % 6 > 0  # every sixth item has no interaction
QUERIES = np.flatnonzero(RATED)[::10].astype(np.int32)


def vectors() -> np.ndarray:
    random = np.random.default_rng(11)
    centers = random.standard_normal((30, DIMENSION), np.float32)
    own = random.standard_normal((N, DIMENSION), np.float32)
    return centers[random.integers(0, 30, N)] + own * np.float32(0.6)


def invented_truth() -> Truth:
    """Truth lists of the nearest by another measure, so that recall is neither 0 nor 1."""
    points = vectors()[:, :4]
    away = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(away, np.inf)
    away[:, ~RATED] = np.inf
    lists = np.argsort(away, axis=1)[:, :K].astype(np.int32)
    lists[~RATED] = -1
    return Truth("jaccard", lists, np.ones((N, K), np.float32), RATED, 100)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> EdgeStore:
    store = EdgeStore(tmp_path_factory.mktemp("study"))
    store.build(INFO, [batch(range(N), vectors())])
    return store


@pytest.fixture(scope="module")
def rows(store: EdgeStore) -> list[StudyRow]:
    return study(store, INFO, invented_truth(), QUERIES, PLAN)


def row(rows: Iterable[StudyRow], **wanted: object) -> StudyRow:
    [found] = [r for r in rows if all(getattr(r, key) == value for key, value in wanted.items())]
    return found


def test_a_study_has_the_exact_search_every_graph_and_every_quantization(
    rows: list[StudyRow],
) -> None:
    assert [each.way for each in rows] == [
        "exact",
        "HNSW m 4, ef 16",
        "HNSW m 4, ef 64",
        "HNSW m 16, ef 16",
        "HNSW m 16, ef 64",
        "HNSW m 16, ef 64, scalar, rescored",
        "HNSW m 16, ef 64, scalar, not rescored",
        "HNSW m 16, ef 64, binary, rescored",
        "HNSW m 16, ef 64, binary, not rescored",
    ]


def test_the_exact_search_finds_what_an_evaluation_finds(
    store: EdgeStore, rows: list[StudyRow]
) -> None:
    truth = invented_truth()
    scores = score_collection(store, INFO.name, truth, (K,))
    asked = np.isin(scores.queries, QUERIES)
    assert rows[0].recall == pytest.approx(float(scores.recall[asked].mean()), abs=1e-12)
    assert (rows[0].of_exact, rows[0].indexed) == (1.0, 0)
    assert 0.01 < rows[0].recall < 0.99


def test_a_graph_is_used_and_more_links_and_candidates_find_more(rows: list[StudyRow]) -> None:
    assert all(each.indexed == RATED.sum() for each in rows[1:])
    thin = row(rows, m=4, ef=16)
    thick = row(rows, m=16, ef=64, quantization="none")
    assert thin.of_exact < thick.of_exact
    assert thin.of_exact < 1


def test_rescoring_mends_what_quantization_broke(rows: list[StudyRow]) -> None:
    for quantization in ("scalar", "binary"):
        rough, mended = (
            row(rows, quantization=quantization, rescored=rescored) for rescored in (False, True)
        )
        assert rough.of_exact < mended.of_exact
        assert rough.bytes_per_item == mended.bytes_per_item < rows[0].bytes_per_item


def test_times_are_those_of_single_queries(rows: list[StudyRow]) -> None:
    for each in rows:
        assert 0 < each.p50 <= each.p95
        assert each.per_second == pytest.approx(1000 / each.p50, rel=3)


def test_no_copy_is_left_behind(store: EdgeStore, rows: list[StudyRow]) -> None:
    assert [info.name for info in store.collections()] == [INFO.name]


class Interrupting:
    """The store above, in which a person presses Ctrl-C in the middle of a copy."""

    def __init__(self, store: EdgeStore) -> None:
        self.store = store

    def __getattr__(self, name: str) -> Callable[..., object]:
        return getattr(self.store, name)

    def neighbors(self, name: str, *given: object, **named: object) -> object:
        if STUDY in name:
            raise KeyboardInterrupt
        return self.store.neighbors(name, *given, **named)  # type: ignore[arg-type]


def test_ctrl_c_leaves_no_copy(store: EdgeStore) -> None:
    with pytest.raises(KeyboardInterrupt):
        study(Interrupting(store), INFO, invented_truth(), QUERIES, PLAN)  # type: ignore[arg-type]
    assert [info.name for info in store.collections()] == [INFO.name]


def leftover(store: VectorStore, created: str) -> CollectionInfo:
    info = replace(
        INFO, name=f"{INFO.name}{STUDY}0badcafe", fingerprint="0badcafe" * 8, created=created
    )
    store.build(info, [batch(range(N), vectors())])
    return info


def test_what_a_killed_study_left_goes_with_the_next_and_a_living_one_keeps_its_copy(
    store: EdgeStore,
) -> None:
    plan = Plan(K, (16,), (4,), ("none",))
    dead = leftover(store, "2026-01-01T00:00:00+00:00")
    study(store, INFO, invented_truth(), QUERIES, plan)
    assert [info.name for info in store.collections()] == [INFO.name]
    young = leftover(store, "2999-01-01T00:00:00+00:00")
    study(store, INFO, invented_truth(), QUERIES, plan)
    assert young.name in {info.name for info in store.collections()}
    assert chosen(store, []) == [replace(INFO, complete=True)]  # what `collections copy` takes
    store.delete(dead.name)


def test_a_store_that_builds_no_index_is_refused() -> None:
    with closing(memory_store()) as store:
        store.build(INFO, [batch(range(N), vectors())])
        with pytest.raises(StoreError, match=r"no index was used for fake:model at 32"):
            study(store, INFO, invented_truth(), QUERIES[:5], Plan(K, (16,), (4,), ("none",)))
        assert [info.name for info in store.collections()] == [INFO.name]


@pytest.mark.parametrize(
    ("plan", "line"),
    [
        (Plan(100, (64,), (8,), ("none",)), "cannot find 100 neighbors among 64 candidates"),
        (Plan(100, (100,), (8,), ("none",)), "give --ef numbers above 100, as in 128,256,512"),
        (Plan(10, (16,), (1,), ("none",)), "cannot build a graph with 1 links"),
        (Plan(10, (16,), (1000,), ("none",)), "from 2 to 256"),
    ],
)
def test_plans_that_show_nothing_are_refused(plan: Plan, line: str) -> None:
    with pytest.raises(StoreError, match=line):
        check_plan(plan)


@pytest.mark.parametrize(
    ("k", "efs"), [(1, (2, 4, 8)), (100, (128, 256, 512)), (128, (256, 512, 1024))]
)
def test_by_default_searches_have_more_candidates_than_neighbors(
    k: int, efs: tuple[int, ...]
) -> None:
    assert default_efs(k) == efs


@pytest.mark.parametrize("dimension", [48, 100, 384])
@pytest.mark.parametrize("quantization", ["scalar", "binary", "turbo"])
def test_the_bytes_of_quantized_vectors_are_those_of_the_engines_file(
    tmp_path: Path, dimension: int, quantization: str
) -> None:
    n = 500
    info = collection(count=n, n_items=n, dimension=dimension)
    points = np.random.default_rng(1).standard_normal((n, dimension), np.float32)
    layout = Layout(m=8, quantization=quantization)  # type: ignore[arg-type]
    EdgeStore(tmp_path).build(info, [batch(range(n), points)], layout=layout)
    files = (tmp_path / info.name).rglob("quantized.data")
    size = max(file.stat().st_size for file in files)
    graph = memory_per_item(layout, dimension, n) - memory_per_item(
        replace(layout, m=None), dimension, n
    )
    assert graph == 2 * 8 * 9 / 8  # 500 points are told apart by 9 bits
    assert size / n == memory_per_item(replace(layout, m=None), dimension, n)


def test_a_full_vector_takes_four_bytes_a_number() -> None:
    assert memory_per_item(Layout(), 1024, 10**6) == 4096


def invented(recall: float = 0.17, spread: float = 0.0, **different: Any) -> StudyRow:
    """Invent a row; items differ by up to *spread* from a mean of *recall*, half each way."""
    scores = np.full(400, recall) + np.tile([-spread, spread], 200)
    plain = StudyRow(
        model="a:b", dimension=1024, how="native", quantization="none", m=None, ef=None,
        rescored=None, k=100, queries=400, of_exact=1.0, recall=recall,
        interval=intervals(scores[:, None])[0], chance=0.027, scores=scores, per_second=500.0,
        p50=2.0, p95=2.5, bytes_per_item=4096.0, disk_bytes_per_item=8200.0, build_seconds=0.5,
        indexed=0,
    )  # fmt: skip
    return replace(plain, **different)


SCALAR: dict[str, Any] = {"quantization": "scalar", "m": 16, "ef": 256, "bytes_per_item": 1080.0}


def test_sentences_name_the_cheapest_that_is_good_enough_and_answer_the_question() -> None:
    rows = [
        invented(),
        invented(0.1695, **SCALAR, rescored=True, p50=0.5),
        invented(0.160, **SCALAR, rescored=False, p50=0.4),
        invented(0.150, dimension=256, bytes_per_item=1024.0),
    ]
    told = " ".join(sentences(rows))
    assert "400 query items; chance: Recall@100 0.0270; " in told
    assert (
        "99 % of the best exact Recall@100 (0.1700, 1024 numbers in full) is kept with the fewest "
        "bytes by a:b@1024 (HNSW m 16, ef 256, scalar, rescored): 0.1695 at 1,080 bytes per item "
        "instead of 4,096." in told
    )
    assert (
        "a:b@1024 in scalar quantization (0.1695, 1,080 bytes) finds more than 256 in full "
        "(0.1500, 1,024 bytes)." in told
    )


def test_what_differs_by_luck_only_cannot_be_told_apart() -> None:
    rows = [
        invented(),
        invented(0.151, spread=0.1, **SCALAR, rescored=True),
        invented(0.150, dimension=256, bytes_per_item=1024.0),
    ]
    assert any(
        "in scalar quantization (0.1510, 1,080 bytes) cannot be told from 256 in full" in each
        for each in sentences(rows)
    )


def test_a_row_that_is_as_good_only_by_luck_is_not_recommended() -> None:
    lucky = invented(0.171, spread=0.1, **SCALAR, rescored=False, of_exact=0.5)
    assert lucky.recall > invented().recall
    told = sentences([invented(), lucky])
    assert any(each.startswith("Nothing smaller surely keeps 99 % of the best") for each in told)


def test_of_what_is_no_better_than_chance_there_is_nothing_to_keep() -> None:
    told = sentences([invented(0.0275, spread=0.02), invented(0.0275, **SCALAR, rescored=True)])
    assert told[1].startswith("There is nothing to keep of the best exact Recall@100 (0.0275, ")
    assert told[1].endswith("that is no better than chance.")


def test_a_few_query_items_say_nothing_of_what_is_kept() -> None:
    few: dict[str, Any] = {"interval": None, "queries": 20}
    told = sentences([invented(**few), invented(**few, **SCALAR, rescored=True)])
    assert told[1].startswith("20 query items are too few to say what keeps ")


def test_sentences_say_where_an_index_is_of_no_use_yet() -> None:
    graph = invented(m=16, ef=256, p50=2.1, indexed=3706)
    assert (
        "At 3,706 items the exact search is as fast as any index"
        in sentences([invented(), graph])[-1]
    )


def test_the_table_has_a_line_for_each_row(rows: list[StudyRow]) -> None:
    table = {column.title: column.cells for column in columns(rows)}
    assert table["Search"][0] == "exact"
    assert set(map(len, table.values())) == {len(rows)}


def test_the_chart_says_in_words_what_it_shows_and_is_the_same_each_time(
    rows: list[StudyRow], tmp_path: Path
) -> None:
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    for path in (first, second):
        draw(rows, "tiny", path)
    assert first.read_bytes() == second.read_bytes()
    assert words(rows).count("queries per second") == len(rows)
    assert "not rescored" in first.read_text("utf-8")


@pytest.fixture
def call(home: Path) -> Callable[..., tuple[int, str, str]]:
    def run(*arguments: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(app, ["index-study", *arguments])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            return 1, done.stdout, str(done.exception)
        return done.exit_code, done.stdout, done.stderr

    return run


def test_the_command_studies_a_bundled_model(
    call: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    chart = tmp_path / "frontier.svg"
    options = ("--m", "8,8", "--quantization", "none,scalar,none", "--sample", "200", "--k", "10")
    code, out, _ = call(
        "bundled:all-minilm-l6-v2@64", *options, "--format", "json", "--chart", str(chart)
    )
    assert code == 0
    found = json.loads(out)
    assert [(each["m"], each["ef"], each["rescored"]) for each in found] == [
        (None, None, None), (8, 16, None), (8, 32, None), (8, 64, None), (8, 32, True),
        (8, 32, False),
    ]  # fmt: skip
    assert found[0]["of_exact"] == 1
    assert chart.read_text("utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("options", "code", "line"),
    [
        (("nobody:model",), 1, "unknown model 'nobody:model'"),
        (("baseline:genre", "--quantization", "cubic"), 2, "'cubic' is not one of none, scalar"),
        (("baseline:genre", "--quantization", ","), 2, "',' is not one of none, scalar"),
        (("baseline:genre", "--ef", "1e3"), 1, "cannot read --ef '1e3'"),
        (("baseline:genre", "--ef", "99999999999999999999"), 1, "give --ef numbers up to 65536"),
        (("baseline:genre", "--m", "0"), 1, "cannot read --m '0'"),
        (("baseline:genre", "--ef", "50"), 1, "cannot find 100 neighbors among 50 candidates"),
        (("baseline:genre", "--k", "4000"), 1, "4000"),
        (("baseline:genre", "--sample", "3"), 1, "a sample of 3 query items says nothing"),
        (("baseline:genre", "--chart", "a.gif"), 1, "expected a name in .svg, .png or .html"),
    ],
)
def test_wrong_input_is_one_line(
    call: Callable[..., tuple[int, str, str]], options: tuple[str, ...], code: int, line: str
) -> None:
    was, out, said = call(*options)
    assert was == code
    assert line in said
    assert out == ""


def test_the_table_of_the_readme_is_that_of_the_formula() -> None:
    page = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    lines = re.findall(r"^\| ([\d,]+) x (\d+) \| (.+) \|$", page, re.M)
    assert len(lines) == 9
    for items, dimension, cells in lines:
        n = int(items.replace(",", ""))
        for quantization, cell in zip(
            ("none", "scalar", "turbo", "binary"), cells.split(" | "), strict=True
        ):
            layout = Layout(m=16, quantization=quantization)  # type: ignore[arg-type]
            wanted = 1.5 * n * memory_per_item(layout, int(dimension), n) / 2**30
            assert float(cell) == pytest.approx(wanted, abs=0.051 if wanted < 9.95 else 0.51)


def test_where_nothing_smaller_is_good_enough_that_is_said() -> None:
    assert (
        "Nothing smaller surely keeps 99 % of the best exact Recall@100 (0.1700, 1024 numbers in "
        "full, 4,096 bytes per item)." in sentences([invented(), invented(0.1, m=8, ef=128)])
    )


def test_programs_get_intervals_and_chance_and_no_scores_per_item(rows: list[StudyRow]) -> None:
    plain = record(rows[0])
    assert plain["chance"] == pytest.approx(K / (RATED.sum() - 1))
    low, high = plain["interval"]
    assert low < plain["recall"] < high
    assert "scores" not in plain
    json.dumps(plain)


def test_no_lock_file_is_left_of_a_copy(store: EdgeStore, rows: list[StudyRow]) -> None:
    assert not list(store._folder.glob(f"*{STUDY}*"))


def test_a_copy_that_a_killed_study_left_is_listed_as_one_and_pruned_after_a_day(
    home: Path,
) -> None:
    store = EdgeStore(home / "collections")
    copy = leftover(store, "2026-01-01T00:00:00+00:00")
    listed = CliRunner().invoke(app, ["collections", "list", "--format", "json"])
    assert [each["state"] for each in json.loads(listed.stdout)] == ["study copy"]
    now = datetime(2026, 1, 3, tzinfo=UTC)
    assert unasked([copy], [], 7, now) == [copy]
    assert unasked([replace(copy, created="2026-01-02T12:00:00+00:00")], [], 7, now) == []
    assert unasked([replace(copy, name="a")], [], 7, now) == []
