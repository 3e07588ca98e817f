"""The option of every command that opens a store: whether a server is asked by gRPC."""

import functools
import inspect
from typing import Annotated, Any

import typer

from recdemo.cli.grouping import Command
from recdemo.cli.options import StoreOption

ShardsOption = Annotated[
    int | None,
    typer.Option(min=1, max=1000, help="Of a cluster: parts that a collection is cut into."),
]
ReplicasOption = Annotated[
    int | None, typer.Option(min=1, max=100, help="Of a cluster: nodes that hold each part.")
]
GrpcOption = Annotated[
    bool, typer.Option("--grpc", help="Ask a server by gRPC, port 6334; RECDEMO_STORE_GRPC=1.")
]


def opens_store(command: Command) -> Command:
    """Settle a command's ``store``: by ``.env`` where nothing is said, and with ``--grpc``."""
    return _opening(command, at_once=True)


def opens_store_later(command: Command) -> Command:
    """Do the same for a command that asks ``.env`` itself where its ``store`` is None.

    To read the settings takes about as long as a first screen may.
    """
    return _opening(command, at_once=False)


def by_grpc(store: str) -> str:
    """Return where a server is asked by gRPC; refuse what is no server."""
    from recdemo.store.location import GRPC, is_server

    if not is_server(store):
        raise typer.BadParameter("it goes with --store http://HOST:6333", param_hint="--grpc")
    return GRPC + store.removeprefix(GRPC)


def _opening(command: Command, at_once: bool) -> Command:
    @functools.wraps(command)
    def run(*, grpc: bool = False, store: str | None = None, **arguments: Any) -> None:
        if store is None and (at_once or grpc):
            from recdemo.settings import settings

            store = settings().store
        command(store=by_grpc(store) if grpc and store else store, **arguments)

    kind = inspect.Parameter.KEYWORD_ONLY
    own = [each.replace(kind=kind) for each in inspect.signature(command).parameters.values()]
    added = inspect.Parameter("grpc", kind, default=False, annotation=GrpcOption)
    parameters = [*(_unset(each) if each.name == "store" else each for each in own), added]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as PEP 362 has it
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _unset(store: inspect.Parameter) -> inspect.Parameter:
    """Have nothing stand for the store where none is named, so that ``.env`` may name it."""
    return store.replace(default=None, annotation=StoreOption)
