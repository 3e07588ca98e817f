"""The option of every command that opens a store: whether a server is asked by gRPC."""

import functools
import inspect
from typing import Annotated, Any

import typer

from recdemo.cli.grouping import Command

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

    @functools.wraps(command)
    def run(*, grpc: bool = False, store: str | None = None, **arguments: Any) -> None:
        from recdemo.settings import settings

        arguments["store"] = store or settings().store or "embedded"
        if grpc:
            arguments["store"] = _by_grpc(arguments["store"])
        command(**arguments)

    kind = inspect.Parameter.KEYWORD_ONLY
    own = [each.replace(kind=kind) for each in inspect.signature(command).parameters.values()]
    added = inspect.Parameter("grpc", kind, default=False, annotation=GrpcOption)
    parameters = [*(_unset(each) if each.name == "store" else each for each in own), added]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as PEP 362 has it
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _unset(store: inspect.Parameter) -> inspect.Parameter:
    """Have nothing stand for the store where none is named, so that ``.env`` may name it."""
    return store.replace(default=None)


def _by_grpc(store: str) -> str:
    from recdemo.store.location import GRPC, is_server

    if not is_server(store):
        raise typer.BadParameter("it goes with --store http://HOST:6333", param_hint="--grpc")
    return GRPC + store.removeprefix(GRPC)
