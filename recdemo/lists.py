"""From the lists of one or two models to what people and programs read."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from recdemo.dataset import Dataset
from recdemo.recommend import Opinion, Recommendation

BESIDE = 120  # columns of the terminal from which on two lists stand side by side
IN_TRUTH = "✓"
ONLY_HERE = "+"

_FIELDS = ("title", "year", "directors", "genres")
_HEADS = {"year": "Year", "directors": "Director", "genres": "Genre"}


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """What models recommend for one item."""

    dataset: Dataset
    row: int
    opinions: tuple[Opinion, ...]  # one or two
    text: str  # what was embedded


def heading(lists: Lists) -> str:
    """Say which item the lists are for."""
    catalog, row = lists.dataset.catalog, lists.row
    parts = [catalog.text(row, "directors"), catalog.text(row, "genres")]
    parts.append(f"{lists.dataset.counts[row]:,} users")
    return f"{catalog.label(row)} · " + " · ".join(part for part in parts if part)


def legend(lists: Lists) -> str:
    """Say what the marks mean."""
    if not lists.opinions[0].has_truth:
        marks = ["this item has no truth list, so nothing is marked"]
    else:
        marks = [f"{IN_TRUTH} in the truth list of this item (largest overlap of users)"]
    if len(lists.opinions) == 2:
        marks.append(f"{ONLY_HERE} only this model recommends it")
    return "; ".join(marks) + f"; d: Euclidean distance; embedded: {lists.text}"


def table(lists: Lists, width: int) -> RenderableType:
    """Return the lists for a terminal of *width* columns, side by side where there is room."""
    tables = [_table(lists, opinion) for opinion in lists.opinions]
    body: list[RenderableType] = [*tables]
    if len(tables) == 2 and width >= BESIDE:
        beside = Table.grid(expand=True, padding=(0, 1))
        for _ in tables:
            beside.add_column(ratio=1)
        beside.add_row(*tables)
        body = [beside]
    blank = Text("")
    spaced = [part for item in body for part in (item, blank)]
    return Group(Text(heading(lists), style="bold"), blank, *spaced, Text(legend(lists)))


def _table(lists: Lists, opinion: Opinion) -> Table:
    shown = _fields(lists.dataset)
    found = sum(item.in_truth for item in opinion.items)
    share = f" · {found} of {len(opinion.items)} in the truth" if opinion.has_truth else ""
    result = Table(
        title=Text(opinion.model + share),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    result.add_column("#", justify="right", no_wrap=True)
    result.add_column("", no_wrap=True)
    for field in shown:
        result.add_column(_head(lists.dataset, field), no_wrap=field == "year", overflow="fold")
    result.add_column("d", justify="right", no_wrap=True)
    for item in opinion.items:
        cells = [str(item.rank), mark(item, len(lists.opinions) == 2)]
        cells += [_cell(lists.dataset, item.row, field) for field in shown]
        result.add_row(*map(Text, cells), f"{item.distance:.3f}")
    return result


def _fields(dataset: Dataset) -> list[str]:
    known = [field for field in _FIELDS if field in dataset.catalog.fields]
    return known if "title" in known else ["title", *known]


def _head(dataset: Dataset, field: str) -> str:
    return dataset.item_word if field == "title" else _HEADS[field]


def _cell(dataset: Dataset, row: int, field: str) -> str:
    catalog = dataset.catalog
    return catalog.title(row) if field == "title" else catalog.text(row, field)


def mark(item: Recommendation, two: bool) -> str:
    """Return the marks of one recommendation: a word in signs, never a color alone."""
    only = ONLY_HERE if two and item.other_rank is None else ""
    return (IN_TRUTH if item.in_truth else "") + only


def _records(lists: Lists) -> Iterator[dict[str, object]]:
    catalog = lists.dataset.catalog
    for opinion in lists.opinions:
        for item in opinion.items:
            record: dict[str, object] = {"model": opinion.model, "rank": item.rank}
            record["item_id"] = catalog.item_ids[item.row]
            record |= {field: _cell(lists.dataset, item.row, field) for field in
                       _fields(lists.dataset)}  # fmt: skip
            record |= {"distance": item.distance, "other_rank": item.other_rank}
            record["in_truth"] = item.in_truth if opinion.has_truth else None
            yield record


def as_json(lists: Lists) -> str:
    """Return the lists as JSON."""
    catalog = lists.dataset.catalog
    item = {"item_id": catalog.item_ids[lists.row], "title": catalog.title(lists.row)}
    plain = {"item": item, "text": lists.text, "neighbors": list(_records(lists))}
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def as_csv(lists: Lists) -> str:
    """Return the lists as CSV, one line per recommendation."""
    records = list(_records(lists))
    out = io.StringIO()
    writer = csv.DictWriter(out, list(records[0]) if records else ["model"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def as_markdown(lists: Lists) -> str:
    """Return the lists as Markdown, one table per model."""
    shown = _fields(lists.dataset)
    parts = [f"**{heading(lists)}**"]
    for opinion in lists.opinions:
        rows = [["#", "", *(_head(lists.dataset, field) for field in shown), "d"]]
        rows.append(["---:", "---", *("---" for _ in shown), "---:"])
        for item in opinion.items:
            cells = [_pipe_cell(_cell(lists.dataset, item.row, f)) for f in shown]
            own_mark = mark(item, len(lists.opinions) == 2)
            rows.append([str(item.rank), own_mark, *cells, f"{item.distance:.3f}"])
        body = "\n".join("| " + " | ".join(row) + " |" for row in rows)
        parts += [opinion.model, body]
    return "\n\n".join([*parts, legend(lists)]) + "\n"


def _pipe_cell(text: str) -> str:
    return " ".join(text.splitlines()).replace("|", "\\|")  # either would end the cell
