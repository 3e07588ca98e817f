"""``recdemo dataset``: fetch data sets and show what they hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli import output
from recdemo.cli.data import open_items, reads_items

if TYPE_CHECKING:
    from rich.table import Table

    from recdemo.dataset import Dataset
    from recdemo.dataset.download import FetchReport
    from recdemo.dataset.options import ReadOptions

dataset_app = typer.Typer(no_args_is_help=True, help="Fetch data sets and show what they hold.")


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
