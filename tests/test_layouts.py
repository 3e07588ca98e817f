"""Layouts: what an index and quantized copies change, and what they never change."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from recdemo.errors import StoreError
from recdemo.store import FloatArray, Layout, Quantization, Search, connection
from recdemo.store.edge import EdgeStore
from recdemo.store.location import parse_location
from recdemo.store.server import ServerStore
from tests.qdrant_server import QdrantServer
from tests.stores import LINE, NEAREST, POINTS, ROWS, batch, collection, memory_store

N, DIMENSION, K = 2000, 32, 10
INFO = collection(count=N, n_items=N, dimension=DIMENSION)
QUERIES = np.arange(0, N, 20, dtype=np.int32)
QUANTIZED: tuple[Quantization, ...] = ("scalar", "turbo", "binary")


def clustered() -> FloatArray:
    """Vectors around 40 centers, as those of texts on 40 topics."""
    random = np.random.default_rng(7)
    centers = random.standard_normal((40, DIMENSION), np.float32)
    own = random.standard_normal((N, DIMENSION), np.float32)
    return centers[random.integers(0, 40, N)] + own * np.float32(0.6)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[Layout, EdgeStore]:
    """One embedded store for each layout, each with the same vectors."""
    layouts = (Layout(), Layout(m=4, ef_construct=8), *(Layout(16, 100, q) for q in QUANTIZED))
    found = {}
    for layout in layouts:
        found[layout] = EdgeStore(tmp_path_factory.mktemp("layout"))
        found[layout].build(INFO, [batch(range(N), clustered())], layout=layout)
    return found


def recall(store: EdgeStore, search: Search, right: EdgeStore) -> float:
    found, truth = (
        each.neighbors(INFO.name, QUERIES, K, search=how).rows
        for each, how in ((store, search), (right, Search()))
    )
    pairs = zip(found, truth, strict=True)
    return float(np.mean([len(set(a) & set(b)) / K for a, b in pairs]))


def test_a_graph_holds_all_vectors_and_the_plain_layout_has_none(
    stores: dict[Layout, EdgeStore],
) -> None:
    indexed = {layout: store.status(INFO.name).indexed_vectors for layout, store in stores.items()}
    assert indexed.pop(Layout()) == 0
    assert set(indexed.values()) == {N}


def test_an_exact_search_is_exact_in_every_layout(stores: dict[Layout, EdgeStore]) -> None:
    plain = stores[Layout()].neighbors(INFO.name, QUERIES, K)
    for store in stores.values():
        found = store.neighbors(INFO.name, QUERIES, K)
        assert (found.rows == plain.rows).all()
        assert (found.distances == plain.distances).all()


def test_a_sparse_graph_misses_some_and_more_candidates_find_more(
    stores: dict[Layout, EdgeStore],
) -> None:
    plain, sparse = stores[Layout()], stores[Layout(m=4, ef_construct=8)]
    few, many = (recall(sparse, Search(exact=False, hnsw_ef=ef), plain) for ef in (11, 400))
    assert few < many
    assert few < 0.95


def test_quantized_copies_miss_some_and_rescoring_finds_them_again(
    stores: dict[Layout, EdgeStore],
) -> None:
    plain, scores = stores[Layout()], {}
    for quantization in QUANTIZED:
        store = stores[Layout(16, 100, quantization)]
        without, rescored = (
            recall(store, Search(exact=False, hnsw_ef=256, rescore=rescore), plain)
            for rescore in (False, True)
        )
        assert without < rescored
        scores[quantization] = without
    assert scores["scalar"] > scores["turbo"] > scores["binary"]


def test_distances_of_rescored_neighbors_are_the_true_ones(
    stores: dict[Layout, EdgeStore],
) -> None:
    vectors = clustered()
    store = stores[Layout(16, 100, "scalar")]
    found = store.neighbors(INFO.name, QUERIES, K, search=Search(exact=False, hnsw_ef=128))
    true = np.linalg.norm(vectors[found.rows] - vectors[QUERIES][:, None], axis=2)
    np.testing.assert_allclose(found.distances, true, rtol=1e-5)


def test_an_index_takes_room_and_never_too_little_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 3 * N * DIMENSION * 4 + 64 * 2**20  # enough for the plain layout only
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr("recdemo.store.files.shutil.disk_usage", lambda folder: usage)
    with pytest.raises(StoreError, match="no room for the collection"):
        EdgeStore(tmp_path).build(INFO, [batch(range(N), clustered())], layout=Layout(m=8))
    EdgeStore(tmp_path).build(INFO, [batch(range(N), clustered())])


@pytest.fixture
def qdrant() -> Iterator[QdrantServer]:
    with QdrantServer() as fake:
        yield fake
    assert fake.crashes == []


def opened(qdrant: QdrantServer, pauses: list[float]) -> ServerStore:
    return ServerStore(connection.connect(parse_location(qdrant.url), sleep=pauses.append))


def test_a_server_is_asked_for_graph_and_quantization_and_waited_for(
    qdrant: QdrantServer,
) -> None:
    qdrant.statuses.extend(["yellow", "grey", "green"])
    pauses: list[float] = []
    with closing(opened(qdrant, pauses)) as store:
        store.build(LINE, POINTS, layout=Layout(m=8, ef_construct=50, quantization="turbo"))
        found = store.neighbors(LINE.name, ROWS, 1, search=Search(exact=False, hnsw_ef=32))
    assert found.rows.tolist() == NEAREST
    asked = qdrant.created[LINE.name]
    assert asked["hnsw_config"]["m"] == 8
    assert asked["hnsw_config"]["ef_construct"] == 50
    assert asked["optimizers_config"]["indexing_threshold"] == 10
    assert asked["quantization_config"]["turbo"] == {"memory": "pinned", "bits": "bits4"}
    assert len(pauses) == 2
    assert qdrant.nudged == [LINE.name]  # what is grey goes on after an update
    params = qdrant.searches[-1]["params"]
    assert (params["hnsw_ef"], params.get("exact", False)) == (32, False)
    assert params["quantization"] == {"rescore": True, "oversampling": 2.0}


def test_a_server_without_wishes_never_builds_an_index(qdrant: QdrantServer) -> None:
    with closing(opened(qdrant, [])) as store:
        store.build(LINE, POINTS)
    asked = qdrant.created[LINE.name]
    assert asked["optimizers_config"]["indexing_threshold"] == 0
    assert asked.get("hnsw_config") is None
    assert asked.get("quantization_config") is None


def test_a_server_that_fails_at_the_index_is_one_line_and_leaves_nothing(
    qdrant: QdrantServer,
) -> None:
    qdrant.statuses.extend(["yellow", "red"])
    with closing(opened(qdrant, [])) as store:
        with pytest.raises(StoreError, match="is damaged"):
            store.build(LINE, POINTS, layout=Layout(m=8))
        assert store.collections() == []


@pytest.mark.parametrize("quantization", QUANTIZED)
def test_the_client_takes_every_quantization(quantization: Quantization) -> None:
    with closing(memory_store()) as store:
        store.build(LINE, POINTS, layout=Layout(8, 50, quantization))
        assert store.neighbors(LINE.name, ROWS, 1).rows.tolist() == NEAREST


def test_without_rescoring_the_best_by_similarity_stay_though_they_come_with_the_largest_score(
    stores: dict[Layout, EdgeStore],
) -> None:
    store = stores[Layout(16, 100, "binary")]
    rough = Search(exact=False, hnsw_ef=256, rescore=False)
    few, more = (store.neighbors(INFO.name, QUERIES, k, search=rough).rows for k in (K, 2 * K))
    kept = [len(set(a) & set(b[:K])) / K for a, b in zip(few, more, strict=True)]
    assert np.mean(kept) > 0.9  # ties in a few bits aside, the first of more are the same
