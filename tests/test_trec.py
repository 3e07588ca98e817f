from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import ir_measures
import numpy as np
import pytest
from ir_measures import R, nDCG

from recdemo.errors import DatasetError, StoreError
from recdemo.protocols import score_collection
from recdemo.runs import Row
from recdemo.trec import distinct_scores, encode, write_trec
from recdemo.truth import build_truth
from tests import tiny
from tests.charting import row, run
from tests.fakes import MemoryStore, filled

KS = (2, 5, 10)


def world(n_items: int = 40, n_users: int = 25, seed: int = 3):
    """Random data with short and empty truth lists, and vectors without ties."""
    random = np.random.default_rng(seed)
    rated = [np.flatnonzero(random.random(n_users) < 0.12).tolist() for _ in range(n_items - 2)]
    rated += [[n_users], []]  # one that shares no user, and one unrated
    items = tiny.catalog(title=[f"t{i}" for i in range(n_items)])
    return tiny.dataset(rated, items), random.normal(size=(n_items, 6)).astype(np.float32)


def measured(store, truth, name: str = "c", **fields) -> Row:
    scores = score_collection(store, name, truth, KS)
    found = row("a:b", 6, 0.0, collection=name, truth=truth.overlap, scores=scores, **fields)
    recall, ndcg = scores.means("recall"), scores.means("ndcg")
    return replace(found, queries=len(scores.queries), recall=recall, ndcg=ndcg)


def made(*rows: Row):
    return run(*rows, ks=KS, chance=dict.fromkeys(KS, 0.1))


def lines(path: Path) -> list[list[str]]:
    return [line.split(" ") for line in path.read_text(encoding="utf-8").splitlines()]


def test_other_tools_find_the_same_recall_and_ndcg_for_every_query(tmp_path):
    data, vectors = world()
    truth, store = build_truth(data.interactions(), "jaccard", 10), filled(vectors)
    lengths = (truth.neighbors[truth.queries] >= 0).sum(axis=1)
    assert (lengths.min() < 10, lengths.max() == 10) == (True, True)  # short lists are among them
    found = measured(store, truth)
    assert write_trec(made(found), data, store, {"jaccard": truth}, tmp_path / "t") == []
    scores = found.scores
    assert scores is not None
    for i, k in enumerate(KS):
        qrels = tmp_path / "t" / ("qrels.txt" if k == 10 else f"qrels.{k}.txt")
        theirs = ir_measures.iter_calc(
            [R @ k, nDCG @ k],
            list(ir_measures.read_trec_qrels(str(qrels))),
            list(ir_measures.read_trec_run(str(tmp_path / "t" / "a-b@6.run"))),
        )
        values = {(metric.query_id, str(metric.measure)): metric.value for metric in theirs}
        assert len(values) == 2 * len(truth.queries)
        for place, query in enumerate(scores.queries.tolist()):
            item = data.catalog.item_ids[query]
            assert values[item, f"R@{k}"] == pytest.approx(scores.recall[place, i], abs=1e-6)
            assert values[item, f"nDCG@{k}"] == pytest.approx(scores.ndcg[place, i], abs=1e-6)


def test_a_run_file_ranks_rated_items_and_never_the_query(tmp_path):
    data, vectors = world()
    truth, store = build_truth(data.interactions(), "jaccard", 10), filled(vectors)
    write_trec(made(measured(store, truth)), data, store, {"jaccard": truth}, tmp_path / "t")
    found = lines(tmp_path / "t" / "a-b@6.run")
    assert len(found) == 10 * len(truth.queries)
    assert {(line[1], line[5]) for line in found} == {("Q0", "a-b@6")}
    assert [int(line[3]) for line in found[:10]] == list(range(1, 11))
    assert not any(line[0] == line[2] for line in found)
    assert "i39" not in {line[2] for line in found}  # the unrated one
    query, _, item, _, score, _ = found[0]
    away = np.linalg.norm(vectors[int(query[1:])] - vectors[int(item[1:])])
    assert float(score) == pytest.approx(-away, rel=1e-6)


def test_scores_fall_strictly_and_stay_minus_the_distance_where_nothing_is_tied():
    distances = np.array([[0, 0, 0, 0.5], [1, 1, np.nextafter(np.float32(1), np.float32(2)), 2]])
    scores = distinct_scores(distances.astype(np.float32))
    assert (np.diff(scores, axis=1) < 0).all()
    assert scores[:, [0, 3]].tolist() == [[0, -0.5], [-1, -2]]
    assert np.abs(scores + distances).max() < 1e-6
    printed = np.array([[float(f"{score:.9g}") for score in line] for line in scores])
    assert (np.diff(printed.astype(np.float32), axis=1) < 0).all()


