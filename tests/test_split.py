import numpy as np
import pytest

from recdemo.dataset.interactions import Interactions
from recdemo.errors import DatasetError
from recdemo.scoring.split import split
from tests import tiny
from tests.tiny import behavior


def test_the_newest_is_the_target_and_the_next_are_the_history():
    parts = split(behavior([[3, 0, 2], [1, 4]], 5), shots=2)
    assert parts.targets.tolist() == [2, 4]
    assert parts.histories.tolist() == [[0, 3], [1, -1]]
    assert parts.tie_share == 0


def test_of_equal_timestamps_the_later_line_is_newer_and_the_share_of_users_is_told():
    times = [7, 9, 9, 5, 5, 6]
    parts = split(behavior([[4, 2, 1], [3, 0, 2]], 5, times))
    assert parts.targets.tolist() == [1, 2]
    assert parts.histories.tolist() == [[2], [0]]  # of rows 3 and 0 the later line
    assert parts.tied.tolist() == [True, False]
    assert parts.tie_share == 0.5


def test_the_lines_of_users_may_be_mixed():
    users = np.array([1, 0, 1, 0, 1], np.int32)
    rows = np.array([0, 1, 2, 3, 4], np.int32)
    parts = split(Interactions(users, rows, np.array([3, 9, 1, 8, 2]), 2, 5))
    assert parts.targets.tolist() == [1, 0]
    assert parts.histories.tolist() == [[3], [4]]


def test_a_user_with_one_interaction_is_left_out_and_counted():
    parts = split(behavior([[0, 1], [3], [2, 0]], 4))
    assert parts.users.tolist() == [0, 2]
    assert parts.n_few == 1
    assert parts.rated[3]  # yet what that user touched is a candidate


def test_interactions_that_do_not_tell_what_came_last_cannot_be_split():
    with pytest.raises(DatasetError, match="needs a timestamp"):
        split(tiny.dataset().interactions())
    with pytest.raises(DatasetError, match="two interactions or more"):
        split(behavior([[0], [1]], 2))
    with pytest.raises(ValueError, match="at least 1 shot"):
        split(behavior([[0, 1]], 2), shots=0)
