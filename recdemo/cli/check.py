"""``recdemo check``: hold a run to what is written down."""

from pathlib import Path
from typing import Annotated

import typer

from recdemo.cli.evaluate import MISSED
from recdemo.cli.output import show


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="Holds [[check]] tables.")],
    run: Annotated[
        str, typer.Option(help="latest, an id or the start of one, or a file.")
    ] = "latest",
) -> None:
    """Hold a run to thresholds per model, slice or difference; exit 3 where one is missed."""
    from recdemo.check import judge, read_checks
    from recdemo.runs.files import find_run, read_run

    checks = read_checks(file)
    verdicts = judge(read_run(find_run(run)), checks, lambda name: read_run(find_run(name)))
    lines = [f"{'ok    ' if v.passed else 'missed'} {v.sentence}\n" for v in verdicts]
    show("".join(lines))
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(MISSED)
