"""``recdemo truth``: build, import and show the truth lists."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.data import open_items, reads_items
from recdemo.cli.options import DatasetOption, Overlap
from recdemo.cli.output import bar, notice, progress, show_rich

if TYPE_CHECKING:
    from rich.table import Table

    from recdemo.dataset import Dataset
    from recdemo.dataset.options import ReadOptions
    from recdemo.truth import Truth

app = typer.Typer(no_args_is_help=True, help="Build, import and show the truth lists.")


@app.command()
@reads_items
def build(
    dataset: DatasetOption = "ml-1m",
    truth: Annotated[Overlap, typer.Option(help="Overlap of users.")] = Overlap.JACCARD,
    k: Annotated[int, typer.Option("--k", help="Length of the lists.", min=1)] = 100,
    ceiling: Annotated[bool, typer.Option("--ceiling", help="Also compute the ceiling.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="Write truth.npz, interaction_counts.csv and ceiling.json here instead."),
    ] = None,
    *,
    read: "ReadOptions",
) -> None:
    """Build the truth lists from raw interactions, and with --ceiling what they allow at best."""
    from recdemo.truth import build_truth, check_k
    from recdemo.truth.ceiling import build_ceiling, save_ceiling
    from recdemo.truth.files import (
        ceiling_path,
        forget_imported,
        kept_length,
        save_counts,
        save_truth,
        truth_path,
    )

    data = open_items(dataset, read)
    data.require_interactions()
    check_k(k, data.n_rated)
    interactions = data.interactions()
    length = kept_length(k, data.n_rated) if output is None else k
    with progress() as shown:
        lists = build_truth(interactions, truth, length, bar(shown, "truth"))
        path = truth_path(data, interactions, truth, length)
        path = path if output is None else output / "truth.npz"
        save_truth(lists, data.catalog.item_ids, path)
        notice(f"truth lists of {len(lists.queries):,} items: {path}")
        if output is not None:
            save_counts(data, output / "interaction_counts.csv")
        elif forget_imported(data, truth):
            notice(f"they take the place of the imported {truth} lists, which are gone")
        if ceiling:
            found = build_ceiling(interactions, truth, k, on_progress=bar(shown, "ceiling"))
            path = ceiling_path(data, interactions, truth, k)
            path = path if output is None else output / "ceiling.json"
            save_ceiling(found, path)
            notice(f"ceiling: {path}")


@app.command("import")
@reads_items
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Parquet or CSV (.gz too) with item_id, neighbor_id and overlap, in any order.",
        ),
    ],
    dataset: DatasetOption = "ml-1m",
    truth: Annotated[Overlap, typer.Option(help="What overlap the numbers are.")] = Overlap.JACCARD,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            min=1,
            help="Length of a full list; as long as the longest, up to 100, if left out.",
        ),
    ] = None,
    *,
    read: "ReadOptions",
) -> None:
    """Take truth lists computed elsewhere; they serve until others are imported or built."""
    from recdemo.truth.files import imported_path, save_truth
    from recdemo.truth.importing import import_lists

    data = open_items(dataset, read)
    found = import_lists(file, data, truth, k)
    path = imported_path(data, truth)
    again = path.exists()
    save_truth(found.truth, data.catalog.item_ids, path)
    notice(
        f"{truth} lists of {len(found.truth.queries):,} items, up to {found.truth.k:,} neighbors "
        f"each: {path}"
    )
    for note in found.notes:
        notice(note)
    if again:
        notice("they replace the ones imported before")
    elif data.n_interactions:
        notice(
            f"they are used for {data.name} in place of built ones, until 'recdemo truth build' "
            "makes others or that file is deleted"
        )
    else:
        notice(
            f"{data.name} has no interactions, so the {found.truth.n_rated:,} items that stand in "
            "the lists count as its rated items"
        )


@app.command()
@reads_items
def show(
    title: Annotated[str | None, typer.Argument(help="An item; all lists in sum without.")] = None,
    dataset: DatasetOption = "ml-1m",
    truth: Annotated[Overlap, typer.Option(help="Overlap of users.")] = Overlap.JACCARD,
    k: Annotated[int, typer.Option("--k", help="Length of the list.", min=1)] = 10,
    *,
    read: "ReadOptions",
) -> None:
    """Show the truth list of an item, or without a title what the lists hold in sum."""
    from recdemo.search import build_index, find_one
    from recdemo.truth.files import find_truth

    data = open_items(dataset, read)
    lists = find_truth(data, truth, k)
    if title is None:
        show_rich(_summary(data, lists))
        return
    row = find_one(build_index(data.catalog, data.counts), title)
    if lists.neighbors[row, 0] < 0:
        notice(f"{data.catalog.label(row)} has no truth list: no user touched it and another item")
        return
    show_rich(_list(data, lists.cut(k), row))


def _list(data: "Dataset", truth: "Truth", row: int) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(f"Largest {truth.overlap} overlap of users with {_name(data, row)}"),
        caption=Text(f"imported: {truth.source}") if truth.source else None,
    )
    known = [field for field in ("year", "genres") if field in data.catalog.fields]
    heads = [{"year": "Year", "genres": "Genre"}[field] for field in known]
    for column in ("#", data.item_word, *heads, truth.overlap.capitalize(), "Users"):
        table.add_column(column)
    for rank, (other, value) in enumerate(
        zip(truth.neighbors[row].tolist(), truth.overlaps[row].tolist(), strict=True), 1
    ):
        if other >= 0:
            fields = (data.catalog.text(other, field) for field in known)
            cells = (data.catalog.title(other), *fields, f"{value:.4f}", f"{data.counts[other]:,}")
            table.add_row(str(rank), *map(Text, cells))
    return table


def _name(data: "Dataset", row: int) -> str:
    return f"{data.catalog.label(row)}, {data.counts[row]:,} users"


def _summary(data: "Dataset", truth: "Truth") -> "Table":
    from rich.table import Table
    from rich.text import Text

    from recdemo.truth.files import find_ceiling

    lengths = (truth.neighbors[truth.rated] >= 0).sum(axis=1)
    table = Table(title=f"Truth of {data.name}: {truth.overlap}", show_header=False)
    if truth.source:
        table.add_row("imported", Text(truth.source))
    table.add_row("items with a list (queries)", f"{len(truth.queries):,}")
    table.add_row("rated items (candidates)", f"{truth.n_rated:,}")
    table.add_row("length of a full list", f"{truth.k:,}")
    table.add_row("shorter lists", f"{(lengths < truth.k).sum():,}, the shortest {lengths.min()}")
    ceiling = find_ceiling(data, truth.overlap, truth.k)
    if ceiling is None:
        table.add_row("ceiling", "not computed; see 'recdemo truth build --ceiling'")
    else:
        for name, values in (("halves", ceiling.lower), ("bootstrap", ceiling.upper)):
            mean = sum(values) / len(values)
            span = f"{min(values):.3f} to {max(values):.3f}"
            table.add_row(f"ceiling at {ceiling.k}, {name} of users", f"{mean:.3f} ({span})")
    return table
