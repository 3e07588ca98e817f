"""Invented data sets of any size, with the long tails of real ones, for benchmarks.

    uv run python -m tests.benchmarks.generate OUT --users 200000 --items 87000 \
        --interactions 32000000

writes a folder that ``--dataset OUT`` reads: items with title, year, genres and synopsis, and
interactions with value and timestamp. The same arguments give the same data.

How active users are is log-normal and how popular items are follows a shifted power law, both
shaped after MovieLens 32M (mean 160 items per user, median 78; the most popular item at about
0.5 %). Items belong to groups and users prefer a few of them, so truth lists and the words of
the texts agree with each other more than chance. Users come in parts, so memory does not grow
with the interactions unless they are asked for in memory.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from recdemo.dataset.interactions import IntArray, Interactions

SPREAD = 1.2  # of the logarithm of a user's activity
STEEPNESS = 1.5  # of the power law of popularity
HEAD = 1 / 1000  # of the items: about equally popular ones before the power law sets in
LARGEST = 1 / 4  # of the items: the most that a user touches
N_GROUPS = 40
FAVORITES = 3  # groups a user prefers
LOYALTY = 0.75  # of a user's interactions are with them
PART = 1_000_000  # interactions at once, about
ITEMS_AT_ONCE = 50_000
WORDS = 30  # of a synopsis
COMMON, SPECIAL = 2_000, 300  # words that all groups share, and words of each group
START, YEAR = 1_000_000_000, 365 * 86_400  # seconds


@dataclass(frozen=True)
class Shape:
    """How large a data set is to be, and which one of that size."""

    users: int
    items: int
    interactions: int
    seed: int = 0

    def random(self, *what: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *what])

    @cached_property
    def groups(self) -> IntArray:
        """The group of each item; a few groups hold most items."""
        weights = 1 / np.arange(2, N_GROUPS + 2)
        drawn = self.random(0).choice(N_GROUPS, self.items, p=weights / weights.sum())
        return drawn.astype(np.int32)

    @cached_property
    def popularity(self) -> NDArray[np.float64]:
        """The weight of each item, in no order."""
        ranks = self.random(1).permutation(self.items)
        weights: NDArray[np.float64] = np.power(ranks + max(1.0, self.items * HEAD), -STEEPNESS)
        return weights

    @cached_property
    def activity(self) -> NDArray[np.int64]:
        """How many items each user touches, all together as many as asked for."""
        most = max(1, int(self.items * LARGEST))
        if not self.users <= self.interactions <= self.users * most:
            raise SystemExit(
                f"{self.users:,} users can touch from {self.users:,} to {self.users * most:,} "
                f"items in all, not {self.interactions:,}"
            )
        raw = self.random(2).lognormal(0, SPREAD, self.users)
        counts = np.ones(self.users, np.int64)
        for _ in range(60):  # what the cap takes from some goes to the others
            missing = self.interactions - counts.sum()
            shares = raw * (counts < most)
            more = np.floor(shares * (missing / max(shares.sum(), 1e-300))).astype(np.int64)
            counts = np.minimum(counts + more, most)
            if not more.any():
                break
        rest = self.interactions - int(counts.sum())
        while rest:
            free = np.flatnonzero(counts < most)[:rest]
            counts[free] += 1
            rest -= len(free)
        return counts


def parts(shape: Shape) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield users and rows of distinct pairs, user by user, a part of the users at a time."""
    ends = np.cumsum(shape.activity)
    start = 0
    by_group = np.argsort(shape.groups, kind="stable")
    borders = np.searchsorted(shape.groups[by_group], np.arange(N_GROUPS + 1))
    edges = np.concatenate(([0.0], np.cumsum(shape.popularity[by_group])))
    while start < shape.users:
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + PART, side="right")))
        random = shape.random(3, start)
        users, places = _distinct(shape, np.arange(start, stop), edges, borders, random)
        yield users, by_group[places].astype(np.int32)
        start = stop


