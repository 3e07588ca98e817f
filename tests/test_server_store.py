"""The server store over the wire: what a server is asked, and what becomes of its refusals."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from pydantic import SecretStr
from qdrant_client import QdrantClient, models

from recdemo.errors import StoreError
from recdemo.settings import settings
from recdemo.store import PLAIN, Batch, Candidates, connection, open_store, server
from recdemo.store.location import parse_location
from recdemo.store.server import ServerStore
from tests.qdrant_server import CUT, QdrantServer
from tests.stores import LINE, NEAREST, POINTS, ROWS, batch, collection, memory_store

SECRET = "s3cret-key"


@pytest.fixture
def qdrant() -> Iterator[QdrantServer]:
    with QdrantServer() as fake:
        yield fake
    assert fake.crashes == []


class Waits(list[float]):
    """Notes how long somebody would have waited."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def opened(
    url: str, key: str | None = None, sleep: Callable[[float], None] | None = None
) -> ServerStore:
    secret = None if key is None else SecretStr(key)
    return ServerStore(
        connection.connect(parse_location(url), secret, sleep=Waits() if sleep is None else sleep)
    )


def line(refused: pytest.ExceptionInfo[StoreError]) -> str:
    text = str(refused.value)
    assert "\n" not in text
    assert SECRET not in text
    return text


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_collection_goes_over_the_wire_and_back(qdrant: QdrantServer) -> None:
    with closing(opened(qdrant.url)) as store:
        store.build(LINE, POINTS)
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
        [points] = store.read(LINE.name, payloads=True)
        assert points.vectors.tolist() == [[0, 0], [0, 1], [0, 3]]
        assert points.payloads == ({"item_id": "m0"}, {"item_id": "m1"}, {"item_id": "m3"})
        assert store.collections() == [replace(LINE, complete=True)]
        store.delete(LINE.name)
        assert store.collections() == []


def test_float32_vectors_come_back_to_the_last_bit(qdrant: QdrantServer) -> None:
    vectors = np.random.default_rng(1).standard_normal((20, 7), np.float32)
    vectors[0] = [1e-38, 3.4e38, -1e-45, 0.1, -0.0, 1 / 3, 16777217]
    info = collection(count=20, n_items=20, dimension=7)
    with closing(opened(qdrant.url)) as store:
        store.build(info, [batch(range(20), vectors)])
        [points] = store.read(info.name)
    assert points.vectors.tobytes() == vectors.tobytes()


def test_no_request_is_larger_than_5_mb(qdrant: QdrantServer) -> None:
    vectors = np.random.default_rng(2).standard_normal((200, 3072), np.float32)
    info = collection(count=200, n_items=200, dimension=3072)
    with closing(opened(qdrant.url)) as store:
        store.build(info, [batch(range(200), vectors)])
    assert 1e6 < qdrant.largest() < 5e6
    assert all("wait=true" in path for _, path, _, _ in qdrant.requests if "points?" in path)


def test_a_long_filter_makes_requests_of_few_queries(
    qdrant: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REQUEST_BYTES", 4000)
    info = collection(count=200, n_items=200, dimension=1)
    with closing(opened(qdrant.url)) as store:
        store.build(info, [batch(range(200), np.arange(200.0)[:, None])])
        may = Candidates(np.arange(200) % 2 == 0)
        found = store.neighbors(info.name, np.array([10, 11], np.int32), 2, candidates=may)
    assert found.rows.tolist() == [[8, 12], [10, 12]]
    assert qdrant.largest() < 4000


def test_the_key_is_sent_and_a_wrong_one_is_one_line(qdrant: QdrantServer) -> None:
    qdrant.key = SECRET
    with closing(opened(qdrant.url, SECRET)) as store:
        store.build(LINE, POINTS)
    assert {key for *_, key in qdrant.requests} == {SECRET}
    with pytest.raises(StoreError, match="does not know the key in RECDEMO_STORE_KEY") as refused:
        opened(qdrant.url, "other")
    assert "other" not in line(refused)
    with pytest.raises(StoreError, match="asks for a key; set it in RECDEMO_STORE_KEY"):
        opened(qdrant.url)
    with pytest.raises(StoreError, match="characters that no key can have") as refused:
        opened(qdrant.url, f"{SECRET}\nx")
    line(refused)


def test_a_key_that_may_only_read_reads_and_says_so_when_it_should_write(
    qdrant: QdrantServer,
) -> None:
    with closing(opened(qdrant.url)) as store:
        store.build(LINE, POINTS)
    qdrant.read_only_key = SECRET
    with closing(opened(qdrant.url, SECRET)) as store:
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
        with pytest.raises(StoreError, match="set one that may write") as refused:
            store.build(collection(count=1), [batch([0], [[0, 0]])])
        line(refused)
        with pytest.raises(StoreError, match="set one that may write"):
            store.delete(LINE.name)


def test_nobody_at_the_address_is_one_line_at_once() -> None:
    port = free_port()
    with pytest.raises(
        StoreError, match=f"no Qdrant answers at http://127.0.0.1:{port}"
    ) as refused:
        opened(f"http://127.0.0.1:{port}", sleep=_never)
    assert "docker compose up" in line(refused)
    with pytest.raises(StoreError, match="by gRPC at port"):
        connection.connect(
            parse_location(f"grpc+http://127.0.0.1:{port}"), grpc_port=port, sleep=_never
        )


def _never(seconds: float) -> None:
    raise AssertionError("waited for a server that had not answered yet")


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (200, b"<html>a shop</html>"),
        (200, b'{"title": "a shop", "version": "1.20.0"}'),
        (200, b"[]"),
        (404, b"not here"),
        (400, b"what"),
    ],
)
def test_a_web_server_that_is_not_qdrant_is_one_line(status: int, content: bytes) -> None:
    class Shop(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Shop) as shop:
        thread = threading.Thread(target=shop.serve_forever, args=(0.01,))
        thread.start()
        with pytest.raises(StoreError, match=r"is not Qdrant.*port 6333") as refused:
            opened(f"http://127.0.0.1:{shop.server_port}", sleep=_never)
        line(refused)
        shop.shutdown()
        thread.join()


