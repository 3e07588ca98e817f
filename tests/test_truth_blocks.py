import os
import signal
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
from filelock import FileLock

from recdemo.errors import StoreError
from recdemo.truth import OVERLAPS, blocks, build_truth, spreading
from recdemo.truth.blocks import Touched, blocks_of, lists_of
from tests import tiny


@pytest.fixture
def over_processes(monkeypatch):
    """However little there is to do, two processes do it, a few items at a time."""
    monkeypatch.setattr(spreading, "MUCH", 0)
    monkeypatch.setattr(spreading, "n_processors", lambda: 2)
    monkeypatch.setattr(blocks, "PAIRS", 200)


def random_interactions(seed: int):
    random = np.random.default_rng(seed)
    shares = random.random(50) ** 3
    rated_by = [np.flatnonzero(random.random(40) < share).tolist() for share in shares]
    return tiny.interactions(rated_by, 40)


def test_blocks_hold_every_item_once_and_no_more_pairs_than_fit(monkeypatch):
    monkeypatch.setattr(blocks, "PAIRS", 10)
    monkeypatch.setattr(blocks, "LEAST_LINES", 0)
    assert blocks_of(np.array([4.0, 6, 1, 0, 99, 4])) == [(0, 2), (2, 5), (5, 6)]
    assert blocks_of(np.array([11.0, 12, 13])) == [(0, 3)]  # at most 3 pairs a line
    monkeypatch.setattr(blocks, "PAIRS", 1)
    assert blocks_of(np.array([2.0, 2])) == [(0, 1), (1, 2)]  # a line is never cut


def test_a_catalog_of_many_items_still_has_several_lines_a_block(monkeypatch):
    monkeypatch.setattr(blocks, "PAIRS", 1)
    assert blocks_of(np.full(9, 9.0)) == [(0, 4), (4, 8), (8, 9)]


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_processes_build_the_lists_of_one(overlap, over_processes, monkeypatch):
    beside = [build_truth(random_interactions(seed), overlap, 7) for seed in (1, 2)]
    monkeypatch.setattr(spreading, "n_processors", lambda: 1)
    for truth, seed in zip(beside, (1, 2), strict=True):
        alone = build_truth(random_interactions(seed), overlap, 7)
        assert truth.neighbors.tobytes() == alone.neighbors.tobytes()
        assert truth.overlaps.tobytes() == alone.overlaps.tobytes()
        assert truth.hash() == alone.hash()


def test_progress_goes_by_items_and_ends_at_all_of_them(over_processes):
    told = []
    build_truth(random_interactions(1), "jaccard", 7, lambda *step: told.append(step))
    assert told == sorted(told)
    assert len(told) > 3
    assert told[-1] == (50, 50)


def test_a_folder_that_cannot_be_written_is_one_line(over_processes, monkeypatch):
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spreading.np, "save", full)
    with pytest.raises(StoreError, match="No space left on device; set TMPDIR"):
        build_truth(random_interactions(1), "jaccard", 7)


def test_an_interruption_between_two_blocks_leaves_no_file(over_processes, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def interrupt(done: int, total: int) -> None:
        assert list(tmp_path.iterdir())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_truth(random_interactions(1), "jaccard", 7, interrupt)
    assert not list(tmp_path.iterdir())


def test_files_of_a_killed_process_are_removed_and_those_of_a_living_one_are_not(
    over_processes, monkeypatch, tmp_path
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("dead", "alive"):
        (tmp_path / f"recdemo-truth-{name}").mkdir()
        (tmp_path / f"recdemo-truth-{name}" / "alive.lock").touch()
    with FileLock(tmp_path / "recdemo-truth-alive" / "alive.lock"):
        build_truth(random_interactions(1), "jaccard", 7)
    assert [path.name for path in tmp_path.iterdir()] == ["recdemo-truth-alive"]


def test_memory_is_bounded_by_the_block_not_by_the_catalog(monkeypatch):
    monkeypatch.setattr(blocks, "PAIRS", 2**13)
    random = np.random.default_rng(3)
    rated_by = [np.flatnonzero(random.random(500) < 0.1).tolist() for _ in range(1500)]
    matrix = tiny.interactions(rated_by, 500).matrix()
    by_item = matrix.T.tocsr()
    touched = Touched(matrix, by_item, np.diff(by_item.indptr).astype(np.float64))
    parts = blocks_of(blocks.work_of(touched))
    assert len(parts) > 100
    tracemalloc.start()
    try:
        for part in parts:
            lists_of(touched, "jaccard", 10, *part)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * 2**13  # all 2.2 million pairs would take 130 times as much


BUILDS_FOR_SECONDS = """
import numpy as np
from recdemo.dataset.interactions import Interactions
from recdemo.truth import build_truth, spreading

if __name__ == "__main__":
    spreading.n_processors = lambda: 2
    users, rows = np.nonzero(np.random.default_rng(0).random((5000, 5000)) < 0.12)
    given = Interactions(users.astype(np.int32), rows.astype(np.int32), None, 5000, 5000)
    build_truth(given, "jaccard", 100, lambda done, total: print(done, flush=True))
    print("whole")
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no process groups here")
@pytest.mark.parametrize("way", ["Ctrl-C", "kill -9"])
def test_no_process_outlives_one_that_is_stopped(way, tmp_path):
    builder = subprocess.Popen(
        [sys.executable, "-c", BUILDS_FOR_SECONDS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert builder.stdout is not None
    assert builder.stdout.readline().strip().isdecimal()  # a first block is there
    if way == "Ctrl-C":
        os.killpg(builder.pid, signal.SIGINT)  # as a terminal does: to all of them
    else:
        builder.kill()
    out, errors = builder.communicate(timeout=30)  # they hold its ends of the pipes open, too
    assert "whole" not in out
    assert builder.returncode != 0
    wait_until_gone(builder.pid)
    if way == "Ctrl-C":
        assert errors.count("Traceback") == 1  # none of another process
        assert not list(tmp_path.iterdir())


def wait_until_gone(group: int) -> None:
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("a process is still there")
