"""Invented data, small enough to compute by hand: 6 users, 5 items, one of them unrated."""

from collections.abc import Sequence

import numpy as np

from recdemo.dataset import Dataset
from recdemo.dataset.catalog import Catalog, Value
from recdemo.dataset.interactions import Interactions

# Who touched what; users 0..5. Ant and Bee share 3 users, Cat shares 1 with each.
RATED_BY = {"Ant": [0, 1, 2, 3], "Bee": [0, 1, 2], "Cat": [3, 4], "Dog": [5], "Eel": []}


def catalog(name: str = "tiny", **fields: Sequence[Value]) -> Catalog:
    given = {field: tuple(values) for field, values in fields.items()}
    n_items = len(next(iter(given.values())))
    return Catalog(name, tuple(f"i{row}" for row in range(n_items)), given)


def interactions(rated_by: Sequence[Sequence[int]], n_users: int | None = None) -> Interactions:
    users = [user for users in rated_by for user in users]
    rows = [row for row, users in enumerate(rated_by) for _ in users]
    return Interactions(
        np.array(users, np.int32),
        np.array(rows, np.int32),
        None,
        n_users if n_users is not None else max(users) + 1,
        len(rated_by),
    )


def behavior(
    oldest_first: Sequence[Sequence[int]], n_items: int, times: Sequence[int] | None = None
) -> Interactions:
    """Return who touched what, a list of rows per user, by default a second between two."""
    users = [user for user, rows in enumerate(oldest_first) for _ in rows]
    rows = [row for rows in oldest_first for row in rows]
    return Interactions(
        np.array(users, np.int32),
        np.array(rows, np.int32),
        np.array(times if times is not None else range(len(rows)), np.int64),
        len(oldest_first),
        n_items,
    )


def dataset(
    rated_by: Sequence[Sequence[int]] = tuple(RATED_BY.values()),
    items: Catalog | None = None,
) -> Dataset:
    given = interactions(rated_by)
    if items is None:
        items = catalog(
            title=list(RATED_BY),
            year=[1990, 1991, 2001, None, 1990],
            genres=[("Fur", "Six"), ("Six",), ("Fur",), ("Fur",), ()],
            synopsis=["an ant", "a bee and an ant", "a cat", "a dog and a cat", "an eel"],
        )
    return Dataset(items, given.counts(), given.n_users, len(given), lambda: given)
