"""Where results go: stdout or a file, whole; and progress on stderr.

Titles come from elsewhere, and a terminal obeys what it is sent. So control characters, and those
that turn the direction of writing, never reach one. Files for programs hold them as they are.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from recdemo.errors import StoreError

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.progress import Progress
    from rich.segment import Segment

_CONTROLS = {code for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}
_TURNS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}  # overrides and isolates of direction
_NOT_SHOWN = dict.fromkeys(_CONTROLS | _TURNS)
_PLAIN = str.maketrans({"─": "-", "✓": "v", "·": "-", "…": "..."})  # our own signs, in ASCII


def printable(text: str) -> str:
    """Return *text* without what a terminal would obey instead of showing it."""
    return text.translate(_NOT_SHOWN)


def write_anything() -> None:
    """Have stdout show a character that its encoding lacks by its number, not fail on it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def show(text: str, output: Path | None = None) -> None:
    """Write *text* to stdout, or to a file that is there whole or not at all."""
    if output is None:
        _write(printable(text) if _on_terminal() else text)
        return
    partial = output.with_name(output.name + ".part")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(output)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise StoreError(f"cannot write {output}: {error.strerror}") from error


def check_output(output: Path | None) -> None:
    """Refuse a file that cannot be written before the work begins."""
    if output is not None and not output.absolute().parent.is_dir():
        raise StoreError(f"cannot write {output}: no folder {output.parent}")


def show_rich(renderable: "RenderableType", output: Path | None = None) -> None:
    """Show on the terminal in its width and colors; as plain text in a pipe or file."""
    from rich.console import Console

    from recdemo.report import as_text

    if output is None and _on_terminal():
        Console().print(_Printable(renderable))
    elif output is None:
        show(_drawn(as_text(renderable)))
    else:
        show(printable(as_text(renderable)), output)


def terminal_width() -> int:
    """Return the width to lay tables out for; wide where nobody's terminal limits it."""
    from rich.console import Console

    return Console().width if _on_terminal() else 160


def _on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()  # None: closed by who started us


def _drawn(text: str) -> str:
    """Return a part of a table for stdout; where that cannot take our signs, plainer ones."""
    unicode = sys.stdout is None or (sys.stdout.encoding or "").lower().startswith("utf")
    return printable(text) if unicode else printable(text).translate(_PLAIN)


@dataclass(frozen=True, slots=True)
class _Printable:
    """Draws what it holds; its texts are made printable, its colors are kept."""

    held: "RenderableType"

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterator[Segment]":
        for segment in console.render(self.held, options):
            yield segment if segment.control else segment._replace(text=_drawn(segment.text))


def _write(text: str) -> None:
    if sys.stdout is None:
        raise StoreError("cannot write the result: stdout is closed; name a file with --output")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has had enough, as in "| head"
        _write_no_more()
        raise typer.Exit(0) from None
    except OSError as error:
        _write_no_more()
        raise StoreError(f"cannot write the result to stdout: {error.strerror}") from error


def _write_no_more() -> None:
    """Let go what is left in the buffer, which would fail once more when the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def notice(message: str) -> None:
    """Tell a person something on stderr."""
    with suppress(BrokenPipeError):  # who reads has had enough, as in "2>&1 | head"
        typer.echo(f"recdemo: {printable(message)}", err=True)


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
