"""Time per keystroke of the title search, against rapidfuzz over all titles in the same run.

Run it with ``uv run python -m tests.benchmarks.bench_search``.
"""

import random
import string
import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from rapidfuzz import process

from recdemo.dataset.catalog import Catalog, Value
from recdemo.search import build_index, search

N_ITEMS = 100_000
BUDGET_MS = 30


def invented(n_items: int, n_letters: int, seed: int = 0) -> Catalog:
    """A catalog of random titles; short words are the most frequent ones, as in real titles."""
    choose = random.Random(seed)
    words = [_word(choose, length) for length in np.linspace(2, 12, 20_000).astype(int)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    titles, directors = [], []
    drawn = iter(choose.choices(words, weights, k=n_items * (n_letters // 3 + 4)))
    for row in range(n_items):
        title = "The" if row % 4 == 0 else next(drawn).capitalize()
        while len(title) < n_letters:
            title += (": " if row % 7 == 0 else " ") + next(drawn)
        if row % 10 == 0:
            title = f"{title[: n_letters // 2]} ({title[n_letters // 2 :].replace('e', 'é')})"
        titles.append(title[:n_letters])
        directors.append((f"{choose.choice(words)} {choose.choice(words)}",))
    years = tuple(1920 + row % 100 for row in range(n_items))
    fields: Mapping[str, tuple[Value, ...]] = {
        "title": tuple(titles),
        "directors": tuple(directors),
        "year": years,
    }
    return Catalog("invented", tuple(map(str, range(n_items))), fields)


def keystrokes(catalog: Catalog) -> list[str]:
    """What is on the line after each key, while different things are typed."""
    title = catalog.title(1)[:40]
    swapped = title[1] + title[0] + title[2:]
    lines = ["the " + title, swapped, "e o a i", "the of and 1958", "zqxj vkwq", title[::-1]]
    typed = [line[:end] for line in lines for end in range(1, len(line) + 1)]
    return [*string.ascii_lowercase, *typed, "x" * 10_000, f"{title} " * 300, "?!", "日本"]


def milliseconds(call: Callable[[], object], repeats: int = 3) -> float:
    """The fastest of a few calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def report(n_letters: int) -> None:
    catalog = invented(N_ITEMS, n_letters)
    counts = np.random.default_rng(0).integers(0, 5000, N_ITEMS).astype(np.int32)
    start = time.perf_counter()
    index = build_index(catalog, counts)
    built = time.perf_counter() - start
    print(f"{N_ITEMS:,} titles of {n_letters} characters, index built in {built:.2f} s")
    taken = {line: milliseconds(partial(search, index, line)) for line in keystrokes(catalog)}
    slowest = max(taken, key=lambda line: taken[line])
    print(
        f"  a keystroke: median {np.median(list(taken.values())):.1f} ms, slowest "
        f"{taken[slowest]:.1f} ms for {slowest[:30]!r}; budget {BUDGET_MS} ms"
    )
    titles = [catalog.title(row) for row in range(N_ITEMS)]
    extract = milliseconds(partial(process.extract, titles[1][:20], titles), repeats=1)
    print(
        f"  process.extract over all titles: {extract:,.0f} ms, "
        f"{extract / taken[slowest]:.0f} times the slowest keystroke"
    )


def main() -> None:
    for n_letters in (30, 300):
        report(n_letters)


def _word(choose: random.Random, length: int) -> str:
    pairs = (choose.choice("bcdfghklmnprstvwz") + choose.choice("aeiou") for _ in range(length))
    return "".join(pairs)[choose.randrange(2) :][:length]


if __name__ == "__main__":
    main()
