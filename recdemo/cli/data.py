"""The options of every command that reads items, and how such a command opens them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recdemo.cli.grouping import Command, grouped
from recdemo.cli.output import notice

if TYPE_CHECKING:
    from recdemo.dataset import Dataset
    from recdemo.dataset.options import ReadOptions

_PANEL = "Columns and filters"


def _column(help: str, metavar: str = "COLUMN") -> Any:
    return typer.Option(help=help, metavar=metavar, rich_help_panel=_PANEL)


def _least(help: str) -> Any:
    return typer.Option(help=help, rich_help_panel=_PANEL)


# Named like the fields of ReadOptions; None: its default.
_OPTIONS: dict[str, Any] = {
    "item_id": Annotated[str | None, _column("Where the ids of items are; item_id.")],
    "user_id": Annotated[str | None, _column("Where the ids of users are; user_id.")],
    "value": Annotated[str | None, _column("Where values are, ratings say; value.")],
    "timestamp": Annotated[
        str | None, _column("Where times are, seconds or ISO dates; timestamp. '' for none.")
    ],
    "encoding": Annotated[
        str | None, _column("Of text files; UTF-8, for MovieLens as published.", "NAME")
    ],
    "min_value": Annotated[float | None, _least("Leave out interactions below this value.")],
    "min_interactions": Annotated[
        int | None, _least("Leave out interactions of items with fewer users than this.")
    ],
    "min_user_interactions": Annotated[
        int | None, _least("Leave out users with fewer items than this; they go before items.")
    ],
}


def reads_items(command: Command) -> Command:
    """Add the column and filter options to a command, which gets them as one ``read``."""
    return grouped(command, "read", _OPTIONS, _read_options)


def _read_options(**given: Any) -> "ReadOptions":
    from recdemo.dataset.options import ReadOptions

    return ReadOptions(**given)


def open_items(name_or_path: str, read: "ReadOptions") -> "Dataset":
    """Open a data set, and say on stderr what was left out of it."""
    from recdemo.dataset import open_dataset

    dataset = open_dataset(name_or_path, read)
    for note in dataset.notes:
        notice(note)
    return dataset
