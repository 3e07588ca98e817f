"""``recdemo dataset``: fetch data sets, show what they hold, and check them."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli import output
from recdemo.cli.data import open_items, reads_items
from recdemo.cli.options import OutputOption, TextOption

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from recdemo.dataset import Dataset
    from recdemo.dataset.download import FetchReport
    from recdemo.dataset.findings import Finding
    from recdemo.dataset.options import ReadOptions
    from recdemo.dataset.validate import Report

dataset_app = typer.Typer(
    no_args_is_help=True, help="Fetch data sets, show what they hold, and check them."
)


@dataset_app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="ml-1m, ml-latest-small, ml-25m or ml-32m.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="Take it from this zip or folder.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Download a data set, or take it from a zip or folder, for use by its name."""
    from recdemo.dataset import download

    with output.progress() as progress:
        task = progress.add_task(f"fetching {name} (KB)", total=None)
        report = download.fetch(
            name,
            source,
            lambda done, total: progress.update(
                task, completed=done // 1024, total=total // 1024 or None
            ),
            force=force,
        )
    output.show(_fetched(report))


@dataset_app.command()
@reads_items
def show(
    name: Annotated[
        str, typer.Argument(help="A name, or the path of a folder or zip: MovieLens or your own.")
    ] = "ml-1m",
    *,
    read: "ReadOptions",
) -> None:
    """Show counts, fields and origin of a data set."""
    output.show_rich(_table(name, open_items(name, read)))


class Format(StrEnum):
    """How findings are written."""

    TABLE = "table"
    JSON = "json"


@dataset_app.command()
@reads_items
def validate(
    path: Annotated[str, typer.Argument(help="A folder or zip, or the name of a fetched one.")],
    text: TextOption = None,
    format: Annotated[Format, typer.Option("--format")] = Format.TABLE,
    out: OutputOption = None,
    *,
    read: "ReadOptions",
) -> None:
    """Find all that is wrong with a data set, and what an evaluation does with it.

    Exit status 1 where an evaluation would stop.
    """
    from recdemo import texts
    from recdemo.dataset.download import locate
    from recdemo.dataset.validate import validate

    report = validate(
        locate(path),
        read,
        lambda catalog: [
            texts.draft(catalog, name, read) for name in texts.text_names(text, catalog)
        ],
    )
    if format is Format.JSON:
        output.show(_as_json(report), out)
    else:
        output.show_rich(_findings(report), out)
    if not report.usable:
        raise typer.Exit(1)


def _as_json(report: "Report") -> str:
    import json
    from dataclasses import asdict

    return json.dumps(asdict(report) | {"usable": report.usable}, indent=2) + "\n"


def _findings(report: "Report") -> "Group":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    counts = (
        f"{report.name}: {report.n_items:,} items, {report.n_users:,} users, "
        f"{report.n_interactions:,} interactions"
    )
    if not report.findings:
        return Group(Text(f"{counts}. Nothing to tell."))
    table = Table("", "Found", "Count", "Where", "Examples", "An evaluation")
    for finding in report.findings:
        table.add_row(*map(Text, _cells(finding)))
    verdict = "An evaluation can run." if report.usable else "An evaluation would stop."
    return Group(Text(counts), table, Text(verdict))


def _cells(finding: "Finding") -> tuple[str, ...]:
    from recdemo.dataset.findings import SHOWN

    shown = [*finding.examples, *["..."] * (finding.count > SHOWN == len(finding.examples))]
    examples = (", " if max(map(len, shown), default=0) <= 20 else "\n").join(shown)
    kind = finding.kind.replace("-", " ")
    return (finding.severity, kind, f"{finding.count:,}", finding.file, examples, finding.effect)


def _fetched(report: "FetchReport") -> str:
    counts = (
        f"{report.n_items:,} movies, {report.n_users:,} users, {report.n_interactions:,} ratings"
    )
    if not report.new:
        return f"{report.name} is there already: {counts}, in {report.folder}\n"
    how = report.how
    if "repacked" in how:
        how += " (its checksum is not the published one, its counts are right)"
    return f"{report.name}: {counts}, {how}, now in {report.folder}\n"


def _table(name: str, dataset: "Dataset") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    for label, value in (*_counts(dataset), *_fields(dataset), *_origin(name, dataset)):
        table.add_row(Text(label), Text(value))  # not str: that would be read as markup
    return table


def _counts(dataset: "Dataset") -> Iterator[tuple[str, str]]:
    import numpy as np

    rated = dataset.counts[dataset.counts > 0]
    pairs = max(len(dataset) * dataset.n_users, 1)
    yield "data set", dataset.name
    yield "items", f"{len(dataset):,}"
    yield "rated items", f"{len(rated):,}"
    yield "users", f"{dataset.n_users:,}"
    yield "interactions", f"{dataset.n_interactions:,}"
    yield "density", f"{dataset.n_interactions / pairs:.2%} of all pairs of a user and an item"
    if len(rated):
        yield (
            "interactions per rated item",
            f"median {np.median(rated):,g}, most {rated.max():,}",
        )


def _fields(dataset: "Dataset") -> Iterator[tuple[str, str]]:
    for field, values in dataset.catalog.fields.items():
        missing = sum(value in (None, "", ()) for value in values)
        yield f"field {field}", f"{missing:,} missing" if missing else "complete"
    years = [year for year in dataset.catalog.fields.get("year", ()) if isinstance(year, int)]
    if years:
        yield "years", f"{min(years)} to {max(years)}"


def _origin(name: str, dataset: "Dataset") -> Iterator[tuple[str, str]]:
    from recdemo.dataset import DEFAULT, bundled, download

    raw = download.fetched(name) if name == DEFAULT else download.locate(name).resolve()
    if not dataset.n_rated:
        yield "raw interactions", "none; only 'similar' works without them"
    elif raw is None:
        yield "raw interactions", f"not here; get them with 'recdemo dataset fetch {name}'"
    else:
        yield "raw interactions", f"in {raw}"
    if name == DEFAULT:
        yield "items and truth", f"in {bundled.folder()}"
    if dataset.terms:
        yield "terms", dataset.terms
