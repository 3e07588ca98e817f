"""``recdemo index-study``: what approximate search costs."""

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
    SampleOption,
    StoreOption,
    TextOption,
    parse_ks,
    parse_names,
)
from recdemo.cli.output import bar, check_output, notice, progress
from recdemo.cli.stores import opens_store
from recdemo.cli.tabular import show_table

if TYPE_CHECKING:
    from rich.progress import Progress

    from recdemo.dataset import Dataset
    from recdemo.dataset.options import ReadOptions
    from recdemo.embedding.options import EmbedOptions
    from recdemo.index_study import Plan, StudyRow
    from recdemo.index_study import Progress as Progressed
    from recdemo.store import CollectionInfo, Quantization


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
    sample: SampleOption = None,
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
    from recdemo.charts.saving import check_ending
    from recdemo.index_study import Plan, check_plan, default_efs
    from recdemo.report.index_study import columns, record, sentences

    check_output(output)
    if chart is not None:
        check_ending(chart)
        check_output(chart)
    plan = Plan(
        k,
        tuple(sorted(set(parse_ks(ef, "--ef") or default_efs(k)))),
        tuple(sorted(set(parse_ks(m, "--m") or ()))),
        _quantizations(quantization),
    )
    check_plan(plan)
    data = open_items(dataset, read)
    rows = _study(models, data, text, truth.value, plan, sample, store, embed)
    lines = ["", *sentences(rows)]
    show_table(columns(rows), [record(row) for row in rows], format, output, lines)
    if chart is not None:
        from recdemo.charts.frontier import draw

        draw(rows, data.name, chart)


def _quantizations(text: str) -> "tuple[Quantization, ...]":
    from typing import get_args

    from recdemo.store import Quantization

    known: tuple[Quantization, ...] = get_args(Quantization)
    names = parse_names(text)
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        raise typer.BadParameter(
            f"{wrong[0] if wrong else text!r} is not one of {', '.join(known)}",
            param_hint="--quantization",
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

    from recdemo.cli.loading import fill_texts, load_all
    from recdemo.embedding import parse_models
    from recdemo.index_study import study
    from recdemo.scoring.sampling import check_size, draw_sample
    from recdemo.store import open_store
    from recdemo.texts import one_text_name
    from recdemo.truth.files import find_truth

    names = [name for model in models for name in parse_models(model)]
    texts = fill_texts(data, [one_text_name(text, data.catalog)], names, embed)
    rows = []
    with progress() as shown, closing(open_store(location, notice)) as store:
        truth = find_truth(data, overlap, plan.k, bar(shown, "truth"))
        queries = truth.queries
        if sample is not None:
            check_size(sample)
            queries = draw_sample(queries, data.counts, min(sample, len(queries))).queries
        loaded = list(load_all(store, data, texts, names, embed, shown))
        for info in (each.info for each in loaded):
            rows += study(store, info, truth, queries, plan, _bar(shown, info))
    return rows


def _bar(shown: "Progress", info: "CollectionInfo") -> "Progressed":
    label = f"{info.model}@{info.dimension}"
    task = shown.add_task(label, total=None)

    def told(what: str, done: int, total: int) -> None:
        shown.update(task, description=f"{label} {what}", completed=done, total=total)

    return told
