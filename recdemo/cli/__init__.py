"""The command line: every command parses, calls and prints.

Nothing heavy is imported here: ``recdemo --help`` answers within half a second.
"""

import sys
from typing import Annotated, NoReturn

import typer

from recdemo import __version__
from recdemo.cli import (
    advise,
    cache,
    check,
    collections,
    compare,
    dataset,
    describe,
    embed,
    evaluate,
    index_study,
    load,
    models,
    report,
    similar,
    truth,
    ui,
    web,
)
from recdemo.cli.output import notice, write_anything
from recdemo.errors import RecdemoError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(evaluate.evaluate)
app.command()(similar.similar)
app.command()(compare.compare)
app.command()(advise.advise)
app.command()(check.check)
app.command()(report.report)
app.command()(embed.embed)
app.command()(describe.describe)
app.command()(ui.ui)
app.command()(web.web)
app.command()(models.models)
app.command()(load.load)
app.command("index-study")(index_study.index_study)
app.add_typer(collections.app, name="collections")
app.add_typer(cache.app, name="cache")
app.add_typer(dataset.dataset_app, name="dataset")
app.add_typer(truth.app, name="truth")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"recdemo {__version__}")
        raise typer.Exit


@app.callback()
def recdemo(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Choose a text embedding model and a dimension for similar items."""


INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line; a `RecdemoError` becomes one line on stderr and exit status 1."""
    write_anything()
    try:
        app()
    except RecdemoError as error:
        notice(str(error))
        sys.exit(1)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            notice("stopped; what was finished is kept")
        raise
    sys.exit(0)
