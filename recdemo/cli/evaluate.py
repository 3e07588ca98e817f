"""``recdemo evaluate``: the main job."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.data import reads_items
from recdemo.cli.embedding_options import may_embed
from recdemo.cli.options import (
    DatasetOption,
    OutputOption,
    Protocol,
    RunFormat,
    SampleOption,
    StoreOption,
    TextOption,
    Ties,
    parse_ks,
    parse_names,
)
from recdemo.cli.output import check_output, notice, progress, show, show_rich, terminal_width
from recdemo.cli.stores import opens_store

if TYPE_CHECKING:
    from rich.progress import Progress

    from recdemo.dataset.options import ReadOptions
    from recdemo.embedding.options import EmbedOptions
    from recdemo.plans import Request
    from recdemo.runs import Run

MISSED = 3  # exit status: a threshold was missed


@opens_store
@reads_items
@may_embed
def evaluate(
    models: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="As in baseline:lsa@64,128.")
    ] = None,
    suite: Annotated[
        str, typer.Option(help="When no models are named: offline, study, or a FILE.toml.")
    ] = "offline",
    dataset: DatasetOption = "ml-1m",
    text: TextOption = None,
    k: Annotated[str | None, typer.Option("--k", help="Comma list; 10,20,50,100.")] = None,
    truth: Annotated[
        str, typer.Option(help="Overlap of users: jaccard, cosine, lift or a comma list.")
    ] = "jaccard",
    protocol: Annotated[
        Protocol, typer.Option(help="overlap: neighbors of items; one-shot: next items of users.")
    ] = Protocol.OVERLAP,
    shots: Annotated[
        int, typer.Option(min=1, help="One-shot: items before the next one to go by.")
    ] = 1,
    ties: Annotated[Ties, typer.Option(help="One-shot: how ties count.")] = Ties.EXPECTED,
    by: Annotated[
        str | None, typer.Option(help="Slices: popularity, decade, or fields; a comma list.")
    ] = None,
    sample: SampleOption = None,
    user_bootstrap: Annotated[
        int, typer.Option(min=0, help="Also give standard errors over this many sets of users.")
    ] = 0,
    like: Annotated[
        str | None, typer.Option(help="Run again what a run did: latest, an id or a file.")
    ] = None,
    store: StoreOption = "embedded",
    format: Annotated[RunFormat, typer.Option("--format")] = RunFormat.TABLE,
    output: OutputOption = None,
    chart: Annotated[
        Path | None, typer.Option(help="Also draw a chart: FILE.svg, .png or .html.")
    ] = None,
    fail_below: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Exit 3 if a named model, or a suite's model, scores less than this."
        ),
    ] = None,
    *,
    read: "ReadOptions",
    embed: "EmbedOptions",
) -> None:
    """Measure how much of the truth each model recovers, and print the table."""
    from recdemo.charts import write_chart
    from recdemo.plans import Request
    from recdemo.runs.files import write_run

    check_output(output)
    _check_chart(chart)
    request = Request(
        models=tuple(models or ()),
        suite=suite,
        dataset=dataset,
        text=text,
        ks=parse_ks(k),
        truths=parse_names(truth),
        by=parse_names(by),
        sample=sample,
        user_bootstrap=user_bootstrap,
        protocol=protocol.value,
        shots=shots,
        ties=ties.value,
        read=read,
        embed=embed,
    )
    earlier = None if like is None else _earlier(like, request)
    run = run_request(request if earlier is None else _request_of(earlier), store)
    write_run(run)
    _print(run, format, output)
    if chart is not None:
        write_chart(run, chart)
    if earlier is not None:
        _compare_with(earlier, run)
    if fail_below is not None:
        _hold_to(run, fail_below)


def _check_chart(chart: Path | None) -> None:
    """Refuse a chart that cannot be drawn before the work begins."""
    if chart is not None:
        from recdemo.charts.saving import check_ending

        check_ending(chart)
        check_output(chart)


def run_request(request: "Request", location: str) -> "Run":
    """Evaluate what is asked for in the store at *location*, showing how it gets on."""
    from contextlib import closing
    from functools import partial

    from recdemo import plans
    from recdemo.store import open_store

    with progress() as shown, closing(open_store(location, notice)) as store:
        return plans.carry_out(
            request,
            store,
            location,
            _Bars(shown),
            on_notice=notice,
            reopen=partial(open_store, location),
        )


def _earlier(like: str, request: "Request") -> "Run":
    from recdemo.plans import Request
    from recdemo.runs.files import find_run, read_run

    if request != Request():
        raise typer.BadParameter(
            "it takes models and all settings from the run", param_hint="--like"
        )
    return read_run(find_run(like))


def _request_of(run: "Run") -> "Request":
    from recdemo.plans import from_settings

    return from_settings(run.settings)


def _compare_with(earlier: "Run", run: "Run") -> None:
    """Say whether a run that was done again gave the same numbers."""
    from recdemo.runs import differences

    found = differences(earlier, run)
    if found:
        notice(f"not the same as {earlier.id}: " + "; ".join(found))
    else:
        notice(f"the same numbers as {earlier.id}")


def _hold_to(run: "Run", threshold: float) -> None:
    """Exit with 3 where a model is below the threshold; baselines of a suite are exempt."""
    measure = f"{'Recall' if run.measure == 'recall' else 'nDCG'}@{run.headline}"
    named = bool(run.settings.get("models"))
    held = [row for row in run.rows if named or not row.model.startswith("baseline:")]
    below = [row for row in held if run.score(row) < threshold]
    for row in below:
        notice(f"{row.label} on {row.text}: {measure} {run.score(row):.5f} is below {threshold}")
    if not held:
        notice("no model to hold to the threshold: the suite ran baselines only")
    if below or not held:
        raise typer.Exit(MISSED)


class _Bars:
    """Shows how an evaluation gets on: models above, the step of the current one below."""

    def __init__(self, shown: "Progress") -> None:
        self._shown = shown
        self._rows = shown.add_task("models", total=None)
        self._step = shown.add_task("", total=None, visible=False)

    def row(self, label: str, done: int, total: int) -> None:
        self._shown.update(self._rows, description=label, completed=done, total=total)

    def step(self, name: str, done: int, total: int) -> None:
        self._shown.update(
            self._step, description=f"  {name}", completed=done, total=total, visible=True
        )


def _print(run: "Run", format: RunFormat, output: Path | None) -> None:
    from recdemo import report

    if format is RunFormat.TABLE:
        show_rich(report.table(run, terminal_width()), output)
        return
    texts = {
        RunFormat.MARKDOWN: report.as_markdown,
        RunFormat.CSV: report.as_csv,
        RunFormat.JSON: report.json_text,
    }
    show(texts[format](run), output)
