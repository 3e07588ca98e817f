import numpy as np
import pytest

from recdemo.neighbors import nearest, nearest_with_ties
from recdemo.store import Candidates
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


@pytest.mark.parametrize("k", [1, 3, 10])
def test_lists_are_those_of_a_full_sort(k, monkeypatch):
    monkeypatch.setattr("recdemo.neighbors.PART", 7)
    monkeypatch.setattr("recdemo.neighbors.PART_BYTES", 8 * 40 * 2)
    random = np.random.default_rng(7)
    vectors = random.integers(0, 3, (40, 3)).astype(np.float64)  # many ties and twins
    rows = np.arange(40, dtype=np.int32)
    found = nearest(filled(vectors), "c", rows, k)
    away = np.sqrt(((vectors[:, None] - vectors[None]) ** 2).sum(axis=2))
    np.fill_diagonal(away, np.inf)
    expected = np.argsort(away, axis=1, kind="stable")[:, :k]
    assert found.rows.tolist() == expected.tolist()
    assert found.distances == pytest.approx(np.take_along_axis(away, expected, axis=1))


def test_no_queries_find_nothing():
    store = filled(np.array([[0.0], [1]]))
    assert nearest(store, "c", np.array([], np.int32), 3).rows.shape == (0, 3)
