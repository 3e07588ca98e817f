"""``recdemo load``: fill collections before they are needed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.data import open_items, reads_items
from recdemo.cli.embedding_options import may_embed
from recdemo.cli.options import DatasetOption, OutputOption, RunFormat, StoreOption, TextOption
from recdemo.cli.output import check_output, notice, progress
from recdemo.cli.stores import ReplicasOption, ShardsOption, opens_store
from recdemo.cli.tabular import show_table

if TYPE_CHECKING:
    from recdemo.dataset.options import ReadOptions
    from recdemo.embedding.options import EmbedOptions
    from recdemo.loading import Loaded


@opens_store
@reads_items
@may_embed
def load(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="As in baseline:lsa@64,128.")
    ],
    dataset: DatasetOption = "ml-1m",
    text: TextOption = None,
    store: StoreOption = "embedded",
    shards: ShardsOption = None,
    replicas: ReplicasOption = None,
    format: Annotated[RunFormat, typer.Option("--format")] = RunFormat.TABLE,
    output: OutputOption = None,
    *,
    read: "ReadOptions",
    embed: "EmbedOptions",
) -> None:
    """Fill one collection for each model, dimension and text; what is there stays."""
    from contextlib import closing

    from recdemo.cli.loading import fill_texts, load_all
    from recdemo.embedding import parse_models
    from recdemo.store import Layout, open_store
    from recdemo.texts import text_names

    check_output(output)
    names = [name for model in models for name in parse_models(model)]
    data = open_items(dataset, read)
    texts = fill_texts(data, text_names(text, data.catalog), names, embed)
    layout = Layout(shards=shards, replicas=replicas)
    with progress() as shown, closing(open_store(store, notice)) as opened:
        done = list(load_all(opened, data, texts, names, embed, shown, layout))
    _show(done, store, format, output)


def _show(done: "list[Loaded]", store: str, format: RunFormat, output: Path | None) -> None:
    from recdemo.report.columns import Column

    columns = [
        Column("Model", False, tuple(row.info.model for row in done)),
        Column("Dim", True, tuple(str(row.info.dimension) for row in done)),
        Column("Text", False, tuple(row.info.text for row in done), 2),
        Column("Items", True, tuple(f"{row.info.count:,}" for row in done)),
        Column("Embed s", True, tuple(_seconds(row.embed_seconds) for row in done), 3),
        Column("Load s", True, tuple(_seconds(row.load_seconds) for row in done), 3),
        Column("Collection", False, tuple(row.info.name for row in done), 1),
    ]
    records = [
        {
            "model": row.info.model, "dimension": row.info.dimension, "text": row.info.text,
            "items": row.info.count, "embed_seconds": row.embed_seconds,
            "load_seconds": row.load_seconds, "tokens": row.tokens, "cost_usd": row.cost,
            "collection": row.info.name, "fingerprint": row.info.fingerprint,
        }
        for row in done
    ]  # fmt: skip
    new = sum(row.load_seconds is not None for row in done)
    below = ["", f"{new} loaded, {len(done) - new} there already, in {store}"]
    show_table(columns, records, format, output, below)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