def test_https_where_http_is_spoken_is_one_line(qdrant: QdrantServer) -> None:
    secure = qdrant.url.replace("http:", "https:")
    with pytest.raises(StoreError, match=f"does not speak https; write {qdrant.url}") as refused:
        opened(secure, sleep=_never)
    line(refused)


@pytest.mark.parametrize("version", ["1.18.2", "1.22.0", "2.20.0", "0.11.0", "dev"])
def test_a_server_of_a_version_too_far_away_is_one_line(qdrant: QdrantServer, version: str) -> None:
    qdrant.version = version
    with pytest.raises(StoreError, match=f"is of version {version}.*goes with 1.19 to 1.21"):
        opened(qdrant.url)


@pytest.mark.parametrize("version", ["1.19.0", "1.20.3", "1.21.0-dev"])
def test_a_server_one_minor_version_away_is_fine_and_reported(
    qdrant: QdrantServer, version: str
) -> None:
    qdrant.version = version
    with closing(opened(qdrant.url)) as store:
        assert store.versions() == {"qdrant": version, "qdrant-client": "1.20.0"}


@pytest.mark.parametrize("fault", [CUT, 500, 503, 429])
def test_what_passes_is_tried_again(qdrant: QdrantServer, fault: int | str) -> None:
    waits = Waits()
    with closing(opened(qdrant.url, sleep=waits)) as store:
        qdrant.faults.extend([fault] * 3)
        store.build(LINE, POINTS)
        qdrant.faults.extend([None, None, fault, fault])  # look, count, ask
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
    assert waits == [0.5, 2.0, 8.0, 0.5, 2.0]


def test_a_refusal_is_not_tried_again(qdrant: QdrantServer) -> None:
    with closing(opened(qdrant.url, sleep=_never)) as store:
        qdrant.faults.extend([422])
        with pytest.raises(StoreError, match="refused with status 422: fault 422") as refused:
            store.build(LINE, POINTS)
        line(refused)


@pytest.mark.parametrize("after", range(1, 9))
def test_a_server_that_dies_in_the_middle_is_one_line_and_the_next_run_builds_it_whole(
    qdrant: QdrantServer, after: int
) -> None:
    waits = Waits()
    with closing(opened(qdrant.url, sleep=waits)) as store:
        qdrant.dead_after = len(qdrant.requests) + after - 1
        with pytest.raises(StoreError, match="no longer answers") as refused:
            store.build(LINE, [*POINTS])
        assert "run the same command again" in line(refused)
        assert waits == [0.5, 2.0, 8.0]  # and not again for the clearing away
    qdrant.dead_after = None
    with closing(opened(qdrant.url)) as store:
        store.build(LINE, POINTS)
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST
        assert store.collections() == [replace(LINE, complete=True)]


# What is there already, on the client's in-process mode.


def foreign(
    client: QdrantClient, metadata: dict[str, object] | None = None, size: int = 32
) -> None:
    client.create_collection(
        LINE.name,
        models.VectorParams(size=size, distance=models.Distance.EUCLID),
        metadata=metadata,
    )


@pytest.mark.parametrize("metadata", [None, {}, {"recdemo": "x"}, {"recdemo": {"format": 1}}])
def test_a_foreign_collection_under_our_name_is_never_touched(
    metadata: dict[str, object] | None,
) -> None:
    client = QdrantClient(":memory:")
    foreign(client, metadata)
    with closing(memory_store(client)) as store:
        asks: list[Callable[[], object]] = [
            lambda: store.build(LINE, POINTS),
            lambda: store.delete(LINE.name),
            lambda: store.neighbors(LINE.name, ROWS, 1),
            lambda: store.status(LINE.name),
        ]
        for ask in asks:
            with pytest.raises(StoreError, match="is not one of recdemo and was left as it is"):
                ask()
        assert store.collections() == []
        told = client.get_collection(LINE.name)
        assert told.config.params.vectors.size == 32  # type: ignore[union-attr]


