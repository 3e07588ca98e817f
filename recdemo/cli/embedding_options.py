"""The options of every command that may embed."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recdemo.cli.grouping import Command, grouped

if TYPE_CHECKING:
    from recdemo.embedding.options import EmbedOptions


class Shorten(StrEnum):
    """Who shortens vectors."""

    AUTO = "auto"
    HERE = "here"
    SERVICE = "service"


class OnLong(StrEnum):
    """What becomes of a text beyond the context."""

    ERROR = "error"
    TRUNCATE = "truncate"


class OnEmpty(StrEnum):
    """What becomes of an item without a text."""

    ERROR = "error"
    SKIP = "skip"


def _option(help: str, **more: Any) -> Any:
    return typer.Option(help=help, rich_help_panel="Embedding by services and local models", **more)


# Named like the fields of EmbedOptions; None: its default.
_OPTIONS: dict[str, Any] = {
    "prefix": Annotated[
        str | None, _option("Put before every text: default (see 'models'), none, or this text.")
    ],
    "shorten": Annotated[
        Shorten | None, _option("Who shortens vectors: auto, here, or the service.")
    ],
    "on_long": Annotated[
        OnLong | None, _option("A text that the model does not take whole: error, or truncate.")
    ],
    "on_empty": Annotated[
        OnEmpty | None, _option("An item without a text: error, or skip, and score 0.")
    ],
    "concurrency": Annotated[int | None, _option("Requests at once.", min=1, max=64)],
    "max_cost": Annotated[
        float | None, _option("US dollars; what would cost more is not begun.", min=0.0)
    ],
    "pull": Annotated[
        bool | None, typer.Option("--pull", help="Have Ollama fetch models that are not there.",
                                  rich_help_panel="Embedding by services and local models")
    ],
}  # fmt: skip


def may_embed(command: Command) -> Command:
    """Add the options of embedding to a command, which gets them as one ``embed``."""
    return grouped(command, "embed", _OPTIONS, _options)


def _options(**given: Any) -> "EmbedOptions":
    from recdemo.embedding.options import EmbedOptions

    plain: dict[str, Any] = {
        name: value.value if isinstance(value, StrEnum) else value for name, value in given.items()
    }
    return EmbedOptions(**plain)
