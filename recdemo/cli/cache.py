"""``recdemo cache``: the embeddings that are kept, and how to share them."""

from pathlib import Path
from typing import Annotated

import typer

from recdemo.cli.options import OutputOption, RunFormat
from recdemo.cli.output import check_output, notice
from recdemo.cli.tabular import show_table

app = typer.Typer(no_args_is_help=True, help="The embeddings that are kept, and how to share them.")

ModelOption = Annotated[
    str | None, typer.Option("--model", metavar="PROVIDER:NAME", help="Only of this model.")
]


@app.command()
def show(
    model: ModelOption = None,
    format: Annotated[RunFormat, typer.Option("--format")] = RunFormat.TABLE,
    output: OutputOption = None,
) -> None:
    """Show what is kept of each model."""
    from recdemo.embedding.cache import open_cache
    from recdemo.embedding.upkeep import held
    from recdemo.report.columns import Column

    check_output(output)
    with open_cache(notice) as cache:
        rows, path = held(cache, model), cache.path
    columns = [
        Column("Model", False, tuple(row.key.model for row in rows)),
        Column("Asked for", True, tuple(str(row.key.dimension or "-") for row in rows)),
        Column("Prefix", False, tuple(repr(row.key.prefix or None) for row in rows), 2),
        Column("Texts", False, tuple(row.key.rule for row in rows), 4),
        Column("Revision", False, tuple(row.key.revision or "-" for row in rows), 5),
        Column("Vectors", True, tuple(f"{row.count:,}" for row in rows)),
        Column("MB", True, tuple(f"{row.bytes / 1e6:,.1f}" for row in rows)),
        Column("First", False, tuple(row.first[:10] for row in rows), 3),
        Column("Last", False, tuple(row.last[:10] for row in rows), 1),
    ]
    records = [
        {
            "provider": row.key.provider, "name": row.key.name, "revision": row.key.revision,
            "dimension": row.key.dimension, "prefix": row.key.prefix, "rule": row.key.rule,
            "vectors": row.count, "bytes": row.bytes, "first": row.first, "last": row.last,
        }
        for row in rows
    ]  # fmt: skip
    total = sum(row.bytes for row in rows) / 1e6
    below = ["", f"{sum(row.count for row in rows):,} vectors, {total:,.1f} MB, in {path}"]
    show_table(columns, records, format, output, below)


@app.command()
def prune(
    model: ModelOption = None,
    older_than: Annotated[
        int | None, typer.Option(min=0, metavar="DAYS", help="Only what is older than this.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Remove embeddings: by model or age, else those of texts that no catalog has any more."""
    from recdemo.embedding.cache import open_cache
    from recdemo.embedding.upkeep import prune as prune_cache

    with open_cache(notice) as cache:
        stale = prune_cache(cache, model, older_than, only_look=dry_run)
    what = "would be removed" if dry_run else "removed"
    for each in stale:
        typer.echo(f"{each.key.model}: {each.count:,} vectors {what}")
    if not stale:
        typer.echo("nothing to remove")


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Ends in .npz or .parquet.")],
    model: ModelOption = None,
) -> None:
    """Write embeddings to a file, for others to import."""
    from recdemo.embedding import exchange
    from recdemo.embedding.cache import open_cache

    check_output(file)
    with open_cache(notice) as cache:
        count = exchange.export(cache, file, model)
    typer.echo(f"{count:,} vectors: {file}")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Written by 'cache export'.")],
) -> None:
    """Take in the embeddings of a file; each is held to its checksum."""
    from recdemo.embedding import exchange
    from recdemo.embedding.cache import open_cache

    with open_cache(notice) as cache:
        found = exchange.import_from(cache, file)
    typer.echo(f"{found.added:,} vectors added, {found.known:,} were there already")
    if found.damaged:
        notice(f"{found.damaged:,} vectors of {file} are damaged and were left out")
        raise typer.Exit(1)
