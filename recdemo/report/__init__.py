"""From a run to what people and programs read: table, Markdown, CSV, JSON."""

import csv
import io
import json

from rich.console import Console, Group, RenderableType
from rich.text import Text

from recdemo.report import one_shot, overlap
from recdemo.report.columns import Column, fitting, pipes, rich_table
from recdemo.report.overlap import slice_tables
from recdemo.runs import Run, by_reason
from recdemo.runs.files import as_json


def definition(run: Run) -> str:
    """Say in one sentence how the numbers are defined."""
    return one_shot.definition(run) if run.one_shot else overlap.definition(run)


def columns(run: Run) -> list[Column]:
    """Return the result table, column by column; shared by all formats for people."""
    return one_shot.columns(run) if run.one_shot else overlap.columns(run)


def notes(run: Run) -> list[str]:
    """Return what must be read with the table: chance, ceiling, baselines, what is missing."""
    return one_shot.notes(run) if run.one_shot else overlap.notes(run)


def published_line(run: Run) -> str:
    """Say what keeps published rows apart from measured ones."""
    texts = ", ".join(dict.fromkeys(row.text for row in run.rows))
    items = ("", "") if run.sample is None else (", all items", ", a sample of them")
    return f"published: texts by gpt-4o-mini{items[0]}; measured: {texts}{items[1]}"


def published_columns(run: Run) -> list[Column]:
    """Return the rows of the published study."""
    return [
        Column("Published model", False, tuple(row.model for row in run.published)),
        Column("Dim", True, tuple(str(row.dimension) for row in run.published)),
        Column("Recall@100", True, tuple(f"{row.recall[100]:.5f}" for row in run.published)),
    ]


def table(run: Run, width: int) -> RenderableType:
    """Return the run for a terminal of *width* columns."""
    shown = fitting(columns(run), width)
    blank = Text("")
    parts: list[RenderableType] = [Text(definition(run)), blank, rich_table(shown), blank]
    parts += [Text(line) for line in notes(run)]
    for title, sliced in slice_tables(run):
        kept = fitting(sliced, width)
        more = f" ({len(sliced) - len(kept)} more models in --format json)"
        heading = title + (more if len(kept) < len(sliced) else "")
        parts += [blank, Text(heading), rich_table(kept)]
    if run.published:
        line = f"{published_line(run)} ({run.published[0].source})"
        parts += [blank, rich_table(published_columns(run)), blank, Text(line)]
    if run.skipped:
        parts += [blank, Text("Skipped:")]
        parts += [Text(f"  {models}: {reason}") for models, reason in by_reason(run.skipped)]
    return Group(*parts)


def as_text(renderable: RenderableType, width: int = 160) -> str:
    """Render for a file or a pipe: no colors, nothing cut."""
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def as_markdown(run: Run) -> str:
    """Return the run as Markdown."""
    parts = [definition(run), pipes(columns(run)), "\n".join(f"- {line}" for line in notes(run))]
    for title, sliced in slice_tables(run):
        parts += [title, pipes(sliced)]
    if run.published:
        parts += [pipes(published_columns(run)), published_line(run)]
    if run.skipped:
        parts.append(
            "\n".join(f"- skipped {models}: {reason}" for models, reason in by_reason(run.skipped))
        )
    return "\n\n".join(parts) + "\n"


def as_csv(run: Run) -> str:
    """Return the rows as CSV, one line per model, with all measures and intervals."""
    measures = [f"{measure}@{k}" for measure in ("recall", "ndcg") for k in run.ks]
    head = ["model", "dimension", "how", "text", "truth", "protocol", "queries", "without_vector"]
    tail = ["bytes_per_item", "embed_seconds", "load_seconds", "query_seconds", "collection"]
    tail += ["tokens", "cost_usd"]
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
        values += [row.tokens, row.cost_usd]
        writer.writerow(values)
    return out.getvalue()


def json_text(run: Run) -> str:
    """Return the run as JSON."""
    return json.dumps(as_json(run), indent=1) + "\n"
