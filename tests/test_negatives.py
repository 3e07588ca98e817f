import math
import os
import subprocess
import sys

import numpy as np
import pytest

from recdemo.errors import StoreError
from recdemo.scoring.negatives import draw_negatives, find_negatives, negatives_path
from recdemo.scoring.split import split
from tests.tiny import behavior


def test_negatives_are_distinct_rated_items_that_the_user_never_touched():
    random = np.random.default_rng(1)
    lists = [random.permutation(400)[: random.integers(2, 300)].tolist() for _ in range(60)]
    parts = split(behavior([*lists, list(range(390))], 500))
    for n in (20, 99, 250):  # drawn by rejection, by shuffling, and all that is left
        negatives = draw_negatives(parts, n)
        for user, rows in zip(negatives.users, negatives.rows.tolist(), strict=True):
            touched = set(lists[user]) if user < 60 else set(range(390))
            drawn = [row for row in rows if row >= 0]
            assert drawn == sorted(set(drawn))
            assert not set(drawn) & touched
            free = set(np.flatnonzero(parts.rated).tolist()) - touched
            assert set(drawn) <= free
            assert len(drawn) == min(n, len(free))
            assert rows[len(drawn) :] == [-1] * (len(rows) - len(drawn))


@pytest.mark.parametrize("n", [3, 30])  # by rejection, and by shuffling
def test_every_item_is_drawn_equally_often(n):
    n_users = 3000
    lists = [[0, 1] for _ in range(n_users)] + [list(range(40))]
    drawn = draw_negatives(split(behavior(lists, 41)), n).rows[:n_users]
    times = np.bincount(drawn.ravel(), minlength=41)
    expected = n_users * n / 38
    assert times[[0, 1, 40]].tolist() == [0, 0, 0]
    assert abs(times[2:40] - expected).max() < 5 * math.sqrt(expected)


def test_the_same_seed_draws_the_same_and_another_one_does_not():
    parts = split(behavior([[0, 1], range(300)], 300))
    first, again, other = (draw_negatives(parts, 50, seed) for seed in (0, 0, 1))
    assert first.hash == again.hash
    assert first.rows.tolist() == again.rows.tolist()
    assert first.hash != other.hash


def test_another_process_draws_the_same():
    program = (
        "from recdemo.scoring.negatives import draw_negatives\n"
        "from recdemo.scoring.split import split\n"
        "from tests.tiny import behavior\n"
        "print(draw_negatives(split(behavior([[0, 1], range(300)], 300)), 50).hash)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    here = draw_negatives(split(behavior([[0, 1], range(300)], 300)), 50)
    assert printed.stdout.strip() == here.hash


def test_negatives_are_kept_for_the_next_model_and_drawn_anew_where_damaged(home):
    parts = split(behavior([[0, 1], range(8)], 9))
    drawn = find_negatives("tiny", parts, 3)
    path = negatives_path("tiny", parts, 3, 0)
    whole = path.read_bytes()
    assert [file.name for file in home.rglob("*.*")] == [path.name]  # nothing left half-written
    os.utime(path, (1, 1))
    assert find_negatives("tiny", parts, 3).hash == drawn.hash
    assert path.stat().st_mtime == 1  # read, not written again
    damaged = [whole[:cut] for cut in range(0, len(whole), 7)]
    damaged += [whole[:i] + bytes([whole[i] ^ 0xFF]) + whole[i + 1 :] for i in range(len(whole))]
    for content in damaged:
        path.write_bytes(content)
        assert find_negatives("tiny", parts, 3).hash == drawn.hash
    np.savez(path, users=drawn.users, rows=drawn.rows[:, ::-1], hash=np.array(drawn.hash))
    assert find_negatives("tiny", parts, 3).rows.tolist() == drawn.rows.tolist()
    find_negatives("tiny", parts, 3)
    assert path.read_bytes() == whole


def test_other_interactions_number_or_seed_have_another_file(home):
    parts = split(behavior([[0, 1], range(8)], 9))
    others = [
        (split(behavior([[0, 2], range(8)], 9)), 3, 0),
        (split(behavior([[0, 1], range(8), [8]], 9)), 3, 0),
        (parts, 4, 0),
        (parts, 3, 1),
    ]
    paths = {negatives_path("tiny", *other) for other in others}
    assert len(paths | {negatives_path("tiny", parts, 3, 0)}) == 5
    later = split(behavior([[1, 0], range(8)], 9), shots=2)  # other targets, same draws
    assert negatives_path("tiny", later, 3, 0) == negatives_path("tiny", parts, 3, 0)


def test_a_folder_that_cannot_be_written_is_one_line(home):
    (home / "truths").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match=r"cannot keep the negatives.*set RECDEMO_HOME"):
        find_negatives("tiny", split(behavior([[0, 1], [2, 3]], 4)))


def test_a_user_who_touched_everything_has_no_negatives():
    negatives = draw_negatives(split(behavior([[0, 1], [0, 1, 2, 3]], 4)), 2)
    assert negatives.rows.tolist() == [[2, 3], [-1, -1]]
    assert draw_negatives(split(behavior([[0, 1], [1, 0]], 2))).rows.shape == (2, 0)


def test_less_than_one_negative_is_a_mistake():
    with pytest.raises(ValueError, match="at least 1 negative"):
        draw_negatives(split(behavior([[0, 1], [2, 3]], 4)), 0)
