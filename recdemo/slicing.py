"""Slices: the same scores, on some of the items, since a mean hides who pays for it."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from recdemo.dataset import Dataset
from recdemo.errors import DatasetError
from recdemo.runs import Slice
from recdemo.scoring.recall import Scores
from recdemo.scoring.statistics import intervals

POPULARITY = "popularity"
DECADE = "decade"
_BINS = ((1, 10), (11, 50), (51, 200), (201, None))  # users who touched the item
MOST = 30  # slices of one field, those with the most items

Labels = Sequence[tuple[str, NDArray[np.bool_]]]  # name of a slice, (n_items,) who is in it


def check_by(dataset: Dataset, by: Sequence[str]) -> None:
    """Refuse what the catalog cannot be sliced by."""
    for name in by:
        if name == POPULARITY and not dataset.n_interactions:
            raise DatasetError(
                f"cannot slice {dataset.name} by popularity: it has no interactions to count"
            )
        field = "year" if name == DECADE else name
        if name != POPULARITY and field not in dataset.catalog.fields:
            known = ", ".join((POPULARITY, DECADE, *dataset.catalog.fields))
            raise DatasetError(f"cannot slice {dataset.name} by {name!r}; expected {known}")


def labels(dataset: Dataset, by: str) -> Labels:
    """Return the slices of a catalog by popularity, decade or any field."""
    if by == POPULARITY:
        return [_bin(dataset, low, high) for low, high in _BINS]
    if by == DECADE:
        years = dataset.catalog.column("year")
        values = [(f"{year // 10 * 10}s",) if isinstance(year, int) else () for year in years]
        return sorted(_by_value(values))
    column = dataset.catalog.column(by)
    names = [v if isinstance(v, tuple) else () if v in (None, "") else (str(v),) for v in column]
    return list(_by_value(names))


def _bin(dataset: Dataset, low: int, high: int | None) -> tuple[str, NDArray[np.bool_]]:
    name = f"> {low - 1}" if high is None else f"{low}-{high}"
    return name, (dataset.counts >= low) & (dataset.counts <= (high or dataset.counts.max()))


def _by_value(values: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    counted = Counter(name for names in values for name in dict.fromkeys(names))
    for name, _ in counted.most_common(MOST):
        yield name, np.array([name in names for names in values])


def slices_of(
    rows: Sequence[Scores], dataset: Dataset, by: Sequence[str]
) -> list[tuple[Slice, ...]]:
    """Return the scores of each row by slice, with intervals; empty slices are left out.

    Args:
        rows: of the same queries, which share their resamples.
    """
    found: list[list[Slice]] = [[] for _ in rows]
    for name in by:
        for label, members in labels(dataset, name):
            inside = members[rows[0].queries]
            if inside.any():
                for own, part in zip(found, _slices(rows, name, label, inside), strict=True):
                    own.append(part)
    return [tuple(own) for own in found]


def _slices(
    rows: Sequence[Scores], by: str, label: str, inside: NDArray[np.bool_]
) -> Iterator[Slice]:
    """Yield one slice of each row.

    Of a sample, the items of a slice are taken as if they were drawn from it at random, which
    makes the interval a little wide where the slice goes along with popularity.
    """
    parts = [
        Scores(row.queries[inside], row.ks, row.recall[inside], row.ndcg[inside]) for row in rows
    ]
    values = np.hstack([measure for part in parts for measure in (part.recall, part.ndcg)])
    found = iter(intervals(values))
    for part in parts:
        names = [f"{measure}@{k}" for measure in ("recall", "ndcg") for k in part.ks]
        yield Slice(
            by=by,
            name=label,
            queries=len(part.queries),
            recall=part.means("recall"),
            ndcg=part.means("ndcg"),
            interval={name: next(found) for name in names},
        )