def _distinct(
    shape: Shape,
    users: NDArray[np.int64],
    edges: NDArray[np.float64],
    borders: NDArray[np.int64],
    random: np.random.Generator,
) -> tuple[IntArray, NDArray[np.int64]]:
    """Draw as many distinct items for each user as it touches; items are places by group.

    Repeats are dropped and what is missing is drawn again; after some rounds more and more of
    it evenly, so that even a user who has seen all that is popular gets the rest.
    """
    wanted = shape.activity[users]
    likes = np.sort(random.random((len(users), FAVORITES)), axis=1)  # shares, cumulated
    likes[:, -1] = 1
    weights = np.diff(edges[borders])
    favorites = random.choice(N_GROUPS, (len(users), FAVORITES), p=weights / weights.sum())
    pairs = np.empty(0, np.int64)  # place of the user * n_items + place of the item
    whole: list[NDArray[np.int64]] = []  # pairs of users who have all they want
    missing, evenly = wanted, -0.5
    while missing.any():
        who = np.repeat(np.arange(len(users)), np.where(missing, missing + missing // 2 + 1, 0))
        loyal = random.random(len(who)) < LOYALTY
        which = (random.random(len(who))[:, None] >= likes[who]).sum(axis=1)
        group = favorites[who, which]
        low = np.where(loyal, edges[borders[group]], 0)
        high = np.where(loyal, edges[borders[group + 1]], edges[-1])
        at = low + random.random(len(who)) * (high - low)
        place = np.minimum(np.searchsorted(edges, at, side="right") - 1, shape.items - 1)
        if evenly > 0:
            anywhere = random.random(len(who)) < evenly
            place[anywhere] = random.integers(0, shape.items, int(anywhere.sum()))
        pairs = _with_more(pairs, who * shape.items + place, wanted, shape.items)
        owner = pairs // shape.items
        missing = np.where(missing, wanted - np.bincount(owner, minlength=len(users)), 0)
        whole.append(pairs[missing[owner] == 0])
        pairs, evenly = pairs[missing[owner] > 0], min(1.0, evenly + 0.05)
    pairs = np.concatenate(whole)
    pairs = pairs[np.argsort(pairs // shape.items, kind="stable")]
    return users[pairs // shape.items].astype(np.int32), pairs % shape.items


def _with_more(
    pairs: NDArray[np.int64], drawn: NDArray[np.int64], wanted: NDArray[np.int64], n_items: int
) -> NDArray[np.int64]:
    """Add pairs that are new, in the order drawn, up to what is wanted of each user."""
    every = np.concatenate((pairs, drawn))
    every = every[np.sort(np.unique(every, return_index=True)[1])]  # the first of each
    who = every // n_items
    order = np.argsort(who, kind="stable")
    starts = np.searchsorted(who[order], np.arange(len(wanted)))
    rank = np.arange(len(order)) - starts[who[order]]
    return every[order[rank < wanted[who[order]]]]


def in_memory(shape: Shape) -> Interactions:
    """Return the interactions that `write` would write."""
    found = list(parts(shape))
    users = np.concatenate([part[0] for part in found])
    rows = np.concatenate([part[1] for part in found])
    return Interactions(users, rows, None, shape.users, shape.items)


def item_table(shape: Shape, start: int, stop: int) -> Any:
    """Return some items with texts whose words tell of their group."""
    random = shape.random(4, start)
    groups = shape.groups[start:stop]
    own = random.random((len(groups), WORDS)) < 0.3
    numbers = np.where(
        own,
        COMMON + groups[:, None] * SPECIAL + random.integers(0, SPECIAL, own.shape),
        (COMMON * random.random(own.shape) ** 2).astype(np.int64),
    )
    words = np.array([_word(number) for number in range(COMMON + N_GROUPS * SPECIAL)])
    texts = [" ".join(line) for line in words[numbers].tolist()]
    titles = [" ".join(line).title() for line in words[numbers[:, :3]].tolist()]
    return pa.table(
        {
            "item_id": [f"i{row}" for row in range(start, stop)],
            "title": titles,
            "year": random.integers(1930, 2026, len(groups)),
            "genres": [_word(COMMON + group * SPECIAL).title() for group in groups.tolist()],
            "synopsis": [f"{text.capitalize()}." for text in texts],
        }
    )


def _word(number: int) -> str:
    """Return a word of its own for a number."""
    syllables = ""
    number += 400  # two syllables at least
    while number:
        number, syllable = divmod(number, 95)
        syllables += "bcdfghjklmnprstvwxz"[syllable // 5] + "aeiou"[syllable % 5]
    return syllables


def interaction_table(shape: Shape, users: IntArray, rows: IntArray) -> Any:
    """Return interactions with a value from 1 to 5 and times that ascend within a user."""
    random = shape.random(5, int(users[0]))
    begins = START + shape.random(6).integers(0, 20 * YEAR, shape.users)[users]
    first = np.searchsorted(users, users)
    return pa.table(
        {
            "user_id": pa.array(users).cast(pa.string()),
            "item_id": pa.compute.binary_join_element_wise("i", pa.array(rows).cast("string"), ""),
            "value": random.integers(1, 6, len(users), np.int8),
            "timestamp": begins + 60 * (np.arange(len(users)) - first),
        }
    )


def write(shape: Shape, out: Path, kind: str = "parquet") -> None:
    """Write ``items`` and ``interactions`` into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    ranges = range(0, shape.items, ITEMS_AT_ONCE)
    items = (item_table(shape, start, min(start + ITEMS_AT_ONCE, shape.items)) for start in ranges)
    _write(items, out / f"items.{kind}")
    _write((interaction_table(shape, *part) for part in parts(shape)), out / f"interactions.{kind}")


def _write(tables: Iterator[Any], path: Path) -> None:
    first = next(tables)
    kinds = {".parquet": pa.parquet.ParquetWriter, ".csv": pa.csv.CSVWriter}
    with kinds[path.suffix](path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def main() -> int:
    parser = argparse.ArgumentParser(description="Write an invented data set.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--users", type=int, default=200_000)
    parser.add_argument("--items", type=int, default=87_000)
    parser.add_argument("--interactions", type=int, default=32_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet", dest="kind")
    given = parser.parse_args()
    started = time.perf_counter()
    write(Shape(given.users, given.items, given.interactions, given.seed), given.out, given.kind)
    print(
        f"{given.out}: {given.interactions:,} interactions, {time.perf_counter() - started:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
