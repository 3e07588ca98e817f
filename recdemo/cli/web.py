"""``recdemo web``: the terminal UI in a browser."""

import errno
import ipaddress
import shlex
import sys
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from recdemo.cli.data import reads_items
from recdemo.cli.options import DatasetOption, StoreOption, TextOption
from recdemo.cli.output import notice
from recdemo.cli.stores import opens_store

if TYPE_CHECKING:
    from socket import socket

    from recdemo.dataset.options import ReadOptions


@opens_store
@reads_items
def web(
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0: any.")] = 8000,
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

    url = public_url and clean_url(public_url)
    sockets = listening(host, port)
    port = sockets[0].getsockname()[1]
    shown = url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
    elsewhere = url is not None or not is_loopback(host)
    if elsewhere:
        notice(f"there is no login: whoever reaches {shown} can use it")
    if elsewhere and url is None:
        notice("behind a proxy, also say where browsers reach it with --public-url")
    server = VisitorServer(
        ui_command(dataset, text, store, read, elsewhere), url, None if elsewhere else is_loopback,
        visitors, lambda: notice(f"open {shown} in a browser; Ctrl-C ends it"),
    )  # fmt: skip
    server.listen(sockets)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def clean_url(url: str) -> str:
    """Refuse what is no address of a page; return it without a slash at the end."""
    try:
        parts = urlsplit(url)
        fits = parts.hostname and parts.port != 0 and not (parts.query or parts.fragment)
    except ValueError:  # a port that is no number, half a pair of brackets
        fits = False
    if not fits or parts.scheme not in ("http", "https") or "@" in parts.netloc:
        raise typer.BadParameter(
            f"cannot read {url!r}; expected https://HOST/PATH or http://HOST:PORT",
            param_hint="--public-url",
        )
    return url.rstrip("/")


def listening(host: str, port: int) -> "list[socket]":
    """Open the sockets of an address, all at one port, or say in one line why it cannot be done.

    Args:
        port: 0 takes one that is free.
    """
    import socket

    from recdemo.errors import RecdemoError

    opened: list[socket.socket] = []
    fault: OSError | None = None
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        found, fault = [], error
    for family, _, _, _, address in dict.fromkeys(found):
        taken = opened[0].getsockname()[1] if opened else port
        try:
            opened.append(socket.create_server((address[0], taken), family=family))
        except OSError as error:
            fault = error
            if error.errno == errno.EADDRINUSE:
                break
    if not opened or (fault and fault.errno == errno.EADDRINUSE):
        for one in opened:
            one.close()
        reason = str(fault.strerror if fault else "no such address").partition(" (")[0]
        raise RecdemoError(
            f"cannot listen at {host}:{port}: {reason}; choose others with --host, --port"
        ) from fault
    return opened  # a family that this machine lacks, IPv6 say, is left out


def ui_command(
    dataset: str, text: str | None, store: str, read: "ReadOptions", visitor: bool
) -> str:
    """Return the command that each visitor gets a process of, quoted for a shell."""
    parts = [sys.executable, "-m", "recdemo", "ui", "--dataset", dataset, "--store", store]
    parts += [] if text is None else ["--text", text]
    for name, value in read.as_settings().items():
        parts += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*parts, *(["--visitor"] if visitor else [])])
