import numpy as np
import pytest

from recdemo.neighbors import nearest, nearest_with_ties
from recdemo.store import Batch, Candidates, Neighbors
from tests.fakes import MemoryStore, filled, info

ALL = np.arange(5, dtype=np.int32)


def test_of_equal_vectors_always_the_smallest_rows_are_found():
    store = filled(np.array([[9.0], [1], [1], [1], [1]]))
    assert nearest(store, "c", ALL, 2).rows.tolist() == [[1, 2], [2, 3], [1, 3], [1, 2], [1, 2]]


def test_a_movie_is_not_its_own_neighbor_even_with_a_twin():
    store = filled(np.array([[1.0, 2], [1, 2], [5, 5]]))
    found = nearest(store, "c", np.array([0, 1], np.int32), 1)
    assert found.rows.tolist() == [[1], [0]]
    assert found.distances.tolist() == [[0], [0]]


def test_a_tie_at_the_last_place_brings_all_that_share_it():
    store = filled(np.array([[0.0], [1], [-1], [1], [7]]))
    [part] = nearest_with_ties(store, "c", np.array([0], np.int32), 1)
    assert part.rows.tolist() == [[1, 2, 3]]
    assert part.distances.tolist() == [[1, 1, 1]]


def test_only_candidates_are_found():
    store = filled(np.array([[0.0], [1], [2], [2], [2]]))
    candidates = Candidates(np.array([True, False, False, True, True]))
    [part] = nearest_with_ties(store, "c", np.array([0], np.int32), 1, candidates)
    assert part.rows.tolist() == [[3, 4]]


def test_a_row_without_vector_finds_nothing_beside_one_with_a_tie():
    store = MemoryStore()
    whole = filled(np.array([[0.0], [1], [1]]))
    [batch] = [*whole.read("c")][:1]
    [rest] = [*whole.read("c")][1:]
    store.build(info("c", 4, 1), [batch, rest])
    [part] = nearest_with_ties(store, "c", np.array([0, 3], np.int32), 1)
    assert part.rows.tolist() == [[1, 2], [-1, -1]]
    assert np.isinf(part.distances[1]).all()


def test_a_list_shorter_than_k_is_padded():
    store = filled(np.array([[0.0], [1]]))
    assert nearest(store, "c", np.array([0], np.int32), 4).rows.tolist() == [[1, -1, -1, -1]]


@pytest.fixture(params=["as they are", "small", "one at a time"])
def blocks(request, monkeypatch):
    """Blocks of several sizes, which must not show in what is found."""
    if request.param != "as they are":
        large, small = (7, 3) if request.param == "small" else (1, 1)
        monkeypatch.setattr("recdemo.neighbors.QUERIES", 2 * large)
        monkeypatch.setattr("recdemo.neighbors.PART", large)
        monkeypatch.setattr("recdemo.neighbors.CELLS", 20 * small)
        monkeypatch.setattr("recdemo.ties.TOGETHER", large)
        monkeypatch.setattr("recdemo.ties.MOST", 30 * small)
        monkeypatch.setattr("recdemo.ties.CELLS", small)
        monkeypatch.setattr("recdemo.ties.PAIR_BYTES", 30 * small)


def oracle(vectors: np.ndarray, may: np.ndarray) -> np.ndarray:
    """Return the distances of all to all, infinite to itself and to what may not be found."""
    away = np.sqrt(((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)).astype(np.float32)
    np.fill_diagonal(away, np.inf)
    away[:, ~may] = np.inf
    return away


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.usefixtures("blocks")
def test_lists_are_those_of_a_full_sort(k):
    random = np.random.default_rng(7)
    vectors = random.integers(0, 3, (40, 3)).astype(np.float64)  # many ties and twins
    away = oracle(vectors, np.ones(40, bool))
    found = nearest(filled(vectors), "c", np.arange(40, dtype=np.int32), k)
    expected = np.argsort(away, axis=1, kind="stable")[:, :k]
    assert found.rows.tolist() == expected.tolist()
    assert found.distances == pytest.approx(np.take_along_axis(away, expected, axis=1))


@pytest.mark.usefixtures("blocks")
def test_every_item_at_the_last_distance_is_found_and_no_other():
    random = np.random.default_rng(11)
    vectors = random.integers(-1, 2, (50, 4)) * 0.1  # zeros of both signs among them
    vectors[random.random(vectors.shape) < 0.2] *= -1
    may = random.random(50) < 0.7
    away = oracle(vectors.astype(np.float32).astype(np.float64), may)
    queries = random.permutation(50)[:30].astype(np.int32)
    parts = nearest_with_ties(filled(vectors), "c", queries, 6, Candidates(may))
    lists = [rows[rows >= 0].tolist() for part in parts for rows in part.rows]
    for query, rows in zip(queries.tolist(), lists, strict=True):
        last = np.sort(away[query])[5]
        within = np.flatnonzero(away[query] <= last)
        assert rows == within[np.argsort(away[query][within], kind="stable")].tolist()


class Rough(MemoryStore):
    """An engine whose distances are right to three digits only, so many are equal."""

    def neighbors(self, *asked, **options):
        found = super().neighbors(*asked, **options)
        return Neighbors(found.rows, np.floor(found.distances * 1_000) / np.float32(1_000))


def test_an_engine_that_is_less_exact_than_it_should_be_is_not_believed():
    random = np.random.default_rng(3)
    vectors = random.random((300, 5)).astype(np.float32)
    store, rows = Rough(), np.arange(300, dtype=np.int32)
    store.build(info("c", 300, 5), [Batch(rows, vectors)])
    away = oracle(vectors.astype(np.float64), np.ones(300, bool))
    rough = store.neighbors("c", rows, 21).distances
    tied = rough[:, 19] == rough[:, 20]
    assert tied.sum() > 10
    expected = np.argsort(away, axis=1, kind="stable")[:, :20]
    assert nearest(store, "c", rows[tied], 20).rows.tolist() == expected[tied].tolist()


def test_parts_with_long_lists_are_cut_so_that_they_stay_small(monkeypatch):
    monkeypatch.setattr("recdemo.neighbors.CELLS", 100)
    vectors = np.array([[0.0]] * 40 + [[5.0 + i * i] for i in range(20)])
    parts = list(nearest_with_ties(filled(vectors), "c", np.arange(60, dtype=np.int32), 2))
    assert [part.rows.shape for part in parts[:20]] == [(2, 39)] * 20
    assert sum(len(part.rows) for part in parts) == 60
    assert all(part.rows.size <= 100 for part in parts)


def test_twins_have_the_same_distances_to_the_last_bit():
    random = np.random.default_rng(9)
    one, query = random.standard_normal(700), random.standard_normal(700)
    vectors = np.stack([query, *[one] * 400])
    [part] = nearest_with_ties(filled(vectors), "c", np.array([0], np.int32), 300)
    assert sorted(part.rows[0].tolist()) == list(range(1, 401))
    assert len(set(part.distances[0].tolist())) == 1


def test_no_queries_find_nothing():
    store = filled(np.array([[0.0], [1]]))
    assert nearest(store, "c", np.array([], np.int32), 3).rows.shape == (0, 3)
