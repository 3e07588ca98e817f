"""The contract of a store, the same for every back end."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recdemo.errors import StoreError
from recdemo.store import (
    Batch,
    Candidates,
    IntArray,
    VectorStore,
    check_vectors,
    open_store,
)
from tests.qdrant_grpc import QdrantGrpcServer
from tests.stores import batch, brute_force, collection, open_test_store

# Five items on a line: 0 and 1 are twins, 3 has no vector.
LINE = {0: 0.0, 1: 0.0, 2: 1.0, 4: 3.0}


BACK_ENDS = ["edge", "memory", "grpc", pytest.param("server", marks=pytest.mark.docker)]


@pytest.fixture(params=BACK_ENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    with ExitStack() as stack:
        if request.param == "server":
            opened: VectorStore = request.getfixturevalue("real_server").open()
        elif request.param == "grpc":
            opened = stack.enter_context(QdrantGrpcServer()).open()
        else:
            opened = open_test_store(request.param, tmp_path / "collections")
        yield stack.enter_context(closing(opened))


def build_line(store: VectorStore) -> str:
    info = collection(count=4, n_items=5, dimension=1)
    store.build(info, [batch([0, 1, 2, 4], [[LINE[row]] for row in (0, 1, 2, 4)])])
    return info.name


def rows(*values: int) -> IntArray:
    return np.array(values, np.int32)


def mask(*values: int) -> Candidates:
    return Candidates(np.array(values, bool))


def test_neighbors_come_nearest_first_with_their_distances(store: VectorStore) -> None:
    found = store.neighbors(build_line(store), rows(4), 3)
    assert found.rows.tolist() == [[2, 0, 1]]
    assert found.distances.tolist() == [[2.0, 3.0, 3.0]]
    assert found.rows.dtype == np.int32
    assert found.distances.dtype == np.float32


def test_an_item_is_not_its_own_neighbor_even_with_a_twin(store: VectorStore) -> None:
    found = store.neighbors(build_line(store), rows(0, 1), 1)
    assert found.rows.tolist() == [[1], [0]]
    assert found.distances.tolist() == [[0.0], [0.0]]


def test_lists_are_padded_where_fewer_than_k_can_be_found(store: VectorStore) -> None:
    found = store.neighbors(build_line(store), rows(2), 6)
    assert found.rows.tolist() == [[0, 1, 4, -1, -1, -1]]
    assert found.distances.tolist() == [[1.0, 1.0, 2.0, np.inf, np.inf, np.inf]]


def test_an_item_without_a_vector_finds_nothing_and_is_never_found(store: VectorStore) -> None:
    found = store.neighbors(build_line(store), rows(3, 2, 3), 4)
    assert found.rows.tolist() == [[-1] * 4, [0, 1, 4, -1], [-1] * 4]


def test_equal_distances_are_sorted_by_row(store: VectorStore) -> None:
    info = collection(count=6, n_items=6, dimension=2)
    around = [[0, 0], [0, 1], [1, 0], [0, -1], [-1, 0], [0, 2]]
    store.build(info, [batch([5, 3, 1, 4, 2, 0], [around[i] for i in (5, 3, 1, 4, 2, 0)])])
    found = store.neighbors(info.name, rows(0), 5)
    assert found.rows.tolist() == [[1, 2, 3, 4, 5]]


@pytest.mark.parametrize(
    ("may", "expected"),
    [
        pytest.param(mask(1, 1, 1, 1, 1), [[1, 2, 4], [2, 0, 1]], id="all"),
        pytest.param(mask(0, 1, 1, 1, 1), [[1, 2, 4], [2, 1, -1]], id="most"),
        pytest.param(mask(0, 1, 0, 1, 0), [[1, -1, -1], [1, -1, -1]], id="few"),
        pytest.param(mask(0, 0, 0, 0, 1), [[4, -1, -1], [-1, -1, -1]], id="the query only"),
        pytest.param(mask(0, 0, 0, 1, 0), [[-1, -1, -1], [-1, -1, -1]], id="one without a vector"),
        pytest.param(mask(0, 0, 0, 0, 0), [[-1, -1, -1], [-1, -1, -1]], id="none"),
    ],
)
def test_only_candidates_are_found(
    store: VectorStore, may: Candidates, expected: list[list[int]]
) -> None:
    found = store.neighbors(build_line(store), rows(0, 4), 3, candidates=may)
    assert found.rows.tolist() == expected


def test_no_queries_give_no_lists(store: VectorStore) -> None:
    found = store.neighbors(build_line(store), rows(), 3)
    assert (found.rows.shape, found.distances.shape) == ((0, 3), (0, 3))


@pytest.mark.parametrize("share", [1.0, 0.95, 0.5, 0.1])
def test_neighbors_equal_brute_force(store: VectorStore, share: float) -> None:
    random = np.random.default_rng(7)
    n_items, k = 400, 20
    vectors = random.standard_normal((n_items, 24), np.float32)
    with_vector = np.flatnonzero(random.random(n_items) < 0.9).astype(np.int32)
    info = collection(count=len(with_vector), n_items=n_items, dimension=24)
    arriving = random.permutation(with_vector)
    store.build(info, [batch(part, vectors[part]) for part in np.array_split(arriving, 5)])
    may = random.random(n_items) < share
    queries = random.permutation(n_items).astype(np.int32)
    found = store.neighbors(info.name, queries, k, candidates=Candidates(may))
    expected = brute_force(vectors, with_vector[may[with_vector]], with_vector, queries, k)
    assert (found.rows == expected.rows).all()
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-6)


def test_points_are_read_in_the_order_of_their_rows(store: VectorStore) -> None:
    info = collection(count=3, n_items=9, dimension=2)
    store.build(info, [batch([7, 2], [[7, 0], [2, 0]]), batch([5], [[5, 0]])])
    points = list(store.read(info.name))
    assert np.concatenate([part.rows for part in points]).tolist() == [2, 5, 7]
    vectors = np.concatenate([part.vectors for part in points])
    assert vectors.tolist() == [[2, 0], [5, 0], [7, 0]]
    assert vectors.dtype == np.float32


def test_a_collection_may_be_empty(store: VectorStore) -> None:
    info = collection(count=0, n_items=2, dimension=3)
    store.build(info, [])
    assert store.neighbors(info.name, rows(0, 1), 2).rows.tolist() == [[-1, -1], [-1, -1]]
    assert list(store.read(info.name)) == []
    assert store.status(info.name).count == 0


def test_a_complete_collection_is_not_built_again(store: VectorStore) -> None:
    name = build_line(store)
    asked = []

    def batches() -> Iterator[Batch]:
        asked.append("for vectors")
        yield batch([0], [[1]])

    store.build(collection(count=4, n_items=5, dimension=1), batches())
    assert asked == []
    assert store.neighbors(name, rows(4), 1).rows.tolist() == [[2]]


@pytest.mark.parametrize("change", [{"fingerprint": "f" * 64}, {"dimension": 2}, {"count": 3}])
def test_a_collection_that_holds_something_else_is_not_replaced(
    store: VectorStore, change: dict[str, object]
) -> None:
    name = build_line(store)
    other = replace(collection(count=4, n_items=5, dimension=1), **change)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="holds something else"):
        store.build(other, [])
    assert store.neighbors(name, rows(4), 1).rows.tolist() == [[2]]


def test_collections_are_listed_by_name_with_all_that_is_known_of_them(store: VectorStore) -> None:
    assert store.collections() == []
    for name in ("b", "a"):
        store.build(collection(name, count=1), [batch([0], [[0, 0]])])
    assert store.collections() == [
        replace(collection(name, count=1), complete=True) for name in ("a", "b")
    ]


def test_status_tells_what_a_collection_takes_up(store: VectorStore) -> None:
    status = store.status(build_line(store))
    assert (status.count, status.indexed_vectors, status.state) == (4, 0, "complete")
    assert 4 * 4 < status.bytes_on_disk < 2**20


def test_a_deleted_collection_is_gone_and_can_be_built_again(store: VectorStore) -> None:
    name = build_line(store)
    store.delete(name)
    assert store.collections() == []
    with pytest.raises(StoreError, match="no collection"):
        store.neighbors(name, rows(0), 1)
    build_line(store)
    assert store.neighbors(name, rows(4), 1).rows.tolist() == [[2]]


@pytest.mark.parametrize("name", ["unknown", "../elsewhere", "", ".", "a/b", "a.tmp-b"])
def test_an_unknown_collection_is_one_line(store: VectorStore, name: str) -> None:
    build_line(store)
    asks: list[Callable[[], object]] = [
        lambda: store.neighbors(name, rows(0), 1),
        lambda: store.read(name),
        lambda: store.status(name),
        lambda: store.delete(name),
    ]
    for ask in asks:
        with pytest.raises(StoreError, match="no collection"):
            ask()


BAD = [
    pytest.param([0], [[np.nan, 0]], "row 0 holds NaN or infinity", id="NaN"),
    pytest.param([1], [[np.inf, 0]], "row 1 holds NaN or infinity", id="infinity"),
    pytest.param([0], [[1]], "expected vectors of 2 numbers", id="too short"),
    pytest.param([0, 1], [[1, 2]], "expected vectors of 2 numbers", id="too few"),
    pytest.param([5], [[1, 2]], "rows beyond", id="row too large"),
    pytest.param([-1], [[1, 2]], "rows beyond", id="row below zero"),
]


@pytest.mark.parametrize(("bad_rows", "bad_vectors", "message"), BAD)
def test_bad_vectors_are_refused_and_nothing_is_left(
    store: VectorStore, bad_rows: list[int], bad_vectors: list[list[float]], message: str
) -> None:
    info = collection(count=3, n_items=5)
    with pytest.raises(StoreError, match=message):
        store.build(info, [batch([4], [[0, 0]]), batch(bad_rows, bad_vectors)])
    assert store.collections() == []


def test_vectors_of_another_type_are_a_mistake() -> None:
    too_precise = Batch(rows(0), np.zeros((1, 2)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="float32"):
        check_vectors(too_precise, collection(count=1))


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        pytest.param([[0, 1], [1]], "row 1 came twice", id="in two batches"),
        pytest.param([[0, 2, 2]], "row 2 came twice", id="in one batch"),
        pytest.param([[0, 1]], "expected 3 points, 2 came", id="too few"),
        pytest.param([[0, 1], [2, 3]], "expected 3 points, 4 came", id="too many"),
    ],
)
def test_points_that_do_not_add_up_are_a_mistake(
    store: VectorStore, batches: list[list[int]], message: str
) -> None:
    info = collection(count=3, n_items=5)
    with pytest.raises(ValueError, match=message):
        store.build(info, [batch(part, [[0, 0]] * len(part)) for part in batches])
    assert store.collections() == []


@pytest.mark.parametrize(
    ("asked", "k", "may", "message"),
    [
        ((5,), 1, None, "row 5 is beyond the 5 items"),
        ((-1,), 1, None, "row -1 is beyond the 5 items"),
        ((0,), 0, None, "k is 0"),
        ((0,), 1, mask(1, 1), "mask of candidates"),
    ],
)
def test_a_question_that_makes_no_sense_is_a_mistake(
    store: VectorStore, asked: tuple[int, ...], k: int, may: Candidates | None, message: str
) -> None:
    name = build_line(store)
    with pytest.raises(ValueError, match=message):
        store.neighbors(name, rows(*asked), k, candidates=may)


def test_ctrl_c_while_vectors_arrive_leaves_nothing(store: VectorStore) -> None:
    info = collection(count=2)

    def interrupted() -> Iterator[Batch]:
        yield batch([0], [[0, 0]])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.build(info, interrupted())
    assert store.collections() == []
    store.build(info, [batch([0, 1], [[0, 0], [3, 4]])])
    assert store.neighbors(info.name, rows(0), 1).distances.tolist() == [[5.0]]


def test_what_the_batches_raise_comes_through_unchanged(store: VectorStore) -> None:
    class ServiceIsAwayError(OSError):
        pass

    def failing() -> Iterator[Batch]:
        yield batch([0], [[0, 0]])
        raise ServiceIsAwayError

    with pytest.raises(ServiceIsAwayError):
        store.build(collection(count=2), failing())
    assert store.collections() == []


def test_an_unknown_kind_of_store_is_one_line() -> None:
    with pytest.raises(StoreError, match="unknown store 'nowhere'"):
        open_store("nowhere")


def test_each_question_is_timed_on_its_own_and_one_without_a_vector_takes_no_time(
    store: VectorStore,
) -> None:
    took = store.seconds(build_line(store), rows(4, 3, 0), 2)
    assert took.shape == (3,)
    assert took[1] == 0
    assert (took[[0, 2]] > 0).all()
    with pytest.raises(ValueError, match="row 5 is beyond the 5 items"):
        store.seconds(build_line(store), rows(5), 2)