def test_tied_items_keep_the_order_of_the_catalog_and_are_counted(tmp_path):
    data, _ = world()
    truth = build_truth(data.interactions(), "jaccard", 10)
    store = filled(np.zeros((40, 6), np.float32))
    write_trec(made(measured(store, truth)), data, store, {"jaccard": truth}, tmp_path / "t")
    first = [line[2] for line in lines(tmp_path / "t" / "a-b@6.run")[:10]]
    rated = [data.catalog.item_ids[r] for r in np.flatnonzero(truth.rated)]
    query = lines(tmp_path / "t" / "a-b@6.run")[0][0]
    assert first == [item for item in rated if item != query][:10]
    n = len(truth.queries)
    assert f"{n} of {n} lists have ties" in (tmp_path / "t" / "README.txt").read_text("utf-8")


@pytest.mark.parametrize(
    "item_id",
    [
        "a b",
        "tab\there",
        "100%",
        "%20",
        "line\nbreak",
        "wide\u3000space",
        "\u00a0",
        "\x1f",
        "Łódź",
        "a:b/c#1",
    ],
)
def test_white_space_in_an_item_id_is_replaced_and_can_be_put_back(item_id):
    code = encode(item_id)
    assert len(code.split()) == 1
    assert unquote(code) == item_id


def test_ids_that_differ_stay_different_and_plain_ones_stay_as_they_are():
    ids = ["a b", "a%20b", "a_b", "a+b", "a  b", "tt0133093", "Łódź"]
    assert len({encode(item_id) for item_id in ids}) == len(ids)
    assert encode("tt0133093") == "tt0133093"
    assert encode("half \ud800") == "half%20%ED%A0%80"
    with pytest.raises(DatasetError, match="empty item_id"):
        encode("")


def test_rows_by_several_truths_share_a_run_file_and_have_qrels_each(tmp_path):
    data, vectors = world()
    store = filled(vectors)
    truths = {name: build_truth(data.interactions(), name, 10) for name in ("jaccard", "lift")}
    rows = [measured(store, truth) for truth in truths.values()]
    write_trec(made(*rows), data, store, truths, tmp_path / "t")
    names = ["README.txt", "a-b@6.run", "qrels.2.txt", "qrels.5.txt", "qrels.lift.2.txt",
             "qrels.lift.5.txt", "qrels.lift.txt", "qrels.txt"]  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == names
    assert lines(tmp_path / "t" / "qrels.txt") != lines(tmp_path / "t" / "qrels.lift.txt")
    assert "lift Recall@10" in (tmp_path / "t" / "README.txt").read_text("utf-8")


def test_files_of_models_with_like_names_are_told_apart(tmp_path):
    data, vectors = world()
    truth, store = build_truth(data.interactions(), "jaccard", 10), MemoryStore()
    for name in ("one", "two", "three"):
        store.kept |= filled(vectors, name).kept
    rows = [
        measured(store, truth, "one", text="card", fingerprint="1" * 64),
        measured(store, truth, "two", text="CARD", fingerprint="2" * 64),
        measured(store, truth, "three", text="{title} / {year}", fingerprint="3" * 64),
    ]
    write_trec(made(*rows), data, store, {"jaccard": truth}, tmp_path / "t")
    assert sorted(path.name for path in (tmp_path / "t").glob("*.run")) == [
        "a-b@6.-title-year-.run", "a-b@6.CARD.22222222.run", "a-b@6.card.11111111.run",
    ]  # fmt: skip


def test_a_collection_that_is_gone_is_left_out_with_a_note(home):
    from recdemo.store.edge import EdgeStore

    data, vectors = world()
    truth, memory = build_truth(data.interactions(), "jaccard", 10), filled(vectors)
    store = EdgeStore(home / "collections")
    found = made(measured(memory, truth))
    with pytest.raises(StoreError, match="no collection of run"):
        write_trec(found, data, store, {"jaccard": truth}, home / "t")
    assert not (home / "t").exists()
    assert [path.name for path in home.iterdir() if path.name.startswith("t.")] == []


def test_a_folder_is_written_whole_and_only_where_nothing_is(tmp_path):
    data, vectors = world()
    truth, store = build_truth(data.interactions(), "jaccard", 10), filled(vectors)
    found = made(measured(store, truth))
    (tmp_path / "t").mkdir()
    write_trec(found, data, store, {"jaccard": truth}, tmp_path / "t")  # empty: taken
    with pytest.raises(StoreError, match="it is not empty; name a new folder"):
        write_trec(found, data, store, {"jaccard": truth}, tmp_path / "t")
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="name a new folder"):
        write_trec(found, data, store, {"jaccard": truth}, tmp_path / "file")
    with pytest.raises(StoreError, match="cannot write"):
        write_trec(found, data, store, {"jaccard": truth}, tmp_path / "no" / "t")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "t"]


def test_a_run_by_the_other_protocol_has_no_lists_to_write(tmp_path):
    data, vectors = world()
    other = run(row("a:b", 6, 0.1, protocol="one-shot"))
    with pytest.raises(StoreError, match="has no lists of neighbors"):
        write_trec(other, data, filled(vectors), {}, tmp_path / "t")
