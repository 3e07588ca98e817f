"""The option of every command that opens a store: whether a server is asked by gRPC."""

import functools
import inspect
from typing import Annotated, Any

import typer

from recdemo.cli.grouping import Command

GrpcOption = Annotated[
    bool, typer.Option("--grpc", help="Ask a server by gRPC, port 6334; RECDEMO_STORE_GRPC=1.")
]


def opens_store(command: Command) -> Command:
    """Add ``--grpc`` to a command, whose ``store`` then says how it is asked."""

    @functools.wraps(command)
    def run(*, grpc: bool = False, **arguments: Any) -> None:
        if grpc:
            arguments["store"] = _by_grpc(arguments["store"])
        command(**arguments)

    own = inspect.signature(command).parameters.values()
    kind = inspect.Parameter.KEYWORD_ONLY
    added = inspect.Parameter("grpc", kind, default=False, annotation=GrpcOption)
    parameters = [*(each.replace(kind=kind) for each in own), added]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as PEP 362 has it
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _by_grpc(store: str) -> str:
    from recdemo.store.location import GRPC, is_server

    if not is_server(store):
        raise typer.BadParameter("it goes with --store http://HOST:6333", param_hint="--grpc")
    return GRPC + store.removeprefix(GRPC)
