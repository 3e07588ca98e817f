"""Title search for the command line and for search as you type.

All words of the query must be found, in any order, in the titles of an item, its directors or
its year; case, accents, punctuation and articles do not matter. Only where that finds nothing,
titles that are spelled nearly so are found instead.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from recdemo.errors import DatasetError
from recdemo.search.fuzzy import nearest
from recdemo.search.index import PositionArray, TitleIndex, build_index
from recdemo.search.ranking import holding, meanings, title_tiers, word_tiers
from recdemo.search.spelling import Reading, read_query

__all__ = ["Hits", "TitleIndex", "build_index", "find_one", "search"]

_LONGEST = 1000  # characters of a query that are looked at
_BY_ID = "id:"
_SHOWN = 10  # candidates that an error lists
_SUGGESTED = 5
_WIDTH = 100  # characters of a label or query that an error shows


@dataclass(frozen=True, slots=True)
class Hits:
    """What a query finds."""

    rows: tuple[int, ...]  # of the catalog, best first, cut at the limit
    total: int  # how many there are without the limit
    exact: bool  # False: nothing holds the words, these are spelled nearly so


def search(index: TitleIndex, query: str, limit: int = 200) -> Hits:
    """Find the items that a query fits; ``id:260`` finds the item with that id."""
    row = _row_of_id(index, query)
    if row is not None:
        return Hits((row,)[:limit], 1, True)
    readings, found = _exact(index, query)
    if len(found):
        best = _unique(title_tiers(index, readings, found), word_tiers(index, readings, found))
        return Hits(_rows(index, islice(best, limit)), len(found), True)
    if not readings:
        return Hits((), 0, True)
    near = nearest(index, readings[0])
    return Hits(_rows(index, near[:limit]), len(near), not near)


def find_one(index: TitleIndex, query: str) -> int:
    """Return the row of the one item that a query means.

    A whole title goes before its start, and whole words before parts of words. Several that fit
    equally well, or none that fits, are a `DatasetError` that lists them, or the nearest.
    """
    row = _row_of_id(index, query)
    if row is not None:
        return row
    if query.strip().startswith(_BY_ID):
        item_id = _quoted(query.strip().removeprefix(_BY_ID))
        raise DatasetError(f"{index.catalog.name} has no item {item_id}; expected an item id")
    readings, found = _exact(index, query)
    if not len(found):
        raise DatasetError(_nothing_found(index, query, readings))
    rows = _rows(index, next(group for group in meanings(index, readings, found) if len(group)))
    if len(rows) > 1:
        raise DatasetError(_several_found(index, query, rows))
    return rows[0]


def _exact(index: TitleIndex, query: str) -> tuple[list[Reading], PositionArray]:
    """Read the query and find all that fits; the article it starts with need not be there."""
    readings = read_query(query[:_LONGEST])
    if not readings:
        return [], np.array([], np.int64)
    found = holding(index, readings[0].words)
    shorter = [reading.without_article() for reading in readings]
    if shorter[0] is readings[0] or any(map(len, title_tiers(index, readings, found))):
        return readings, found
    return shorter, holding(index, shorter[0].words)


def _unique(*tiers: Iterable[PositionArray]) -> Iterator[int]:
    seen: set[int] = set()
    for positions in chain.from_iterable(tiers):
        for position in positions.tolist():
            if position not in seen:
                seen.add(position)
                yield position


def _rows(index: TitleIndex, positions: Iterable[int]) -> tuple[int, ...]:
    return tuple(int(index.order[position]) for position in positions)


def _row_of_id(index: TitleIndex, query: str) -> int | None:
    item_id = query.strip().removeprefix(_BY_ID)
    known = index.catalog.item_ids
    return known.index(item_id) if query.strip().startswith(_BY_ID) and item_id in known else None


def _several_found(index: TitleIndex, query: str, rows: Sequence[int]) -> str:
    catalog = index.catalog
    labels = [_printable(catalog.label(row)) for row in rows[:_SHOWN]]
    remedy = "add the year or more of the title"
    if len(set(labels)) < len(labels):  # the year does not tell them apart
        remedy = "give one by its id"
        ids = [_printable(catalog.item_ids[row]) for row in rows[:_SHOWN]]
        labels = [f"{label} id:{item_id}" for label, item_id in zip(labels, ids, strict=True)]
    more = [f"and {len(rows) - _SHOWN:,} more"] if len(rows) > _SHOWN else []
    lines = "".join(f"\n  {line}" for line in [*labels, *more])
    return f"{len(rows):,} titles fit {_quoted(query)} equally well; {remedy}:{lines}"


def _nothing_found(index: TitleIndex, query: str, readings: Sequence[Reading]) -> str:
    near = _rows(index, nearest(index, readings[0])[:_SUGGESTED]) if readings else ()
    nothing = f"no title in {index.catalog.name} fits {_quoted(query)}"
    if not near:
        return f"{nothing}; expected words of a title, a director or a year, or id:ITEM_ID"
    labels = "".join(f"\n  {_printable(index.catalog.label(row))}" for row in near)
    return f"{nothing}; the nearest:{labels}"


def _quoted(query: str) -> str:
    return repr(query if len(query) <= _WIDTH else f"{query[:_WIDTH]}...")


def _printable(label: str) -> str:
    """Make a label fit for one line of a terminal; a catalog may hold any character."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in label).split())
    return shown if len(shown) <= _WIDTH else f"{shown[:_WIDTH]}..."
