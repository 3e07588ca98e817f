"""``recdemo advise``: the smallest dimension and the cheapest model that are good enough."""

from enum import StrEnum
from typing import Annotated

import typer

from recdemo.cli.compare import (
    KOption,
    MeasureOption,
    ProtocolOption,
    TextsOption,
    TruthOption,
    choose,
    read_runs,
)
from recdemo.cli.options import OutputOption
from recdemo.cli.output import check_output, show, show_rich, terminal_width

MILLION = 1_000_000


class AdviceFormat(StrEnum):
    """How advice is written."""

    TEXT = "text"
    JSON = "json"


def advise(
    run: Annotated[
        str, typer.Argument(help="latest, an id, the start of one, or a file.")
    ] = "latest",
    margin: Annotated[
        float, typer.Option(min=0, max=1, help="What a smaller or cheaper model may lose.")
    ] = 0.005,
    items: Annotated[
        int | None,
        typer.Option(min=1, help="Items to tell memory for; the catalog's and 1,000,000."),
    ] = None,
    k: KOption = None,
    measure: MeasureOption = None,
    text: TextsOption = None,
    truth: TruthOption = None,
    protocol: ProtocolOption = None,
    format: Annotated[AdviceFormat, typer.Option("--format")] = AdviceFormat.TEXT,
    output: OutputOption = None,
) -> None:
    """Say which model and dimension to take, what they cost, and how far free baselines get."""
    from recdemo import advise
    from recdemo.entrants import open_field
    from recdemo.report import advice as report

    check_output(output)
    [found] = read_runs([run])
    field = open_field([found], choose((), text, truth, protocol), measure, k)
    advice = advise.advise(field, margin)
    counts = [items] if items else [found.dataset.items, MILLION]
    if format is AdviceFormat.TEXT:
        show_rich(report.table(advice, counts, terminal_width()), output)
    else:
        show(report.as_json(advice, counts), output)
