"""``recdemo web``: the terminal UI in a browser."""

import ipaddress
import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.data import reads_items
from recdemo.cli.options import DatasetOption, StoreOption, TextOption
from recdemo.cli.output import notice
from recdemo.cli.stores import opens_store

if TYPE_CHECKING:
    from recdemo.dataset.options import ReadOptions


@opens_store
@reads_items
def web(
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")] = 8000,
    public_url: Annotated[
        str | None,
        typer.Option(help="Where browsers reach it, behind a proxy: https://example.org/recdemo."),
    ] = None,
    visitors: Annotated[int, typer.Option(min=1, help="At once; each has a process.")] = 10,
    dataset: DatasetOption = "ml-1m",
    text: TextOption = None,
    store: StoreOption = "embedded",
    *,
    read: "ReadOptions",
) -> None:
    """Show the terminal UI in a browser; only to this machine unless --host says otherwise.

    There is no login. Visitors from elsewhere get free models and collections at hand only.
    """
    from recdemo.ui.serving import VisitorServer

    check_url(public_url)
    elsewhere = public_url is not None or not is_loopback(host)
    if elsewhere:
        notice(f"there is no login: whoever reaches {public_url or f'{host}:{port}'} can use it")
    if elsewhere and public_url is None:
        notice("behind a proxy, also say where browsers reach it with --public-url")
    command = ui_command(dataset, text, store, read, elsewhere)
    shown = public_url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
    server = VisitorServer(
        command, host, port, public_url and public_url.rstrip("/"), visitors,
        lambda: notice(f"open {shown} in a browser; Ctrl-C ends it"),
    )  # fmt: skip
    check_free(host, port)
    server.serve()


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_url(url: str | None) -> None:
    """Refuse what a browser could not go to."""
    if url is not None and not url.startswith(("http://", "https://")):
        raise typer.BadParameter("expected https://HOST or http://HOST", param_hint="--public-url")


def check_free(host: str, port: int) -> None:
    """Refuse an address that cannot be listened at, in one line."""
    import socket

    from recdemo.errors import RecdemoError

    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as error:
        raise RecdemoError(
            f"cannot listen at {host}:{port}: {error.strerror}; choose others with --host, --port"
        ) from error


def ui_command(
    dataset: str, text: str | None, store: str, read: "ReadOptions", visitor: bool
) -> str:
    """Return the command that each visitor gets a process of, quoted for a shell."""
    parts = [sys.executable, "-m", "recdemo", "ui", "--dataset", dataset, "--store", store]
    parts += [] if text is None else ["--text", text]
    for name, value in read.as_settings().items():
        parts += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*parts, *(["--visitor"] if visitor else [])])
