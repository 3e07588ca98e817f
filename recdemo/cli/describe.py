"""``recdemo describe``: synopses for a catalog that has none, by a chat model."""

import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from recdemo.cli.data import open_items, reads_items
from recdemo.cli.options import DatasetOption
from recdemo.cli.output import check_output, notice, progress, show

if TYPE_CHECKING:
    from recdemo.chat import ChatOptions
    from recdemo.chat.prices import Price
    from recdemo.dataset.options import ReadOptions
    from recdemo.describe import Plan, Written
    from recdemo.embedding import ModelName
    from recdemo.synopses import SynopsisFile

INTERRUPTED = 130  # exit status
_NAMED = 5  # items of a message


@reads_items
def describe(
    model: Annotated[str, typer.Argument(help="As in openai:gpt-4o-mini or ollama:llama3.2.")],
    output: Annotated[
        Path, typer.Option(help="Goes on with this CSV file, for use with --text.", dir_okay=False)
    ] = Path("synopses.csv"),
    prompt: Annotated[
        str | None,
        typer.Option(help="What to ask: a template of the catalog's fields, as in '{title}?'"),
    ] = None,
    dataset: DatasetOption = "ml-1m",
    temperature: Annotated[float, typer.Option(min=0.0, max=2.0)] = 0.0,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask about so many items only.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace texts of other models, prompts or yours.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would take; asks nobody.")
    ] = False,
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=64, help="Requests at once.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0.0, help="US dollars; stops before it costs more.")
    ] = None,
    pull: Annotated[
        bool, typer.Option("--pull", help="Have Ollama fetch a model that is not there.")
    ] = False,
    *,
    read: "ReadOptions",
) -> None:
    """Write a paragraph on each item that has none, with a chat model, into a CSV file."""
    from recdemo.chat import ChatOptions
    from recdemo.chat.prices import price_of
    from recdemo.describe import check_cost, default_prompt, plan
    from recdemo.embedding import parse_model
    from recdemo.synopses import SynopsisFile

    check_output(output)
    name = parse_model(model)
    catalog = open_items(dataset, read).catalog
    file = SynopsisFile(output)
    asked = prompt if prompt is not None else default_prompt(catalog)
    planned = plan(catalog, str(name), asked, file, overwrite=overwrite, limit=limit)
    price = price_of(name)
    if dry_run:
        show(_estimate(planned, price))
    if max_cost is not None:
        check_cost(planned, price, max_cost)
    if planned.prompts and not dry_run:
        options = ChatOptions(temperature, concurrency, pull)
        _write(name, planned, file, options, price, max_cost)
    elif not dry_run:
        _take_over(planned, file)


def _write(
    name: "ModelName",
    planned: "Plan",
    file: "SynopsisFile",
    options: "ChatOptions",
    price: "Price | None",
    max_cost: float | None,
) -> None:
    from recdemo.chat import open_chat
    from recdemo.describe import Written, make_room, write

    written = Written()
    with _Bar(planned, written) as bar, file:
        chat = open_chat(name, options, bar.pull)
        aside = make_room(planned, file)
        if aside is not None:
            notice(f"texts that are asked for anew stay in {aside}")
        try:
            write(
                planned, chat, file, written, price=price, max_cost=max_cost,
                on_progress=bar.move, on_wait=bar.wait,
            )  # fmt: skip
        except KeyboardInterrupt:
            notice(f"{written.items:,} of {planned.n_items:,} texts are in {file.path}")
            notice(f"go on with: {_command()}")
            raise typer.Exit(INTERRUPTED) from None
    show(_result(planned, written, file, price))
    _explain(planned, written.troubles, written)


def _take_over(planned: "Plan", file: "SynopsisFile") -> None:
    """Ask nothing: all items have a text, or nothing can be asked about them."""
    from recdemo.describe import UNTOLD

    if file.by_item and planned.taken_over:
        with file:
            file.append(planned.taken_over)
    show(
        f"nothing to ask: {planned.n_there:,} items have a text in {file.path}, "
        f"{len(planned.taken_over):,} a synopsis in the catalog; --overwrite has new ones written\n"
    )
    _explain(planned, dict.fromkeys(planned.untold, UNTOLD))


def _estimate(planned: "Plan", price: "Price | None") -> str:
    from recdemo.describe import expected_cost

    cost = expected_cost(planned, price)
    there = planned.n_there + len(planned.taken_over)
    return (
        f"{planned.n_items:,} texts to write with {planned.model}, in {len(planned.prompts):,} "
        f"requests; {there:,} items have a text\n"
        f"about {planned.tokens_in:,} tokens to read and {planned.tokens_out:,} to write "
        f"(estimates): {_dollars(cost, price)}\n"
    )


def _result(
    planned: "Plan", written: "Written", file: "SynopsisFile", price: "Price | None"
) -> str:
    beyond = f"; {planned.n_left:,} items are beyond --limit" if planned.n_left else ""
    return (
        f"{written.items:,} texts by {planned.model} written to {file.path}, which holds "
        f"{len(file.by_item):,} now; {written.tokens_in:,} tokens read, {written.tokens_out:,} "
        f"written: {_dollars(written.cost, price)}{beyond}\n"
        f"use them with --text {shlex.quote(str(file.path))}\n"
    )


def _explain(planned: "Plan", troubles: "dict[str, str]", written: "Written | None" = None) -> None:
    """Say which items have no text and how to go on; exit 1 where there are any."""
    left = 0
    if written is not None and written.is_stopped:
        left = planned.n_items - written.items - (len(troubles) - len(planned.untold))
        notice(f"stopped before --max-cost; {left:,} items were not asked about")
    if troubles:
        named = [f"{item_id} ({why})" for item_id, why in list(troubles.items())[:_NAMED]]
        more = ", ..." if len(troubles) > _NAMED else ""
        notice(f"{len(troubles):,} items have no text: {', '.join(named)}{more}")
    if troubles or left:
        notice(f"try again with: {_command()}")
        raise typer.Exit(1)


def _dollars(cost: float | None, price: "Price | None") -> str:
    if cost is None or price is None:
        return "cost not known"
    return f"${cost:.4f}" + (f" at the prices of {price.date}" if price.date else "")


def _command() -> str:
    return shlex.join(["recdemo", *sys.argv[1:]])


class _Bar:
    """A bar on stderr with the money so far; where there is no terminal, waits are told."""

    def __init__(self, planned: "Plan", written: "Written") -> None:
        self._planned, self._written = planned, written
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._shown = self._stack.enter_context(progress())
        self._task = self._shown.add_task(self._planned.model, total=self._planned.n_items)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def move(self) -> None:
        cost = self._written.cost
        spent = "" if cost is None else f" ${cost:.4f}"
        done = self._written.items + len(self._written.troubles) - len(self._planned.untold)
        self._shown.update(self._task, description=f"{self._planned.model}{spent}", completed=done)

    def wait(self, reason: str, seconds: float) -> None:
        from recdemo.embedding.watching import wait_line

        message = wait_line(reason, seconds)
        if self._shown.disable:
            notice(message)
        self._shown.update(self._task, description=message)

    def pull(self, done: int, total: int) -> None:
        share = f"{100 * done / total:.0f} %" if total else ""
        self._shown.update(self._task, description=f"pulling {self._planned.model} {share}")
