"""``recdemo collections``: what a store holds, and how it is kept tidy or moved."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.options import OutputOption, RunFormat, StoreOption
from recdemo.cli.output import bar, check_output, notice, progress, show
from recdemo.cli.stores import ReplicasOption, ShardsOption, opens_store
from recdemo.cli.tabular import show_table

if TYPE_CHECKING:
    from recdemo.store import CollectionInfo, CollectionStatus, VectorStore

app = typer.Typer(no_args_is_help=True, help="What a store holds; keep it tidy, or move it.")

NamesArgument = Annotated[list[str], typer.Argument(metavar="NAME...", help="As 'list' has it.")]


@app.command("list")
@opens_store
def list_(
    store: StoreOption = "embedded",
    format: Annotated[RunFormat, typer.Option("--format")] = RunFormat.TABLE,
    output: OutputOption = None,
) -> None:
    """List the collections: model, dimension, text, items, size and state."""
    from recdemo.report.columns import Column

    check_output(output)
    with _opened(store) as opened:
        rows = [(info, opened.status(info.name)) for info in opened.collections()]
        versions = _versions(opened)
    columns = [
        Column("Model", False, tuple(info.model for info, _ in rows)),
        Column("Dim", True, tuple(str(info.dimension) for info, _ in rows)),
        Column("Text", False, tuple(info.text for info, _ in rows), 2),
        Column("Data set", False, tuple(info.dataset for info, _ in rows), 3),
        Column("Items", True, tuple(f"{info.count:,}" for info, _ in rows)),
        Column("MB", True, tuple(f"{status.bytes_on_disk / 1e6:,.1f}" for _, status in rows)),
        Column("State", False, tuple(_state(info, status) for info, status in rows)),
        Column("Made", False, tuple(info.created[:10] for info, _ in rows), 4),
        Column("Name", False, tuple(info.name for info, _ in rows), 1),
    ]
    total = sum(status.bytes_on_disk for _, status in rows) / 1e6
    below = ["", f"{len(rows):,} collections, {total:,.1f} MB, in {store} ({versions})"]
    records = [_record(info, status) for info, status in rows]
    show_table(columns, records, format, output, below)


@app.command()
@opens_store
def info(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As 'list' has it.")],
    store: StoreOption = "embedded",
) -> None:
    """Show all that is known of one collection."""
    with _opened(store) as opened:
        status = opened.status(name)
        found = next((each for each in opened.collections() if each.name == name), None)
        versions = _versions(opened)
    record = {} if found is None else _record(found, status)
    record["engine"] = versions
    width = max(map(len, record))
    show("".join(f"{key:{width}}  {value}\n" for key, value in record.items()))


@app.command()
@opens_store
def prune(
    store: StoreOption = "embedded",
    older_than: Annotated[
        int, typer.Option(min=0, metavar="DAYS", help="Keep what was made since; 7.")
    ] = 7,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before removing.")] = False,
) -> None:
    """Remove collections that no run kept here has a row of, older than some days."""
    from datetime import UTC, datetime

    from recdemo.housekeeping import unasked
    from recdemo.runs.files import find_run, read_run
    from recdemo.settings import settings

    paths = sorted(settings().runs.glob("*.json"))
    runs = (read_run(find_run(str(path))) for path in paths)
    with _opened(store) as opened:
        stale = unasked(opened.collections(), runs, older_than, datetime.now(UTC))
        for each in stale:
            typer.echo(each.name)
        if not stale or dry_run:
            typer.echo(f"{len(stale)} would be removed" if stale else "nothing to remove")
            return
        _confirm(f"remove these {len(stale)}? no run kept here has a row of them", yes)
        for each in stale:
            opened.delete(each.name)
    typer.echo(f"{len(stale)} removed")


@app.command()
@opens_store
def delete(names: NamesArgument, store: StoreOption = "embedded") -> None:
    """Remove collections by name; what is not recdemo's is left alone."""
    with _opened(store) as opened:
        for name in dict.fromkeys(names):
            opened.delete(name)
            typer.echo(f"{name}: removed")


@app.command()
@opens_store
def copy(
    to: Annotated[str, typer.Option("--to", metavar="STORE", help="embedded, or a URL.")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="By default all.")
    ] = None,
    store: StoreOption = "embedded",
    shards: ShardsOption = None,
    replicas: ReplicasOption = None,
) -> None:
    """Copy collections into another store, each counted when it has arrived."""
    from recdemo import housekeeping
    from recdemo.store import Layout

    layout = Layout(shards=shards, replicas=replicas)
    with _opened(store) as source, _opened(to) as target, progress() as shown:
        for each in housekeeping.chosen(source, names or []):
            was_copied = housekeeping.copy(source, target, each, bar(shown, each.name), layout)
            told = f"{each.count:,} points" if was_copied else "there already"
            typer.echo(f"{each.name}: {told}")


@contextmanager
def _opened(location: str) -> "Iterator[VectorStore]":
    from recdemo.store import open_store

    with closing(open_store(location, notice)) as opened:
        yield opened


def _versions(store: "VectorStore") -> str:
    return ", ".join(f"{name} {version}" for name, version in store.versions().items())


def _state(info: "CollectionInfo", status: "CollectionStatus") -> str:
    """Say that a complete collection is a copy that an index study left, if it is."""
    return "study copy" if info.is_study and info.complete else status.state


def _record(info: "CollectionInfo", status: "CollectionStatus") -> dict[str, object]:
    return {
        **asdict(info),
        "bytes": status.bytes_on_disk,
        "indexed_vectors": status.indexed_vectors,
        "state": _state(info, status),
    }


def _confirm(question: str, yes: bool) -> None:
    """Ask a person; where nobody can answer, ``--yes`` must have been said."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here; say --yes, or --dry-run to look")
    typer.confirm(question, abort=True, err=True)
