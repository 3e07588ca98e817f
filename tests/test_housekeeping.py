from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from recdemo.cli import app
from recdemo.errors import RecdemoError, StoreError
from recdemo.housekeeping import chosen, copy, unasked
from recdemo.plans import Request, carry_out
from recdemo.runs.files import write_run
from recdemo.store import PLAIN, VectorStore
from recdemo.store.edge import EdgeStore
from tests import tiny
from tests.fakes import MemoryStore
from tests.qdrant_server import QdrantServer
from tests.stores import LINE, NEAREST, POINTS, ROWS, batch, collection, memory_store

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def call(*arguments: str, input: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=input)


def refused(*arguments: str) -> str:
    error = call(*arguments).exception
    assert isinstance(error, RecdemoError)
    return str(error)


def open_edge(home: Path) -> EdgeStore:
    return EdgeStore(home / "collections")


def test_what_no_run_asks_for_is_unasked_unless_it_is_young() -> None:
    run = carry_out(
        Request(models=("baseline:popularity",), ks=(1,)),
        MemoryStore(), "embedded", dataset=tiny.dataset(),
    )  # fmt: skip
    days = {"today": "2026-11-30T00:00:00+00:00", "old": "2026-11-20T00:00:00+00:00", "when": ""}
    there = [replace(collection(name, count=1), created=made) for name, made in days.items()]
    asked = replace(there[1], name="asked", fingerprint=run.rows[0].fingerprint)
    found = unasked([*there, asked], [run], 7, NOW)
    assert [info.name for info in found] == ["old", "when"]
    assert [info.name for info in unasked([*there, asked], [], 0, NOW)] == [*days, "asked"]


@pytest.mark.parametrize("there_and_back", [False, True])
def test_a_copy_holds_the_same_vectors_ids_and_facts(home: Path, there_and_back: bool) -> None:
    stores: list[VectorStore] = [open_edge(home), memory_store()]
    source, target = stores if there_and_back else stores[::-1]
    with closing(source), closing(target):
        source.build(LINE, POINTS)
        told: list[tuple[int, int]] = []
        assert copy(source, target, LINE, lambda *each: told.append(each))
        assert not copy(source, target, LINE)
        assert told == [(3, 3)]
        assert target.collections() == source.collections()
        assert target.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
        [here], [given] = (list(each.read(LINE.name, payloads=True)) for each in stores)
    assert (here.vectors == given.vectors).all()
    assert here.payloads == given.payloads == tuple({"item_id": f"m{row}"} for row in (0, 1, 3))


def test_only_complete_collections_are_copied_and_unknown_ones_are_one_line() -> None:
    with closing(memory_store()) as store:
        store.build(LINE, POINTS)
        store._begin(collection("begun", count=1), "somebody", PLAIN)
        assert [info.name for info in chosen(store, [])] == [LINE.name]
        with pytest.raises(StoreError, match="no collection 'unknown'"):
            chosen(store, ["unknown"])
        with pytest.raises(StoreError, match="is incomplete"):
            chosen(store, ["begun"])


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "items.csv").write_text("item_id,title,genres\n007,Ant,a|b\n7,Bee,b\nx-5,Cat,a\n")
    (folder / "interactions.csv").write_text("user_id,item_id\nu,007\nu,7\nv,7\nv,x-5\n")
    return folder


def test_load_fills_collections_on_a_server_that_collections_then_lists(
    home: Path, shop: Path
) -> None:
    with QdrantServer() as qdrant:
        load = ("load", "baseline:random@4,8", "--dataset", str(shop), "--text", "{title}",
                "--store", qdrant.url)  # fmt: skip
        first = call(*load)
        assert first.exit_code == 0, first.output
        assert "2 loaded, 0 there already" in first.stdout
        assert "0 loaded, 2 there already" in call(*load).stdout
        listed = call("collections", "list", "--store", qdrant.url, "--format", "csv").stdout
        assert [line.split(",")[3] for line in listed.splitlines()[1:]] == ["baseline:random"] * 2
        told = call("collections", "list", "--store", qdrant.url).stdout
        assert "qdrant 1.20.0, qdrant-client 1.20.0" in told
        [name, _] = [info.name for info in _infos(qdrant)]
        assert "complete" in call("collections", "info", name, "--store", qdrant.url).stdout
        copied = call("collections", "copy", "--store", qdrant.url, "--to", "embedded")
        assert copied.stdout.count(": 3 points") == 2, copied.output
        [points] = open_edge(home).read(name, payloads=True)
        assert points.payloads == tuple({"item_id": each} for each in ("007", "7", "x-5"))
        deleted = call("collections", "delete", name, "--store", qdrant.url)
        assert deleted.stdout == f"{name}: removed\n"
        assert len(_infos(qdrant)) == 1


def _infos(qdrant: QdrantServer) -> list:
    from recdemo.store import open_store

    with closing(open_store(qdrant.url)) as store:
        return store.collections()


def test_prune_looks_asks_and_keeps_what_runs_have_rows_of(home: Path) -> None:
    edge = open_edge(home)
    run = carry_out(
        Request(models=("baseline:genre",), ks=(1,)), edge, "embedded", dataset=tiny.dataset()
    )
    write_run(run)
    edge.build(LINE, POINTS)
    kept = run.rows[0].collection
    looked = call("collections", "prune", "--dry-run")
    assert looked.stdout == f"{LINE.name}\n1 would be removed\n"
    assert call("collections", "prune").exit_code == 2  # nobody to ask
    assert [info.name for info in edge.collections()] == [LINE.name, kept]
    assert call("collections", "prune", "--yes").stdout == f"{LINE.name}\n1 removed\n"
    assert [info.name for info in edge.collections()] == [kept]
    assert call("collections", "prune", "--yes").stdout == "nothing to remove\n"


def test_a_run_that_cannot_be_read_stops_prune(home: Path) -> None:
    open_edge(home).build(LINE, POINTS)
    (home / "runs").mkdir()
    (home / "runs" / "broken.json").write_text("{")
    assert "cannot read the run" in refused("collections", "prune", "--yes")
    assert len(open_edge(home).collections()) == 1


def test_grpc_goes_with_a_server_only(home: Path) -> None:
    assert call("collections", "list", "--grpc").exit_code == 2
    said = refused("collections", "list", "--grpc", "--store", "http://127.0.0.1:1")
    assert "asked by gRPC at port 6334" in said or "is not Qdrant" in said


def test_an_evaluation_on_a_server_finds_what_the_embedded_store_finds(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recdemo.loading.BATCH_ROWS", 2)
    request = Request(models=("baseline:genre", "baseline:lsa@2", "baseline:popularity"), ks=(1, 2))
    with closing(memory_store()) as store:
        runs = [
            carry_out(request, each, "x", dataset=tiny.dataset())
            for each in (open_edge(home), store)
        ]
    ours, theirs = ([(row.label, row.recall, row.ndcg) for row in run.rows] for run in runs)
    assert ours == theirs
    assert runs[1].versions["qdrant"] == "1.20.0"


def test_an_item_without_a_vector_stays_without_one_after_a_copy(home: Path) -> None:
    info = collection("holes.card.fake.2.12345678", count=2, n_items=5)
    with closing(memory_store()) as store:
        edge = open_edge(home)
        edge.build(info, [batch([4, 1], [[4, 0], [1, 0]])])
        copy(edge, store, info)
        found = store.neighbors(info.name, np.arange(5, dtype=np.int32), 1)
    assert found.rows.tolist() == [[-1], [4], [-1], [-1], [1]]
