"""Options that belong together: a command takes them as one value, Typer sees each of them."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Command: TypeAlias = Callable[..., None]


def grouped(
    command: Command, parameter: str, options: Mapping[str, Any], make: Callable[..., Any]
) -> Command:
    """Return a command with *options* in the place of *parameter*.

    Typer makes options of a signature, so the signature that it sees has them all where the
    command has one parameter. What is not given, None, is left to the defaults of *make*.
    """

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        chosen = {name: arguments.pop(name) for name in options}
        given = {name: value for name, value in chosen.items() if value is not None}
        command(**arguments, **{parameter: make(**given)})

    own = inspect.signature(command).parameters.values()
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        *(each.replace(kind=kind) for each in own if each.name != parameter),
        *(
            inspect.Parameter(name, kind, default=None, annotation=annotation)
            for name, annotation in options.items()
        ),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as PEP 362 has it
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
