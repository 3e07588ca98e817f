"""``recdemo load``: fill collections before they are needed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.data import open_items, reads_items
from recdemo.cli.embedding_options import may_embed
from recdemo.cli.options import DatasetOption, OutputOption, RunFormat, StoreOption, TextOption
from recdemo.cli.output import bar, check_output, notice, progress
from recdemo.cli.stores import ReplicasOption, ShardsOption, opens_store
from recdemo.cli.tabular import show_table

if TYPE_CHECKING:
    from recdemo.dataset import Dataset
    from recdemo.dataset.options import ReadOptions
    from recdemo.embedding import ModelName
    from recdemo.embedding.options import EmbedOptions
    from recdemo.loading import Loaded
    from recdemo.store import Layout
    from recdemo.texts import Texts


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
    from recdemo.embedding import parse_models
    from recdemo.embedding.estimates import check_cost, estimate
    from recdemo.store import Layout
    from recdemo.texts import fill, text_names

    check_output(output)
    names = [name for model in models for name in parse_models(model)]
    data = open_items(dataset, read)
    skip = embed.on_empty == "skip"
    texts = [
        fill(data.catalog, each, data.options, skip) for each in text_names(text, data.catalog)
    ]
    for note in dict.fromkeys(note for each in texts for note in each.notes):
        notice(note)
    if embed.max_cost is not None:
        check_cost(estimate(names, texts, embed), embed.max_cost)
    layout = Layout(shards=shards, replicas=replicas)
    _show(_load_all(names, data, texts, store, embed, layout), store, format, output)


def _load_all(
    names: "list[ModelName]",
    data: "Dataset",
    texts: "list[Texts]",
    location: str,
    options: "EmbedOptions",
    layout: "Layout",
) -> "list[Loaded]":
    from contextlib import closing

    from recdemo.embedding import Listeners, open_embedder
    from recdemo.loading import ensure_collection
    from recdemo.store import open_store

    done = []
    with progress() as shown, closing(open_store(location, notice)) as store:
        for each in texts:
            for name in names:
                listeners = Listeners(notice, on_pull=bar(shown, f"pulling {name}"))
                embedder = open_embedder(name, data, each, options, listeners)
                if embedder.spec.reads_text or each is texts[0]:
                    label = f"{embedder.spec} on {each.name}"
                    told = bar(shown, label)
                    done.append(ensure_collection(store, data, each, embedder, told, layout))
    return done


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
