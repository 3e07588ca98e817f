"""What only a real Qdrant can show; the contract of a store runs on it in ``test_store.py``."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from recdemo.errors import StoreError
from recdemo.plans import Request, carry_out
from recdemo.runs import differences
from recdemo.store import Batch, Candidates, CollectionInfo, FloatArray, Layout
from recdemo.store.connection import QDRANT_IMAGE, connect
from recdemo.store.edge import EdgeStore
from recdemo.store.location import parse_location
from recdemo.store.server import ServerStore
from tests.servers import RealServer, cluster, running
from tests.stores import LINE, NEAREST, POINTS, ROWS, batch, collection

pytestmark = pytest.mark.docker


def large(n_items: int, dimension: int) -> tuple[CollectionInfo, FloatArray, list[Batch]]:
    vectors = np.random.default_rng(5).standard_normal((n_items, dimension), np.float32)
    info = collection(count=n_items, n_items=n_items, dimension=dimension)
    rows = np.arange(n_items)
    parts = np.array_split(rows, 4)
    return info, vectors, [batch(part, vectors[part]) for part in parts]


def test_an_evaluation_finds_what_the_embedded_store_finds(
    real_server: RealServer, home: Path
) -> None:
    models = ("baseline:genre-year", "baseline:random@64", "bundled:all-minilm-l6-v2@64,384")
    request = Request(models=models)
    with closing(real_server.open()) as store, closing(EdgeStore(home / "edge")) as edge:
        ours, theirs = (carry_out(request, each, "x") for each in (edge, store))
    assert differences(ours, theirs) == []
    assert [row.label for row in ours.rows] == [row.label for row in theirs.rows]


@pytest.mark.parametrize("grpc", [False, True])
def test_a_collection_of_the_size_that_is_indexed_by_default_stays_exact(
    real_server: RealServer, tmp_path: Path, grpc: bool
) -> None:
    info, _, batches = large(5000, 1024)
    may = Candidates(np.arange(5000) % 20 > 0)
    queries = np.arange(0, 5000, 50, dtype=np.int32)
    with closing(real_server.open(grpc=grpc)) as store, closing(EdgeStore(tmp_path)) as edge:
        for each in (store, edge):
            each.build(info, batches)
        found, right = (
            each.neighbors(info.name, queries, 100, candidates=may) for each in (store, edge)
        )
        status = store.status(info.name)
    assert (found.rows == right.rows).all()
    np.testing.assert_allclose(found.distances, right.distances, rtol=1e-5)
    assert (status.count, status.indexed_vectors, status.state) == (5000, 0, "complete")


def test_all_points_are_there_right_after_loading_time_and_again(real_server: RealServer) -> None:
    info, _, batches = large(3883, 8)
    with closing(real_server.open()) as store:
        for _ in range(10):
            store.build(info, batches)
            assert store.status(info.name).count == 3883
            store.delete(info.name)


def test_a_collection_is_loaded_and_asked_within_the_budget(real_server: RealServer) -> None:
    info, _, batches = large(3706, 1024)
    with closing(real_server.open()) as store:
        started = time.perf_counter()
        store.build(info, batches)
        store.neighbors(info.name, np.arange(3706, dtype=np.int32), 101)
        assert time.perf_counter() - started < 10


def test_vectors_come_back_to_the_last_bit(real_server: RealServer) -> None:
    info, vectors, batches = large(200, 3072)
    for grpc in (False, True):
        with closing(real_server.open(grpc=grpc)) as store:
            store.build(info, batches)
            read = np.concatenate([part.vectors for part in store.read(info.name)])
            assert read.tobytes() == vectors.tobytes()
            store.delete(info.name)


def test_a_foreign_collection_is_left_alone(real_server: RealServer) -> None:
    from qdrant_client import models

    with closing(real_server.open()) as store:
        theirs = models.VectorParams(size=32, distance=models.Distance.EUCLID)
        store._client.create_collection(LINE.name, theirs)
        with pytest.raises(StoreError, match="is not one of recdemo"):
            store.build(LINE, POINTS)
        assert store.collections() == []


def test_keys_that_are_wrong_or_may_only_read_are_one_line(request: pytest.FixtureRequest) -> None:
    with running(request, API_KEY="right", READ_ONLY_API_KEY="reading") as server:
        for grpc in (False, True):
            with closing(server.open(grpc=grpc)) as store:
                store.build(LINE, POINTS)
            with pytest.raises(StoreError, match="RECDEMO_STORE_KEY") as refused:
                server.open("wrong", grpc=grpc)
            assert "wrong" not in str(refused.value)
            with closing(server.open("reading", grpc=grpc)) as store:
                assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
                with pytest.raises(StoreError, match="set one that may write"):
                    store.delete(LINE.name)


def test_data_outlast_a_restart_and_a_load_goes_on_over_one(request: pytest.FixtureRequest) -> None:
    with running(request) as server, closing(server.open()) as store:
        store.build(LINE, POINTS)
        info, vectors, batches = large(2000, 256)

        def restarted() -> Iterator[Batch]:
            for i, each in enumerate(batches):
                if i == 2:
                    server.container.get_wrapped_container().restart()
                yield each

        store.build(info, restarted())
        read = np.concatenate([part.vectors for part in store.read(info.name)])
        assert (read == vectors).all()
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST


def test_a_load_that_a_dead_server_cut_short_is_built_anew(request: pytest.FixtureRequest) -> None:
    with running(request) as server:
        info, _, batches = large(2000, 256)
        container = server.container.get_wrapped_container()

        def killed() -> Iterator[Batch]:
            yield batches[0]
            container.kill()
            yield from batches[1:]

        with (
            closing(server.open()) as store,
            pytest.raises(StoreError, match="no longer answers"),
        ):
            store.build(info, killed())
        container.start()
        _until_it_answers(server)
        with closing(server.open()) as store:
            assert [each.complete for each in store.collections()] == [False]
            store.build(info, batches)
            assert store.status(info.name).state == "complete"


def _until_it_answers(server: RealServer) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            server.open().close()
        except StoreError:
            if time.monotonic() > end:
                raise
        else:
            return


def test_a_cluster_reads_on_with_a_node_down_where_each_part_stands_twice(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    info, _, batches = large(2000, 64)
    queries = np.arange(0, 2000, 10, dtype=np.int32)
    with closing(EdgeStore(tmp_path)) as edge:
        edge.build(info, batches)
        right = edge.neighbors(info.name, queries, 100)
    with cluster(request) as nodes, closing(nodes[0].open()) as store:
        store.build(info, batches, layout=Layout(shards=6, replicas=2))
        for down in (None, *nodes[1:]):  # never the node that is asked
            if down is not None:
                down.container.get_wrapped_container().stop()
            found = store.neighbors(info.name, queries, 100)
            assert (found.rows == right.rows).all()
            assert store.status(info.name).count == 2000
            if down is not None:
                down.container.get_wrapped_container().start()
                _until_it_answers(down)
                _until_all_parts_are_back(store, info.name)
        with pytest.raises(StoreError, match="has 3 nodes; give --replicas 3 or fewer"):
            store.build(LINE, POINTS, layout=Layout(replicas=4))
        named = parse_location(",".join(node.url for node in nodes))
        with closing(ServerStore(connect(named))) as all_nodes:
            nodes[0].container.get_wrapped_container().stop()  # the one that is asked
            found = all_nodes.neighbors(info.name, queries, 100)
            assert (found.rows == right.rows).all()


def _until_all_parts_are_back(store: ServerStore, name: str) -> None:
    """Wait for the replicas of a node that was away; else the next to go may be the last."""
    end = time.monotonic() + 60
    while True:
        told = store._client.collection_cluster_info(name)
        states = [part.state for part in told.local_shards]
        states += [part.state for part in told.remote_shards]
        if {state.value for state in states} == {"Active"} and not told.shard_transfers:
            return
        assert time.monotonic() < end, f"not all parts are active: {states}"
        time.sleep(0.2)


def test_a_cluster_that_lacks_a_part_is_one_line(request: pytest.FixtureRequest) -> None:
    info, _, batches = large(2000, 64)
    with cluster(request) as nodes, closing(nodes[0].open()) as store:
        store.build(info, batches, layout=Layout(shards=6, replicas=1))
        nodes[2].container.get_wrapped_container().stop()
        with pytest.raises(StoreError, match="cannot answer whole, since a node is away"):
            store.neighbors(info.name, np.arange(10, dtype=np.int32), 100)


def test_a_single_node_takes_neither_shards_nor_replicas(real_server: RealServer) -> None:
    with (
        closing(real_server.open()) as store,
        pytest.raises(StoreError, match="is a single node"),
    ):
        store.build(LINE, POINTS, layout=Layout(shards=2))


def test_the_server_is_of_the_version_that_the_code_names(real_server: RealServer) -> None:
    with closing(real_server.open()) as store:
        client = store.versions()["qdrant-client"]
        assert client.rsplit(".", 1)[0] == QDRANT_IMAGE.partition(":v")[2].rsplit(".", 1)[0]
