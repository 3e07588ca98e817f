"""Looks 3,883 vectors of 3,072 numbers up in the cache, against NumPy reading them from one file.

Run with ``uv run python -m tests.benchmarks.bench_cache``.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from recdemo.embedding.cache import Cache, ModelKey, text_digest

N, DIMENSION, BATCH = 3883, 3072, 100
REPEATS = 5


def best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    vectors = np.random.default_rng(0).standard_normal((N, DIMENSION), np.float32)
    texts = [text_digest(f"text {i}") for i in range(N)]
    key = ModelKey("openai", "text-embedding-3-large", "", None, "")
    with tempfile.TemporaryDirectory() as folder, Cache(Path(folder, "e.sqlite")) as cache:
        started = time.perf_counter()
        for start in range(0, N, BATCH):
            part = slice(start, start + BATCH)
            cache.write(key, texts[part], vectors[part])
        print(f"write, a transaction per {BATCH} vectors: {time.perf_counter() - started:.3f} s")
        plain = Path(folder, "vectors.npy")
        np.save(plain, vectors)
        lookup, numpy = best(lambda: cache.read(key, texts)), best(lambda: np.load(plain))
        print(f"look up {N:,} vectors: {lookup:.3f} s (at most 0.5)")
        print(f"np.load of the same: {numpy:.3f} s; ratio {lookup / numpy:.1f}")
        print(f"which of them are there: {best(lambda: cache.has(key, texts)):.3f} s")


if __name__ == "__main__":
    main()