def test_a_collection_of_a_newer_recdemo_is_left_alone() -> None:
    client = QdrantClient(":memory:")
    foreign(client, {"recdemo": {"format": 2, "fingerprint": "f"}})
    with closing(memory_store(client)) as store:
        with pytest.raises(StoreError, match="made by a newer recdemo"):
            store.build(LINE, POINTS)
        with pytest.raises(StoreError, match="made by a newer recdemo"):
            store.delete(LINE.name)
        assert store.collections() == []


def test_a_damaged_collection_says_how_to_remove_it_and_that_works() -> None:
    client = QdrantClient(":memory:")
    with closing(memory_store(client)) as store:
        store.build(LINE, POINTS)
        client.delete(LINE.name, [1])  # somebody removed a point
        for ask in (lambda: store.neighbors(LINE.name, ROWS, 1), lambda: store.read(LINE.name)):
            with pytest.raises(StoreError, match=f"'recdemo collections delete {LINE.name}'"):
                ask()
        store.delete(LINE.name)
        store.build(LINE, POINTS)
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST


@pytest.mark.parametrize("fingerprint", [LINE.fingerprint, "f" * 64])
def test_an_incomplete_collection_is_built_anew(fingerprint: str) -> None:
    client = QdrantClient(":memory:")
    other = replace(LINE, fingerprint=fingerprint)
    with closing(memory_store(client)) as store:
        store._begin(other, "somebody", PLAIN)
        store._upsert(LINE.name, batch([1], [[9, 9]]))
        assert store.status(LINE.name).state == "incomplete"
        assert store.collections() == [other]
        with pytest.raises(StoreError, match="is incomplete; load its model again"):
            store.neighbors(LINE.name, ROWS, 1)
        store.build(LINE, POINTS)
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST


def test_two_who_load_one_collection_at_once_both_end_with_a_whole_one() -> None:
    client = QdrantClient(":memory:")
    with closing(memory_store(client)) as one, closing(memory_store(client)) as two:

        def slowly() -> Iterator[Batch]:
            yield batch([0], [[0, 0]])
            two.build(LINE, POINTS)
            yield batch([1, 3], [[0, 1], [0, 3]])

        one.build(LINE, slowly())
        for store in (one, two):
            assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST


def test_who_gives_up_leaves_what_another_builds_on() -> None:
    client = QdrantClient(":memory:")
    with closing(memory_store(client)) as one, closing(memory_store(client)) as two:

        def interrupted() -> Iterator[Batch]:
            yield batch([0], [[0, 0]])
            raise KeyboardInterrupt

        def meanwhile() -> Iterator[Batch]:
            with pytest.raises(KeyboardInterrupt):
                one.build(LINE, interrupted_after_claim())
            yield from POINTS

        def interrupted_after_claim() -> Iterator[Batch]:
            two._begin(LINE, "two", PLAIN)  # while one is at it
            yield from interrupted()

        two.build(LINE, meanwhile())
        assert two.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST


def test_collections_of_others_beside_ours_are_not_listed() -> None:
    client = QdrantClient(":memory:")
    client.create_collection("theirs", models.VectorParams(size=2, distance=models.Distance.DOT))
    client.create_collection("sparse", vectors_config={})
    with closing(memory_store(client)) as store:
        store.build(LINE, POINTS)
        assert [info.name for info in store.collections()] == [LINE.name]


def test_the_store_is_opened_by_its_address(
    qdrant: QdrantServer, home: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    qdrant.key = SECRET
    monkeypatch.setenv("RECDEMO_STORE_KEY", SECRET)
    settings.cache_clear()
    assert SECRET not in repr(settings())
    with closing(open_store(qdrant.url)) as store:
        assert store.collections() == []


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("http://host", "http://host:6333"),
        ("HTTP://Host:80/", "http://host:80"),
        ("https://q.example.org", "https://q.example.org:443"),
        ("https://q.example.org/qdrant/", "https://q.example.org:443/qdrant"),
        ("http://[::1]:6333", "http://[::1]:6333"),
    ],
)
def test_addresses_are_completed(address: str, url: str) -> None:
    assert parse_location(address).url == url
    assert parse_location(f"grpc+{address}").url == url
    assert parse_location(f"grpc+{address}").grpc


@pytest.mark.parametrize(
    "address",
    [
        f"http://me:{SECRET}@host:6333",
        f"http://{SECRET}@host",
        f"http://host:6333?api_key={SECRET}",
        f"http://host#{SECRET}",
        f"http://me:{SECRET}@host:port",
        f"http://[{SECRET}",
    ],
)
def test_an_address_that_holds_a_secret_is_refused_without_telling_it(address: str) -> None:
    with pytest.raises(StoreError) as refused:
        open_store(address)
    line(refused)
