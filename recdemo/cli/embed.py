"""``recdemo embed``: have texts embedded and kept, before they are needed."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recdemo.cli.data import open_items, reads_items
from recdemo.cli.embedding_options import may_embed
from recdemo.cli.embedding_tables import Done, add_costs, dollars, show_done, show_estimates
from recdemo.cli.options import DatasetOption, OutputOption, RunFormat, TextOption
from recdemo.cli.output import check_output, notice

if TYPE_CHECKING:
    from rich.progress import Progress

    from recdemo.dataset import Dataset
    from recdemo.dataset.options import ReadOptions
    from recdemo.embedding import ModelName
    from recdemo.embedding.options import EmbedOptions
    from recdemo.texts import Texts

INTERRUPTED = 130  # exit status


@reads_items
@may_embed
def embed(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="As in openai:text-embedding-3-small.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would take; asks no network.")
    ] = False,
    dataset: DatasetOption = "ml-1m",
    text: TextOption = None,
    format: Annotated[RunFormat, typer.Option("--format")] = RunFormat.TABLE,
    output: OutputOption = None,
    *,
    read: "ReadOptions",
    embed: "EmbedOptions",
) -> None:
    """Embed the texts of a catalog and keep the vectors, so that no text is paid for twice."""
    from recdemo.embedding.estimates import check_cost, estimate
    from recdemo.texts import fill, text_names

    check_output(output)
    names = _names(models)
    data = open_items(dataset, read)
    skip = embed.on_empty == "skip"
    wanted = text_names(text, data.catalog)
    texts = [fill(data.catalog, name, data.options, skip) for name in wanted]
    for note in dict.fromkeys(note for each in texts for note in each.notes):
        notice(note)
    estimates = estimate(names, texts, embed)
    if dry_run:
        show_estimates(estimates, format, output)
    if embed.max_cost is not None:
        check_cost(estimates, embed.max_cost)
    if not dry_run:
        show_done(_embed_all(names, data, texts, embed), format, output)


def _names(models: list[str]) -> "list[ModelName]":
    from recdemo.embedding import SERVED, parse_models
    from recdemo.errors import EmbeddingError

    names = [name for model in models for name in parse_models(model)]
    for name in names:
        if name.provider not in SERVED:
            raise EmbeddingError(
                f"nothing of {name} is kept: it costs nothing to compute; expected a model of "
                f"{', '.join(SERVED)}"
            )
    return names


def _embed_all(
    names: "list[ModelName]", data: "Dataset", texts: "list[Texts]", options: "EmbedOptions"
) -> list[Done]:
    from recdemo.embedding import open_embedder
    from recdemo.embedding.estimates import distinct

    done: list[Done] = []
    with _bars() as shown, _explained(done):
        for each in texts:
            for name in distinct(names, options):
                row = Done(str(name), each.name)
                row.total = len(data) - each.n_blank
                done.append(row)
                bar = _Bar(shown, row, done)
                embedder = open_embedder(name, data, each, options, bar.listeners())
                for answer in embedder.embed(each.values):
                    row.texts += len(answer.positions)
                    row.tokens += answer.tokens
                    row.cost = add_costs(row.cost, answer.cost)
                    bar.move()
    return done


@contextmanager
def _explained(done: list[Done]) -> Iterator[None]:
    """Say after Ctrl-C what is kept and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if done:
            row = done[-1]
            notice(f"{row.texts:,} of {row.total:,} vectors of {row.model} are kept")
        notice(f"go on with: {shlex.join(['recdemo', *sys.argv[1:]])}")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _bars() -> "Iterator[Progress]":
    """Open a progress display on stderr with rate, tokens, money so far and time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TextColumn("{task.fields[spent]}", markup=False),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as shown:
        yield shown


class _Bar:
    """The bar of one model, which also tells when a service asks to wait."""

    def __init__(self, shown: "Progress", row: Done, all_rows: list[Done]) -> None:
        self._shown, self._row, self._all = shown, row, all_rows
        self._task = shown.add_task(row.model, total=row.total, rate="", spent="")

    def listeners(self) -> Any:
        from recdemo.embedding import Listeners

        return Listeners(notice, self._wait, self._pull)

    def move(self) -> None:
        task = self._shown.tasks[self._task]
        rate = f"{self._row.texts / task.elapsed:,.0f}/s" if task.elapsed else ""
        cost: float | None = 0.0
        for row in self._all:
            cost = add_costs(cost, row.cost)
        tokens = sum(row.tokens for row in self._all)
        spent = f"{tokens:,} tokens {dollars(cost)}"
        self._shown.update(
            self._task, description=self._row.model, completed=self._row.texts, rate=rate,
            spent=spent,
        )  # fmt: skip

    def _wait(self, reason: str, seconds: float) -> None:
        from recdemo.embedding.watching import wait_line

        message = wait_line(reason, seconds)
        if self._shown.disable:
            notice(message)
        self._shown.update(self._task, description=message)

    def _pull(self, done: int, total: int) -> None:
        share = f"{100 * done / total:.0f} %" if total else ""
        self._shown.update(self._task, description=f"pulling {self._row.model} {share}")
