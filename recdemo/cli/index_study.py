"""``recdemo index-study``: what approximate search costs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.data import open_items, reads_items
from recdemo.cli.embedding_options import may_embed
from recdemo.cli.options import (
    DatasetOption,
    OutputOption,
    Overlap,
    RunFormat,
    StoreOption,
    TextOption,
    parse_ks,
    parse_names,
)
from recdemo.cli.output import check_output, notice, progress
from recdemo.cli.stores import opens_store
from recdemo.cli.tabular import show_table

if TYPE_CHECKING:
    from rich.progress import Progress

    from recdemo.dataset import Dataset
    from recdemo.dataset.options import ReadOptions
    from recdemo.embedding.options import EmbedOptions
    from recdemo.index_study import Plan, StudyRow
    from recdemo.store import CollectionInfo, Quantization, VectorStore


@opens_store
@reads_items
@may_embed
def index_study(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="As in bundled:all-minilm-l6-v2@64,384.")
    ],
    dataset: DatasetOption = "ml-1m",
    text: TextOption = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Neighbors that are asked for.")] = 100,
    truth: Annotated[Overlap, typer.Option(help="Overlap of users.")] = Overlap.JACCARD,
    ef: Annotated[
        str | None,
        typer.Option("--ef", help="Candidates of a search, above K; a comma list; 128,256,512."),
    ] = None,
    m: Annotated[str, typer.Option("--m", help="Links of a point; a comma list.")] = "8,16,32",
    quantization: Annotated[
        str, typer.Option(help="Of none, scalar, binary, turbo; a comma list.")
    ] = "none,scalar,binary,turbo",
    sample: Annotated[
        int | None, typer.Option(min=1, help="Ask for so many query items only, not for all.")
    ] = None,
    store: StoreOption = "embedded",
    format: Annotated[RunFormat, typer.Option("--format")] = RunFormat.TABLE,
    output: OutputOption = None,
    chart: Annotated[
        Path | None, typer.Option(help="Also draw the frontier: FILE.svg, .png or .html.")
    ] = None,
    *,
    read: "ReadOptions",
    embed: "EmbedOptions",
) -> None:
    """Measure what HNSW graphs and quantized vectors cost: recall, speed and bytes."""
    from dataclasses import asdict

    from recdemo.charts.saving import check_ending
    from recdemo.index_study import Plan, check_plan, default_efs
    from recdemo.report.index_study import columns, sentences

    check_output(output)
    if chart is not None:
        check_ending(chart)
        check_output(chart)
    wanted = _quantizations(quantization)
    plan = Plan(k, parse_ks(ef) or default_efs(k), parse_ks(m) or (), wanted)
    check_plan(plan)
    data = open_items(dataset, read)
    rows = _study(models, data, text, truth.value, plan, sample, store, embed)
    lines = ["", *sentences(rows)]
    show_table(columns(rows), [asdict(row) for row in rows], format, output, lines)
    if chart is not None:
        from recdemo.charts.frontier import draw

        draw(rows, data.name, chart)


def _quantizations(text: str) -> "tuple[Quantization, ...]":
    from typing import get_args

    from recdemo.store import Quantization

    known: tuple[Quantization, ...] = get_args(Quantization)
    names = parse_names(text)
    for name in names:
        if name not in known:
            raise typer.BadParameter(
                f"{name!r} is not one of {', '.join(known)}", param_hint="--quantization"
            )
    return tuple(each for each in known if each in names)


def _study(
    models: list[str],
    data: "Dataset",
    text: str | None,
    overlap: str,
    plan: "Plan",
    sample: int | None,
    location: str,
    embed: "EmbedOptions",
) -> "list[StudyRow]":
    from contextlib import closing

    from recdemo.index_study import study
    from recdemo.scoring.sampling import check_size, draw_sample
    from recdemo.store import open_store
    from recdemo.truth.files import find_truth

    with progress() as shown, closing(open_store(location, notice)) as store:
        infos = list(_collections(models, data, text, store, embed, shown))
        truth = find_truth(data, overlap, plan.k)
        queries = truth.queries
        if sample is not None and sample < len(queries):
            check_size(sample)
            queries = draw_sample(queries, data.counts, sample).queries
        rows = []
        for info in infos:
            label = f"{info.model}@{info.dimension}"
            task = shown.add_task(label, total=None)

            def told(what: str, done: int, total: int, task=task, label=label) -> None:  # type: ignore[no-untyped-def]
                shown.update(task, description=f"{label} {what}", completed=done, total=total)

            rows += study(store, info, truth, queries, plan, told)
    return rows


def _collections(
    models: list[str],
    data: "Dataset",
    text: str | None,
    store: "VectorStore",
    embed: "EmbedOptions",
    shown: "Progress",
) -> "Iterator[CollectionInfo]":
    """Yield the collections of the models, loaded where they are not there yet."""
    from recdemo.cli.output import bar
    from recdemo.embedding import Listeners, open_embedder, parse_models
    from recdemo.embedding.estimates import check_cost, estimate
    from recdemo.loading import ensure_collection
    from recdemo.texts import fill, one_text_name

    names = [name for model in models for name in parse_models(model)]
    texts = fill(
        data.catalog, one_text_name(text, data.catalog), data.options, embed.on_empty == "skip"
    )
    for note in texts.notes:
        notice(note)
    if embed.max_cost is not None:
        check_cost(estimate(names, [texts], embed), embed.max_cost)
    for name in names:
        listeners = Listeners(notice, on_pull=bar(shown, f"pulling {name}"))
        embedder = open_embedder(name, data, texts, embed, listeners)
        yield ensure_collection(store, data, texts, embedder, bar(shown, str(embedder.spec))).info
