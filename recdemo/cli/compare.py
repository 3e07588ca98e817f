"""``recdemo compare``: rows of runs, or models, held against each other on the same items."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.data import reads_items
from recdemo.cli.embedding_options import may_embed
from recdemo.cli.options import (
    DatasetOption,
    OutputOption,
    RunFormat,
    SampleOption,
    StoreOption,
    parse_names,
)
from recdemo.cli.output import bar, check_output, notice, progress, show, show_rich, terminal_width
from recdemo.cli.stores import opens_store

if TYPE_CHECKING:
    from recdemo.dataset.options import ReadOptions
    from recdemo.embedding.options import EmbedOptions
    from recdemo.entrants import Choice, Field
    from recdemo.report.comparison import Page
    from recdemo.runs import Run
    from recdemo.store import VectorStore


class Measure(StrEnum):
    """What is compared."""

    RECALL = "recall"
    NDCG = "ndcg"


KOption = Annotated[
    int | None, typer.Option("--k", min=1, help="The K to compare at; 100, or the largest.")
]
MeasureOption = Annotated[
    Measure | None, typer.Option(help="recall, or ndcg where users are asked (one-shot).")
]
TextsOption = Annotated[
    str | None, typer.Option("--text", help="What is embedded; of a run: only rows of these.")
]
TruthOption = Annotated[
    str | None, typer.Option(help="Overlap of users, jaccard; of a run: only rows of this.")
]
ProtocolOption = Annotated[
    str | None, typer.Option(help="overlap, one-shot or one-shot-full: only rows of this.")
]


@opens_store
@reads_items
@may_embed
def compare(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN|MODEL",
            help="Runs: latest (the default), an id or a file. Models, as in baseline:lsa@64,128, "
            "are evaluated first, with --dataset, --store and the filters; beside a run they "
            "choose rows of it.",
        ),
    ] = None,
    k: KOption = None,
    measure: MeasureOption = None,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Compare all with all, not each with the best.")
    ] = False,
    by_dimension: Annotated[
        bool, typer.Option("--by-dimension", help="Rows: models; columns: dimensions.")
    ] = False,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="MODEL MODEL", help="Whose items to show; the two best by default."),
    ] = None,
    items: Annotated[int, typer.Option(min=0, help="How many items that differ most.")] = 5,
    lists: Annotated[
        bool, typer.Option("--lists/--no-lists", help="Also compare the lists they recommend.")
    ] = True,
    text: TextsOption = None,
    truth: TruthOption = None,
    protocol: ProtocolOption = None,
    sample: SampleOption = None,
    dataset: DatasetOption = "ml-1m",
    store: StoreOption = "embedded",
    format: Annotated[RunFormat, typer.Option("--format")] = RunFormat.TABLE,
    output: OutputOption = None,
    *,
    read: "ReadOptions",
    embed: "EmbedOptions",
) -> None:
    """Compare models on the same items: differences, how sure they are, and where they differ."""
    from recdemo.cli.evaluate import run_request
    from recdemo.entrants import open_field
    from recdemo.plans import Request
    from recdemo.runs.files import write_run

    check_output(output)
    given = names or ["latest"]
    models = tuple(name for name in given if is_model(name))
    runs = tuple(name for name in given if not is_model(name))
    if runs:
        if sample is not None:
            raise typer.BadParameter(
                "a run has asked its items already; it goes with models to evaluate",
                param_hint="--sample",
            )
        found = read_runs(runs)
        choice = choose(models, text, truth, protocol)
    else:
        asked = "overlap" if protocol is None else protocol.removesuffix("-full")
        request = Request(
            models=models, dataset=dataset, text=text, ks=None if k is None else (k,),
            truths=(truth or "jaccard",), sample=sample, protocol=asked, read=read, embed=embed,
        )  # fmt: skip
        found = [run_request(request, store)]
        write_run(found[0])
        choice = choose((), None, None, protocol)
    field = open_field(found, choice, measure, k)
    if by_dimension:
        _print_dimensions(field, found, format, output)
        return
    _print(_page(field, all_pairs, pair, items, lists), format, output)


def is_model(name: str) -> bool:
    """Tell a model, ``provider:name``, from a run; a file is a run whatever its name holds."""
    return ":" in name and not name.endswith(".json")


def read_runs(names: Sequence[str]) -> "list[Run]":
    """Read runs by name, each once."""
    from recdemo.runs.files import find_run, read_run

    return [read_run(path) for path in dict.fromkeys(find_run(name).resolve() for name in names)]


def choose(
    models: tuple[str, ...], text: str | None, truth: str | None, protocol: str | None
) -> "Choice":
    """Say which rows of runs are meant; a template is one text, whatever commas it holds."""
    from recdemo.entrants import Choice

    texts = (text,) if text and "{" in text else parse_names(text)
    return Choice(models, texts, truth, protocol)


def _page(
    field: "Field", all_pairs: bool, pair: tuple[str, str] | None, items: int, wanted: bool
) -> "Page":
    from recdemo import compare
    from recdemo.errors import DatasetError
    from recdemo.report.comparison import Page

    if len(field.entrants) < 2:
        raise DatasetError(
            f"{field.entrants[0].name} is the only row, so there is nothing to compare it with"
        )
    places = (field.find(pair[0]), field.find(pair[1])) if pair else (0, 1)
    if not wanted:
        return Page(compare.compare(field, all_pairs), places)
    with progress() as shown, ExitStack() as stack:
        opened = _stores(stack)
        return _with_lists(field, all_pairs, places, items, opened, bar(shown, "lists"))


def _with_lists(
    field: "Field",
    all_pairs: bool,
    pair: tuple[int, int],
    items: int,
    open_store: "Callable[[str], VectorStore]",
    on_progress: Callable[[int, int], None],
) -> "Page":
    from recdemo import answers, compare
    from recdemo.errors import DatasetError
    from recdemo.report.comparison import Page

    try:
        dataset = answers.dataset_of(field.entrants[0].run)
    except DatasetError as error:
        return Page(compare.compare(field, all_pairs), pair, notes=[f"No lists: {error}."])
    lists, notes = answers.read_lists(field, dataset, open_store, on_progress)
    compared = compare.compare(field, all_pairs, lists)
    if not items or not set(pair) <= set(lists):
        return Page(compared, pair, notes=notes)
    truth = answers.truth_of(field, dataset)
    examples = answers.most_different(field, pair, lists, dataset, items, truth)
    return Page(compared, pair, examples, notes)


def _stores(stack: ExitStack) -> "Callable[[str], VectorStore]":
    """Return what opens each store once, to be closed with *stack*."""
    from recdemo.store import open_store

    opened: dict[str, VectorStore] = {}

    def open_once(location: str) -> "VectorStore":
        if location not in opened:
            opened[location] = stack.enter_context(closing(open_store(location, notice)))
        return opened[location]

    return open_once


def _print(page: "Page", format: RunFormat, output: Path | None) -> None:
    from recdemo.report import comparison, comparison_data

    if format is RunFormat.TABLE:
        show_rich(comparison.table(page, terminal_width()), output)
        return
    texts = {
        RunFormat.MARKDOWN: comparison.as_markdown,
        RunFormat.CSV: comparison_data.as_csv,
        RunFormat.JSON: comparison_data.as_json,
    }
    show(texts[format](page), output)


def _print_dimensions(
    field: "Field", runs: "Sequence[Run]", format: RunFormat, output: Path | None
) -> None:
    from recdemo.dimensions import by_dimension
    from recdemo.report import by_dimension as report

    grid = by_dimension(field, runs[0].published)
    if format is RunFormat.TABLE:
        show_rich(report.table(grid, terminal_width()), output)
        return
    texts = {
        RunFormat.MARKDOWN: report.as_markdown,
        RunFormat.CSV: report.as_csv,
        RunFormat.JSON: report.as_json,
    }
    show(texts[format](grid), output)
