"""Truth of MovieLens 1M from raw ratings, against one SciPy product and a NumPy partition.

    RECDEMO_TEST_DATA=FOLDER uv run python -m tests.benchmarks.bench_truth

FOLDER holds ``ml-1m.zip``. All times are of one run on one machine: read the ratios.
"""

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from recdemo.dataset import open_dataset
from recdemo.truth import build_truth

REPEATS = 3
BUDGET = 3.0  # times the bare product and partition
MEGABYTES = 600


def best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> int:
    started = time.perf_counter()
    data = open_dataset(str(Path(os.environ["RECDEMO_TEST_DATA"]) / "ml-1m.zip"))
    interactions = data.interactions()
    reading = time.perf_counter() - started
    ours = best(lambda: build_truth(interactions, "jaccard", 100))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    matrix = interactions.matrix().astype(np.float32)

    def bare() -> None:
        shared = (matrix.T @ matrix).toarray()
        np.argpartition(-shared, 100, axis=1)

    theirs = best(bare)
    print(f"reading the zip            {reading:6.2f} s")
    print(f"truth, jaccard, K = 100    {ours:6.2f} s")
    print(f"X.T @ X and argpartition   {theirs:6.2f} s")
    print(f"ratio                      {ours / theirs:6.2f}   (budget {BUDGET})")
    print(f"peak memory                {memory:6.0f} MB (budget {MEGABYTES})")
    return 0 if ours / theirs <= BUDGET and memory <= MEGABYTES else 1


if __name__ == "__main__":
    sys.exit(main())
