"""The server store by gRPC, over the wire; its contract runs in ``test_store.py``."""

from contextlib import closing

import numpy as np
import pytest

from recdemo.errors import StoreError
from tests.qdrant_grpc import QdrantGrpcServer
from tests.stores import LINE, NEAREST, POINTS, ROWS, batch, collection


def test_all_that_a_load_and_a_query_ask_goes_by_grpc() -> None:
    with QdrantGrpcServer() as server, closing(server.open()) as store:
        store.build(LINE, POINTS)
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
        assert [info.complete for info in store.collections()] == [True]
    asked = {"HealthCheckRequest", "CreateCollection", "UpsertPoints", "QueryBatchPoints"}
    assert asked <= set(server.calls)


def test_wide_vectors_come_back_to_the_last_bit_in_requests_below_5_mb() -> None:
    vectors = np.random.default_rng(3).standard_normal((1000, 3072), np.float32)
    info = collection(count=1000, n_items=1000, dimension=3072)
    with QdrantGrpcServer() as server, closing(server.open()) as store:
        store.build(info, [batch(range(1000), vectors)])
        read = np.concatenate([part.vectors for part in store.read(info.name)])
    assert read.tobytes() == vectors.tobytes()
    assert 5e5 < server.largest < 5e6


def test_a_key_goes_along_and_a_wrong_one_is_one_line() -> None:
    with QdrantGrpcServer(key="right") as server:
        with closing(server.open("right")) as store:
            store.build(LINE, POINTS)
        with pytest.raises(StoreError, match="does not know the key in RECDEMO_STORE_KEY"):
            server.open("wrong")
        with pytest.raises(StoreError, match="asks for a key; set it in RECDEMO_STORE_KEY"):
            server.open()


def test_a_collection_that_is_not_there_is_one_line() -> None:
    with (
        QdrantGrpcServer() as server,
        closing(server.open()) as store,
        pytest.raises(StoreError, match="no collection 'unknown'"),
    ):
        store.neighbors("unknown", ROWS, 1)
