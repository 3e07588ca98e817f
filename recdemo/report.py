"""From a run to what people and programs read: table, Markdown, CSV, JSON."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from recdemo.runs import Row, Run, Slice
from recdemo.runs.files import as_json

GAP = 3  # columns of the terminal between two columns of a table


_NAMES = {"jaccard": "Jaccard", "cosine": "cosine", "lift": "lift"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the result table."""

    title: str
    numeric: bool
    cells: tuple[str, ...]
    rank: int = 0  # on a narrow terminal the columns with the largest are left out first

    @property
    def width(self) -> int:
        """Columns of the terminal that it takes."""
        return max(map(len, (self.title, *self.cells)))


def definition(run: Run) -> str:
    """Say in one sentence how the numbers are defined."""
    row = run.rows[0]
    return (
        f"Recall@K: share of the K items with the largest {_NAMES[row.truth]} overlap of users "
        f"that are among the K nearest by Euclidean distance; mean over {row.queries:,} of "
        f"{run.dataset.rated:,} rated items of {run.dataset.name}, exact search, ties shared."
    )


def columns(run: Run) -> list[Column]:
    """Return the result table, column by column; shared by all formats for people."""
    rows, k, small = run.rows, run.headline, min(run.ks)
    texts = len({row.text for row in rows}) > 1

    def numbers(title: str, values: Iterable[str], rank: int) -> Column:
        return Column(title, True, tuple(values), rank)

    result = [
        Column("Model", False, tuple(row.model for row in rows)),
        numbers("Dim", (str(row.dimension) for row in rows), 0),
        Column("How", False, tuple(row.how for row in rows), 3),
        Column("Text", False, tuple(row.text for row in rows), 0 if texts else 9),
        Column("Truth", False, tuple(row.truth for row in rows), 0 if len(run.truths) > 1 else 9),
        numbers(f"Recall@{k}", (f"{row.recall[k]:.4f}" for row in rows), 0),
        numbers("95 %", (interval(row, f"recall@{k}") for row in rows), 1),
        numbers("users SE", (_user_error(row, f"recall@{k}") for row in rows), 1),
        numbers(f"Recall@{small}", (f"{row.recall[small]:.4f}" for row in rows), 4),
        numbers("95 %", (interval(row, f"recall@{small}") for row in rows), 6),
        numbers(f"nDCG@{k}", (f"{row.ndcg[k]:.4f}" for row in rows), 2),
        numbers("B/item", (f"{row.bytes_per_item:,}" for row in rows), 5),
        numbers("embed s", (_seconds(row.seconds.embed) for row in rows), 8),
        numbers("load s", (_seconds(row.seconds.load) for row in rows), 8),
        numbers("query s", (_seconds(row.seconds.query) for row in rows), 7),
    ]
    if small == k:
        result = [c for c in result if c.rank not in (4, 6)]
    if not any(row.user_standard_error for row in rows):
        result = [c for c in result if c.title != "users SE"]
    return [c for c in result if c.rank < 9]


def fitting(shown: list[Column], width: int) -> list[Column]:
    """Leave out the least important columns until the rest fits into *width*."""
    while sum(column.width + GAP for column in shown) > width + GAP:
        least = max(column.rank for column in shown)
        if least == 0:
            break
        shown = [column for column in shown if column.rank < least]
    return shown


def interval(row: Row, name: str) -> str:
    """Return an interval as text, ``-`` where there are too few items for one."""
    found = row.interval.get(name)
    return "-" if found is None else f"{found[0]:.4f}-{found[1]:.4f}"


def _user_error(row: Row, name: str) -> str:
    error = row.user_standard_error.get(name)
    return "-" if error is None else f"{error:.4f}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def notes(run: Run) -> list[str]:
    """Return what must be read with the table: chance, ceiling, baselines, what is missing."""
    k = run.headline
    lines = [f"Chance: Recall@{k} {run.chance[k]:.4f}."]
    for name, facts in run.truths.items():
        if facts.ceiling is not None:
            lower, upper = facts.ceiling.lower, facts.ceiling.upper
            lines.append(
                f"Ceiling ({name}): {_range(lower)} where two random halves of the users are "
                f"compared, {_range(upper)} where all users are compared with a bootstrap of them."
            )
    lines += [
        f"Kendall's tau of the orders of the models by {pair.replace('/', ' and ')}: {tau:.3f}."
        for pair, tau in run.tau.items()
    ]
    lines += _free_baselines(run)
    for row in run.rows:
        if row.note:
            lines.append(f"{row.model}: {row.note}.")
        if row.without_vector:
            lines.append(f"{row.label}: {row.without_vector:,} items have no vector and score 0.")
    without = run.dataset.rated - run.rows[0].queries
    if without:
        lines.append(f"{without:,} rated items share no user with another and are no queries.")
    if any(row.user_standard_error for row in run.rows):
        n = run.settings.get("user_bootstrap")
        lines.append(
            f"users SE: standard error over {n} truths from resampled users; not an interval, "
            "since such a truth is noisier and scores lie lower."
        )
    if any(row.seconds.load is None for row in run.rows):
        lines.append("- under seconds: the collection was there already.")
    return lines


def _range(values: Sequence[float]) -> str:
    mean = sum(values) / len(values)
    return f"{mean:.3f} ({min(values):.3f} to {max(values):.3f} over {len(values)} seeds)"


