"""``recdemo evaluate``: the main job."""

from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.options import (
    DatasetOption,
    OutputOption,
    Overlap,
    RunFormat,
    StoreOption,
    TextOption,
    parse_ks,
)
from recdemo.cli.output import notice, progress, show, show_rich, terminal_width

if TYPE_CHECKING:
    from rich.progress import Progress

    from recdemo.dataset import Dataset
    from recdemo.runs import Run


def evaluate(
    models: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="As in baseline:lsa@64,128.")
    ] = None,
    suite: Annotated[str, typer.Option(help="Models to run when none are named.")] = "offline",
    dataset: DatasetOption = "ml-1m",
    text: TextOption = None,
    k: Annotated[str | None, typer.Option("--k", help="Comma list; 10,20,50,100.")] = None,
    truth: Annotated[Overlap, typer.Option(help="Overlap of users.")] = Overlap.JACCARD,
    store: StoreOption = "embedded",
    format: Annotated[RunFormat, typer.Option("--format")] = RunFormat.TABLE,
    output: OutputOption = None,
) -> None:
    """Measure how much of the truth each model recovers, and print the table."""
    from recdemo.dataset import open_dataset
    from recdemo.runs.files import write_run

    run = _run(open_dataset(dataset), models or [], suite, text, parse_ks(k), truth, store)
    write_run(run)
    _print(run, format, output)


def _run(
    dataset: "Dataset",
    models: list[str],
    suite: str,
    text: str | None,
    ks: list[int] | None,
    overlap: str,
    location: str,
) -> "Run":
    from contextlib import closing

    from recdemo import benchmark, suites, texts
    from recdemo.embedding import parse_models
    from recdemo.store import open_store
    from recdemo.truth.files import find_truth

    names = tuple(name for model in models for name in parse_models(model))
    plan = benchmark.Plan(
        models=names or suites.suite_models(suite),
        texts=tuple(
            texts.fill(dataset.catalog, name) for name in texts.text_names(text, dataset.catalog)
        ),
        ks=suites.usable_ks(ks, dataset),
        must_run=bool(names),
        asked={"models": models, "suite": suite},
    )
    with progress() as shown, closing(open_store(location, notice)) as store:
        watcher = _Bars(shown)
        truth = find_truth(dataset, overlap, max(plan.ks), watcher.truth)
        return benchmark.evaluate(dataset, store, plan, [truth], watcher, location)


class _Bars:
    """Shows how an evaluation gets on: rows above, the step of the current row below."""

    def __init__(self, shown: "Progress") -> None:
        self._shown = shown
        self._rows = shown.add_task("models", total=None)
        self._step = shown.add_task("", total=None, visible=False)

    def row(self, label: str, done: int, total: int) -> None:
        self._shown.update(self._rows, description=label, completed=done, total=total)

    def step(self, name: str, done: int, total: int) -> None:
        self._shown.update(
            self._step, description=f"  {name}", completed=done, total=total, visible=True
        )

    def truth(self, done: int, total: int) -> None:
        self.step("truth", done, total)


def _print(run: "Run", format: RunFormat, output: "OutputOption") -> None:
    from recdemo import report

    if format is RunFormat.TABLE:
        show_rich(report.table(run, terminal_width()), output)
        return
    texts = {
        RunFormat.MARKDOWN: report.as_markdown,
        RunFormat.CSV: report.as_csv,
        RunFormat.JSON: report.json_text,
    }
    show(texts[format](run), output)
