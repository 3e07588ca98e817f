"""``recdemo similar``: what one or two models recommend for one item."""

from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.data import open_items, reads_items
from recdemo.cli.embedding_options import may_embed
from recdemo.cli.options import DatasetOption, OutputOption, RunFormat, StoreOption, TextOption
from recdemo.cli.output import bar, check_output, notice, progress, show, show_rich, terminal_width
from recdemo.cli.stores import opens_store

if TYPE_CHECKING:
    from recdemo.dataset import Dataset
    from recdemo.dataset.options import ReadOptions
    from recdemo.embedding.options import EmbedOptions
    from recdemo.lists import Lists
    from recdemo.truth import Truth


@opens_store
@reads_items
@may_embed
def similar(
    title: Annotated[str, typer.Argument(help="Words of a title, a director, a year; or id:ID.")],
    model: Annotated[str | None, typer.Option(help="As in bundled:all-minilm-l6-v2@64.")] = None,
    versus: Annotated[str | None, typer.Option(help="A second model, side by side.")] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="How many to show.")] = 10,
    dataset: DatasetOption = "ml-1m",
    text: TextOption = None,
    store: StoreOption = "embedded",
    format: Annotated[RunFormat, typer.Option("--format")] = RunFormat.TABLE,
    output: OutputOption = None,
    *,
    read: "ReadOptions",
    embed: "EmbedOptions",
) -> None:
    """Show the nearest neighbors of one item, with a mark where the truth list has them too."""
    from recdemo import lists

    check_output(output)
    found = _lists(open_items(dataset, read), title, [model, versus], text, k, store, embed)
    if format is RunFormat.TABLE:
        show_rich(lists.table(found, terminal_width()), output)
        return
    texts = {
        RunFormat.MARKDOWN: lists.as_markdown,
        RunFormat.CSV: lists.as_csv,
        RunFormat.JSON: lists.as_json,
    }
    show(texts[format](found), output)


def _lists(
    dataset: "Dataset",
    title: str,
    models: list[str | None],
    text: str | None,
    k: int,
    location: str,
    options: "EmbedOptions",
) -> "Lists":
    from contextlib import closing

    from recdemo.embedding import Listeners, parse_model
    from recdemo.embedding.estimates import check_cost, estimate
    from recdemo.lists import Lists
    from recdemo.recommend import default_model, recommend, side_by_side
    from recdemo.search import build_index, find_one
    from recdemo.store import open_store
    from recdemo.texts import fill, one_text_name

    row = find_one(build_index(dataset.catalog, dataset.counts), title)
    name_of_text, skip = one_text_name(text, dataset.catalog), options.on_empty == "skip"
    texts = fill(dataset.catalog, name_of_text, dataset.options, skip)
    for note in texts.notes:
        notice(note)
    first, second = models
    names = [default_model(dataset, texts) if first is None else parse_model(first)]
    names += [] if second is None else [parse_model(second)]
    truth = _truth(dataset, row)
    if options.max_cost is not None:
        check_cost(estimate(names, [texts], options), options.max_cost)
    with progress() as shown, closing(open_store(location, notice)) as store:
        opinions = [
            recommend(
                store, dataset, texts, name, row, k, truth, bar(shown, str(name)), options,
                Listeners(notice, on_pull=bar(shown, "pulling")),
            )
            for name in names
        ]  # fmt: skip
    opinions = list(side_by_side(*opinions)) if second else opinions
    return Lists(dataset, row, tuple(opinions), texts.name)


def _truth(dataset: "Dataset", row: int) -> "Truth | None":
    """Return the truth the marks come from: lists at K = 100, or as long as the data allow."""
    from recdemo.truth.files import SHORTEST, find_truth

    if not dataset.rated[row] or dataset.n_rated < 2:
        return None
    return find_truth(dataset, "jaccard", min(SHORTEST, dataset.n_rated - 1))