def _free_baselines(run: Run) -> list[str]:
    """Say what a free baseline reaches, so that no model is read without it."""
    k = run.headline
    free = [row for row in run.rows if row.model.startswith("baseline:")]
    if not free:
        return []
    best = max(free, key=lambda row: row.recall[k])
    if not run.published:
        return [f"Best free baseline: {best.model}, Recall@{k} {best.recall[k]:.4f}."]
    top = max(run.published, key=lambda row: row.recall.get(k, 0))
    beats = "beats" if best.recall[k] > top.recall[k] else "does not beat"
    return [
        f"The free {best.model} ({best.recall[k]:.4f}) {beats} every published model "
        f"(best: {top.model} at {top.dimension}, {top.recall[k]:.5f})."
    ]


def published_line(run: Run) -> str:
    """Say what keeps published rows apart from measured ones."""
    texts = ", ".join(dict.fromkeys(row.text for row in run.rows))
    return f"published: texts by gpt-4o-mini; measured: {texts}"


def _published_columns(run: Run) -> list[Column]:
    return [
        Column("Published model", False, tuple(row.model for row in run.published)),
        Column("Dim", True, tuple(str(row.dimension) for row in run.published)),
        Column("Recall@100", True, tuple(f"{row.recall[100]:.5f}" for row in run.published)),
    ]


def slice_tables(run: Run) -> list[tuple[str, list[Column]]]:
    """Return a table for each way to slice: a line per slice, a column per model, best first."""
    k = run.headline
    tables = []
    for by in dict.fromkeys(s.by for row in run.rows for s in row.slices):
        shown = [[s for s in row.slices if s.by == by] for row in run.rows]
        first = shown[0]
        result = [
            Column(by.capitalize(), False, tuple(s.name for s in first)),
            Column("Items", True, tuple(f"{s.queries:,}" for s in first)),
        ]
        for rank, (row, slices) in enumerate(zip(run.rows, shown, strict=True)):
            cells = tuple(_with_interval(s, k) for s in slices)
            result.append(Column(_short(row, run), True, cells, rank))
        tables.append((f"Recall@{k} by {by}, with 95 % intervals", result))
    return tables


def _with_interval(part: Slice, k: int) -> str:
    found = part.interval.get(f"recall@{k}")
    ends = "too few items" if found is None else f"{found[0]:.3f}-{found[1]:.3f}"
    return f"{part.recall[k]:.3f} {ends}"


def _short(row: Row, run: Run) -> str:
    """Name a row where space is short: without its provider."""
    texts = len({r.text for r in run.rows}) > 1
    truths = len(run.truths) > 1
    name = row.label.partition(":")[2]
    return " ".join([name, *([row.text] if texts else []), *([row.truth] if truths else [])])


def table(run: Run, width: int) -> RenderableType:
    """Return the run for a terminal of *width* columns."""
    shown = fitting(columns(run), width)
    blank = Text("")
    parts: list[RenderableType] = [Text(definition(run)), blank, _rich(shown), blank]
    parts += [Text(line) for line in notes(run)]
    for title, sliced in slice_tables(run):
        kept = fitting(sliced, width)
        more = f" ({len(sliced) - len(kept)} more models in --format json)"
        heading = title + (more if len(kept) < len(sliced) else "")
        parts += [blank, Text(heading), _rich(kept)]
    if run.published:
        line = f"{published_line(run)} ({run.published[0].source})"
        parts += [blank, _rich(_published_columns(run)), blank, Text(line)]
    if run.skipped:
        parts += [blank, Text("Skipped:")]
        parts += [Text(f"  {row.model}: {row.reason}") for row in run.skipped]
    return Group(*parts)


def _rich(shown: Sequence[Column]) -> Table:
    result = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for column in shown:
        result.add_column(
            column.title, justify="right" if column.numeric else "left", no_wrap=column.numeric
        )
    for cells in zip(*(column.cells for column in shown), strict=True):
        result.add_row(*(Text(cell) for cell in cells))  # Text: a name is never markup
    return result


def as_text(renderable: RenderableType, width: int = 160) -> str:
    """Render for a file or a pipe: no colors, nothing cut."""
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def as_markdown(run: Run) -> str:
    """Return the run as Markdown."""
    parts = [definition(run), _pipes(columns(run)), "\n".join(f"- {line}" for line in notes(run))]
    for title, sliced in slice_tables(run):
        parts += [title, _pipes(sliced)]
    if run.published:
        parts += [_pipes(_published_columns(run)), published_line(run)]
    if run.skipped:
        parts.append("\n".join(f"- skipped {row.model}: {row.reason}" for row in run.skipped))
    return "\n\n".join(parts) + "\n"


def _pipes(shown: Sequence[Column]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = ["---:" if column.numeric else "---" for column in shown]
    body = zip(*(column.cells for column in shown), strict=True)
    return "\n".join([line([c.title for c in shown]), line(rule), *(line(cells) for cells in body)])


def as_csv(run: Run) -> str:
    """Return the rows as CSV, one line per model, with all measures and intervals."""
    measures = [f"{measure}@{k}" for measure in ("recall", "ndcg") for k in run.ks]
    head = ["model", "dimension", "how", "text", "truth", "protocol", "queries", "without_vector"]
    tail = ["bytes_per_item", "embed_seconds", "load_seconds", "query_seconds", "collection"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [*head, *(f"{m}{end}" for m in measures for end in ("", "_low", "_high")), *tail]
    )
    for row in run.rows:
        values: list[object] = [getattr(row, name) for name in head]
        for measure in measures:
            name, k = measure.split("@")
            score = (row.recall if name == "recall" else row.ndcg)[int(k)]
            values += [score, *(row.interval.get(measure) or (None, None))]
        seconds = row.seconds
        values += [row.bytes_per_item, seconds.embed, seconds.load, seconds.query, row.collection]
        writer.writerow(values)
    return out.getvalue()


def json_text(run: Run) -> str:
    """Return the run as JSON."""
    return json.dumps(as_json(run), indent=1) + "\n"
