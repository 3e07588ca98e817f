"""Where results go: stdout or a file, whole; and progress on stderr."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from recdemo.errors import StoreError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress


def show(text: str, output: Path | None = None) -> None:
    """Write *text* to stdout, or to a file that is there whole or not at all."""
    if output is None:
        _write(text)
        return
    partial = output.with_name(output.name + ".part")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(output)
    except OSError as error:
        raise StoreError(f"cannot write {output}: {error.strerror}") from error


def check_output(output: Path | None) -> None:
    """Refuse a file that cannot be written before the work begins."""
    if output is not None and not output.absolute().parent.is_dir():
        raise StoreError(f"cannot write {output}: no folder {output.parent}")


def show_rich(renderable: "RenderableType", output: Path | None = None) -> None:
    """Show on the terminal in its width and colors; as plain text in a pipe or file."""
    from rich.console import Console

    from recdemo.report import as_text

    if output is None and sys.stdout.isatty():
        Console().print(renderable)
    else:
        show(as_text(renderable), output)


def terminal_width() -> int:
    """Return the width to lay tables out for; wide where nobody's terminal limits it."""
    from rich.console import Console

    return Console().width if sys.stdout.isatty() else 160


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has had enough, as in "| head"
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def notice(message: str) -> None:
    """Tell a person something on stderr."""
    typer.echo(f"recdemo: {message}", err=True)


@contextmanager
def progress() -> Iterator["Progress"]:
    """Open a progress display on stderr; it draws nothing where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    shown = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with shown:
        yield shown


def bar(shown: "Progress", description: str) -> Callable[[int, int], None]:
    """Add a bar and return what moves it: done, total."""
    task = shown.add_task(description, total=None)

    def move(done: int, total: int) -> None:
        shown.update(task, completed=done, total=total)

    return move
