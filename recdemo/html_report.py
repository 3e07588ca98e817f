"""A run as one HTML page: tables, charts, example lists, settings; nothing comes from elsewhere."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recdemo import report
from recdemo.charts.drawing import figures_of
from recdemo.charts.saving import drawn, javascript
from recdemo.dataset import Dataset
from recdemo.dataset.catalog import Catalog
from recdemo.examples import Example, Examples
from recdemo.recommend import Opinion
from recdemo.report.columns import Column
from recdemo.report.overlap import slice_tables
from recdemo.runs import Row, Run
from recdemo.templates import render


@dataclass(frozen=True, slots=True)
class Table:
    """A table as the template takes it."""

    caption: str
    columns: tuple[Column, ...]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells, line by line."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of an example list."""

    rank: int
    label: str
    distance: str
    in_truth: bool
    only: bool  # no other list of the example has it


@dataclass(frozen=True, slots=True)
class ItemList:
    """What one model recommends for an item."""

    model: str
    share: str  # how many are in the truth list
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """An item with its lists."""

    heading: str
    lists: tuple[ItemList, ...]


def as_html(run: Run, examples: Examples) -> bytes:
    """Return the page, UTF-8; every text of the data is escaped."""
    charts = [drawn(figure) for figure in figures_of(run)]
    dataset = examples.dataset
    return render(
        "report.html",
        run=run,
        title=f"recdemo report: {run.dataset.name}",
        definition=report.definition(run),
        results=_results(run),
        notes=report.notes(run),
        charts=charts,
        javascript=javascript(),
        published=_published(run),
        published_line=report.published_line(run) if run.published else "",
        slices=[Table(title, tuple(shown)) for title, shown in slice_tables(run)],
        items=[_item(example, dataset) for example in examples.shown if dataset is not None],
        left_out=examples.notes,
        legend=_legend(examples),
        settings=_settings(run),
        terms="" if dataset is None else dataset.terms,
    )


def _results(run: Run) -> Table:
    """Return the result table, scores to the left, where a phone shows them."""
    columns = sorted(report.columns(run), key=lambda c: not c.numeric and c.rank > 1)
    n = len(columns[0].cells)
    rows = "1 row" if n == 1 else f"{n} rows, best first"
    return Table(f"{rows}; a click on a column sorts by it", tuple(columns))


def _published(run: Run) -> Table | None:
    if not run.published:
        return None
    return Table(f"Source: {run.published[0].source}", tuple(report.published_columns(run)))


def _legend(examples: Examples) -> str:
    marks = "✓ in the truth list of the item (largest overlap of users)"
    opinions = [opinion for example in examples.shown for opinion in example.opinions]
    if not any(opinion.has_truth for opinion in opinions):
        marks = "no truth lists are at hand, so nothing is marked"
    more = "; + in this list only" if any(len(e.opinions) > 1 for e in examples.shown) else ""
    return f"The nearest neighbors of well-known items: {marks}{more}; d: Euclidean distance."


def _item(example: Example, dataset: Dataset) -> Item:
    catalog, row = dataset.catalog, example.row
    about = [catalog.text(row, "directors"), catalog.text(row, "genres")]
    about.append(f"{dataset.counts[row]:,} users")
    heading = " · ".join([catalog.label(row), *(part for part in about if part)])
    several = len(example.opinions) > 1
    return Item(heading, tuple(_list(opinion, catalog, several) for opinion in example.opinions))


def _list(opinion: Opinion, catalog: Catalog, several: bool) -> ItemList:
    entries = tuple(
        Entry(
            rank=item.rank,
            label=catalog.label(item.row),
            distance=f"{item.distance:.3f}",
            in_truth=item.in_truth,
            only=several and item.other_rank is None,
        )
        for item in opinion.items
    )
    found = sum(item.in_truth for item in opinion.items)
    share = f"{found} of {len(entries)} in the truth" if opinion.has_truth else ""
    return ItemList(opinion.model, share, entries)


def _settings(run: Run) -> list[Table]:
    tables = [_facts("Asked for", {"store": run.store} | dict(run.settings))]
    if run.one_shot:
        tables.append(_facts("One-shot protocol", run.one_shot))
    return [
        *tables,
        _facts("Versions", {"recdemo": run.recdemo} | dict(run.versions)),
        _facts("Hashes", run.hashes),
        _collections(run.rows),
    ]


def _facts(caption: str, facts: Mapping[str, Any]) -> Table:
    values = tuple(v if isinstance(v, str) else json.dumps(v) for v in facts.values())
    columns = (Column("Name", False, tuple(facts)), Column("Value", False, values))
    return Table(caption, columns)


def _collections(rows: Sequence[Row]) -> Table:
    """List what each row was measured on, one line per collection."""
    different = list({row.collection: row for row in rows}.values())

    def column(title: str, cells: Iterable[object], numeric: bool = False) -> Column:
        return Column(title, numeric, tuple(map(str, cells)))

    return Table(
        "Collections",
        (
            column("Model", (row.label for row in different)),
            column("Text", (row.text for row in different)),
            column("Prefix", (row.prefix or "-" for row in different)),
            column("Revision", (row.revision or "-" for row in different)),
            column("Tokens", (f"{row.tokens:,}" if row.tokens else "-" for row in different), True),
            column("USD", (_cost(row) for row in different), True),
            column("Collection", (row.collection for row in different)),
            column("Fingerprint", (row.fingerprint[:16] for row in different)),
        ),
    )


def _cost(row: Row) -> str:
    return "-" if row.cost_usd is None else f"{row.cost_usd:.4f}"
