"""Shards and replicas: what a cluster is asked, and what is refused before anything is written."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recdemo.errors import StoreError
from recdemo.store import Layout, connection
from recdemo.store.edge import EdgeStore
from recdemo.store.location import parse_location
from recdemo.store.server import ServerStore
from tests.qdrant_server import QdrantServer
from tests.stores import LINE, NEAREST, POINTS, ROWS

AWAY = (
    "Service internal error: The replica set for shard 2 on peer 17 does not have enough active "
    "replicas"
)
UNREACHED = (
    "Service internal error: 1 of 1 read operations failed: Service internal error: Tonic status "
    'error: status: Unavailable, message: "Failed to connect to http://node-2:6335/"'
)


@pytest.fixture
def qdrant() -> Iterator[QdrantServer]:
    with QdrantServer() as fake:
        yield fake
    assert fake.crashes == []


def opened(qdrant: QdrantServer) -> ServerStore:
    return ServerStore(connection.connect(parse_location(qdrant.url), sleep=lambda seconds: None))


def test_a_cluster_is_asked_for_shards_and_for_replicas_that_have_each_write(
    qdrant: QdrantServer,
) -> None:
    qdrant.nodes = 3
    with closing(opened(qdrant)) as store:
        store.build(LINE, POINTS, layout=Layout(shards=6, replicas=2))
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
    asked = qdrant.created[LINE.name]
    assert (asked["shard_number"], asked["replication_factor"]) == (6, 2)
    assert asked["write_consistency_factor"] == 2


def test_without_wishes_the_server_decides_and_is_not_asked_what_it_is(
    qdrant: QdrantServer,
) -> None:
    with closing(opened(qdrant)) as store:
        store.build(LINE, POINTS)
    assert qdrant.created[LINE.name].get("shard_number") is None
    assert all(path != "/cluster" for _, path, _, _ in qdrant.requests)


@pytest.mark.parametrize("layout", [Layout(shards=2), Layout(replicas=2)])
def test_a_single_node_gets_neither_shards_nor_replicas(
    qdrant: QdrantServer, layout: Layout
) -> None:
    with closing(opened(qdrant)) as store:
        with pytest.raises(StoreError, match="is a single node, which has no use for shards"):
            store.build(LINE, POINTS, layout=layout)
        assert store.collections() == []


def test_more_replicas_than_nodes_are_refused_before_anything_is_embedded(
    qdrant: QdrantServer,
) -> None:
    qdrant.nodes = 3

    def never() -> Iterator:
        pytest.fail("vectors were asked for")
        yield

    with closing(opened(qdrant)) as store:
        with pytest.raises(StoreError, match=r"has 3 nodes; give --replicas 3 or fewer"):
            store.build(LINE, never(), layout=Layout(replicas=4))
        assert store.collections() == []


def test_a_collection_that_is_laid_out_otherwise_is_not_passed_over(qdrant: QdrantServer) -> None:
    qdrant.nodes = 3
    with closing(opened(qdrant)) as store:
        store.build(LINE, POINTS, layout=Layout(shards=3, replicas=2))
        store.build(LINE, POINTS)
        store.build(LINE, POINTS, layout=Layout(replicas=2))
        with pytest.raises(StoreError, match="with 3 shards, not 6; remove it with 'recdemo"):
            store.build(LINE, POINTS, layout=Layout(shards=6))


def test_an_incomplete_collection_that_is_laid_out_otherwise_is_not_written_on(
    qdrant: QdrantServer,
) -> None:
    qdrant.nodes = 3
    with closing(opened(qdrant)) as store:
        store._begin(LINE, "somebody", Layout(shards=3))
        with pytest.raises(StoreError, match="with 3 shards, not 6"):
            store.build(LINE, POINTS, layout=Layout(shards=6))


@pytest.mark.parametrize("text", [AWAY, UNREACHED])
def test_a_cluster_that_cannot_answer_whole_says_that_a_node_is_away(
    qdrant: QdrantServer, text: str
) -> None:
    with closing(opened(qdrant)) as store:
        store.build(LINE, POINTS)
        qdrant.faults.extend([(500, text)] * 4)
        with pytest.raises(StoreError, match="cannot answer whole, since a node is away") as said:
            store.neighbors(LINE.name, ROWS, 1)
        assert "--replicas 2" in str(said.value)
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST  # it is back


def test_a_node_that_comes_back_in_time_is_only_waited_for(qdrant: QdrantServer) -> None:
    with closing(opened(qdrant)) as store:
        store.build(LINE, POINTS)
        qdrant.faults.extend([(500, UNREACHED)] * 3)
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST


def test_the_embedded_store_knows_no_shards(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="shards and replicas are for a Qdrant cluster"):
        EdgeStore(tmp_path).build(LINE, POINTS, layout=Layout(shards=2))
    assert not list(tmp_path.iterdir())


def load(home: Path, *options: str, folder: Path | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "recdemo", *options],
        env={"RECDEMO_HOME": str(home), "COLUMNS": "200", "PATH": ""},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_load_lays_collections_out_over_the_cluster_that_an_env_file_names(
    qdrant: QdrantServer, tmp_path: Path
) -> None:
    qdrant.nodes = 3
    (tmp_path / ".env").write_text(f"RECDEMO_STORE={qdrant.url}\n")
    command = (
        "load",
        "baseline:random@2",
        "--dataset",
        str(Path(__file__).parent / "data/tiny-csv"),
    )
    done = load(tmp_path / "home", *command, "--shards", "6", "--replicas", "2", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"1 loaded, 0 there already, in {qdrant.url}" in done.stdout
    [asked] = qdrant.created.values()
    assert (asked["shard_number"], asked["replication_factor"]) == (6, 2)


def test_shards_without_a_server_are_one_line(tmp_path: Path) -> None:
    command = (
        "load",
        "baseline:random@2",
        "--dataset",
        str(Path(__file__).parent / "data/tiny-csv"),
    )
    done = load(tmp_path, *command, "--shards", "2", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("recdemo: shards and replicas are for a Qdrant cluster; ")
    assert done.stderr.count("\n") == 1


def two_nodes(one: QdrantServer, other: QdrantServer, notes: list[str]) -> ServerStore:
    """Open a cluster by the addresses of two of its nodes, which hold the same."""
    other.client = one.client
    location = parse_location(f"{one.url},{other.url}")
    return ServerStore(
        connection.connect(location, on_wait=notes.append, sleep=lambda seconds: None)
    )


def test_when_the_node_that_is_asked_goes_away_the_next_is_asked() -> None:
    notes: list[str] = []
    with QdrantServer() as one, QdrantServer() as other:
        with closing(two_nodes(one, other, notes)) as store:
            store.build(LINE, POINTS)
            assert other.requests == []
            one.dead_after = 0
            assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
            one.dead_after, other.dead_after = None, 0  # it is back, and the other one goes
            assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
        assert [note.partition(" (")[0] for note in notes] == [
            f"{one.url} does not answer",
            f"{other.url} does not answer",
        ]
        assert notes[0].endswith(f"; asking {other.url}")


def test_a_node_that_is_away_from_the_start_is_passed_over() -> None:
    notes: list[str] = []
    with QdrantServer() as one, QdrantServer() as other:
        one.dead_after = 0
        with closing(two_nodes(one, other, notes)) as store:
            store.build(LINE, POINTS)
            assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
        assert len(notes) == 1


def test_when_no_node_answers_there_is_one_line_after_all_waits() -> None:
    notes: list[str] = []
    with (
        QdrantServer() as one,
        QdrantServer() as other,
        closing(two_nodes(one, other, notes)) as store,
    ):
        store.build(LINE, POINTS)
        one.dead_after = other.dead_after = 0
        with pytest.raises(StoreError, match="no longer answers"):
            store.neighbors(LINE.name, ROWS, 1)


def test_an_answer_is_an_answer_and_no_other_node_is_asked() -> None:
    notes: list[str] = []
    with QdrantServer() as one, QdrantServer() as other:
        one.key = other.key = "secret"
        with pytest.raises(StoreError, match="asks for a key"):
            two_nodes(one, other, notes)
        assert (len(notes), len(other.requests)) == (0, 0)
