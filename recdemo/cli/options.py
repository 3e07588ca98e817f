"""Options that several commands share, with the words that explain them once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from recdemo.errors import DatasetError

DatasetOption = Annotated[
    str,
    typer.Option("--dataset", help="ml-1m, or the path of a folder or zip: MovieLens or your own."),
]
TextOption = Annotated[
    str | None,
    typer.Option(
        "--text",
        help="What is embedded: synopsis, card, full, a template such as '{title} ({year})', "
        "a CSV or JSON lines file of item_id and text; or a comma list.",
    ),
]
StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="RECDEMO_STORE",
        help="Where collections live: embedded (the default), or http://HOST:6333 of a Qdrant.",
    ),
]
SampleOption = Annotated[
    int | None,
    typer.Option(
        "--sample",
        metavar="N",
        help="Ask N of the items, drawn by strata of popularity, against the whole catalog.",
    ),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", help="Write the result to this file.", dir_okay=False)
]


class Overlap(StrEnum):
    """How the overlap of two sets of users is measured."""

    JACCARD = "jaccard"
    COSINE = "cosine"
    LIFT = "lift"


class Protocol(StrEnum):
    """What a model is held against."""

    OVERLAP = "overlap"
    ONE_SHOT = "one-shot"


class Ties(StrEnum):
    """How items at exactly the same distance are ranked."""

    EXPECTED = "expected"
    PESSIMISTIC = "pessimistic"
    OPTIMISTIC = "optimistic"


class RunFormat(StrEnum):
    """How a run is written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


def parse_names(text: str | None) -> tuple[str, ...]:
    """Read a comma list of names."""
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))


def parse_ks(text: str | None, option: str = "--k") -> tuple[int, ...] | None:
    """Read the comma list of whole numbers above 0 of an *option*."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and int(part) > 0 for part in parts):
        raise DatasetError(
            f"cannot read {option} {text!r}; expected whole numbers above 0, as in 10,100"
        )
    return tuple(int(part) for part in parts)
