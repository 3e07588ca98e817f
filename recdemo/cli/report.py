"""``recdemo report``: a run as a page, a table, data, or files for other tools."""

from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.output import bar, check_output, notice, progress, show
from recdemo.cli.stores import GrpcOption, by_grpc
from recdemo.errors import DatasetError, RecdemoError

if TYPE_CHECKING:
    from recdemo.dataset import Dataset
    from recdemo.examples import Examples
    from recdemo.runs import Run
    from recdemo.truth import Truth


class ReportFormat(StrEnum):
    """How a run is written."""

    HTML = "html"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"
    TREC = "trec"


_BY_ENDING = {
    ".md": ReportFormat.MARKDOWN,
    ".markdown": ReportFormat.MARKDOWN,
    ".csv": ReportFormat.CSV,
    ".json": ReportFormat.JSON,
}
_MARKED_AT = 100  # K of the truth lists that marks come from, for a run without lists


def report(
    run: Annotated[str, typer.Argument(help="latest, an id or the start of one, or a file.")] = (
        "latest"
    ),
    format: Annotated[
        ReportFormat | None,
        typer.Option("--format", help="By the ending of --output where it tells; else html."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write to this file; for trec into this new folder.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Where the data set is now, if it was moved.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="Where the collections are; by default as the run has it.")
    ] = None,
    grpc: GrpcOption = False,
) -> None:
    """Write a run as one HTML page, Markdown, CSV, JSON, or TREC files for other tools."""
    from recdemo.runs.files import find_run, read_run

    chosen = format or _format_of(output)
    check_output(output)
    found = read_run(find_run(run))
    store = by_grpc(store or found.store) if grpc else store
    if chosen is ReportFormat.TREC:
        if output is None:
            raise typer.BadParameter("trec writes a folder; name it", param_hint="--output")
        _write_trec(found, output, dataset, store)
    elif chosen is ReportFormat.HTML:
        _write_html(found, output, dataset, store)
    else:
        show(_text(found, chosen), output)


def _format_of(output: Path | None) -> ReportFormat:
    return _BY_ENDING.get("" if output is None else output.suffix.lower(), ReportFormat.HTML)


def _text(run: "Run", format: ReportFormat) -> str:
    from recdemo import report

    texts = {
        ReportFormat.MARKDOWN: report.as_markdown,
        ReportFormat.CSV: report.as_csv,
        ReportFormat.JSON: report.json_text,
    }
    return texts[format](run)


def _write_html(run: "Run", output: Path | None, dataset: str | None, store: str | None) -> None:
    import sys

    from recdemo.html_report import as_html

    if output is None and sys.stdout.isatty():
        raise typer.BadParameter(
            "a page is not for a terminal; name a file, or use --format markdown",
            param_hint="--output",
        )
    show(as_html(run, _examples(run, dataset, store)).decode(), output)


def _examples(run: "Run", where: str | None, store: str | None) -> "Examples":
    """Return the example lists; what is missing for them is said in the report."""
    from recdemo.examples import Examples, find_examples
    from recdemo.store import open_store

    try:
        dataset = _dataset(run, where)
        with closing(open_store(store or run.store, notice)) as opened:
            return find_examples(run, dataset, opened, _truth_of_marks(run, dataset))
    except RecdemoError as error:
        return Examples(None, notes=(f"The example lists are left out: {error}.",))


def _dataset(run: "Run", where: str | None) -> "Dataset":
    from recdemo.dataset import open_dataset
    from recdemo.examples import check_same
    from recdemo.plans import from_settings

    request = from_settings(run.settings)
    dataset = open_dataset(where or request.dataset, request.read)
    check_same(run, dataset)
    return dataset


def _truth_of_marks(run: "Run", dataset: "Dataset") -> "Truth | None":
    from recdemo.truth.files import find_truth

    overlap, k = (run.rows[0].truth, run.headline) if run.truths else ("jaccard", _MARKED_AT)
    k = min(k, dataset.n_rated - 1)
    try:
        with progress() as shown:
            return find_truth(dataset, overlap, k, bar(shown, "truth")).cut(k)
    except DatasetError as error:
        notice(f"the lists have no marks: {error}")
        return None


def _write_trec(run: "Run", folder: Path, where: str | None, store: str | None) -> None:
    from recdemo.protocols import OVERLAP
    from recdemo.store import open_store
    from recdemo.trec import write_trec
    from recdemo.truth.files import find_truth

    dataset = _dataset(run, where)
    overlaps = dict.fromkeys(row.truth for row in run.rows if row.protocol == OVERLAP)
    with progress() as shown, closing(open_store(store or run.store, notice)) as opened:
        truths = {
            overlap: find_truth(dataset, overlap, max(run.ks), bar(shown, f"truth {overlap}"))
            for overlap in overlaps
        }
        for note in write_trec(run, dataset, opened, truths, folder, bar(shown, "models")):
            notice(note)
