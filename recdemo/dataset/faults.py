"""What is wrong with one line of a file; a reader stops there, `validate` counts and goes on."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from recdemo.errors import DatasetError


class Kind(StrEnum):
    """What can be wrong with a line."""

    ENCODING = "encoding"
    BROKEN = "broken-row"
    EMPTY_ID = "empty-id"
    DUPLICATE_ID = "duplicate-id"
    BLANKS = "blanks-around-id"  # forgiven: they are cut off
    VALUE = "bad-value"
    TIMESTAMP = "bad-timestamp"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one line."""

    kind: Kind
    name: str  # what messages call the file
    line: int  # from 1; of a file without lines the row
    message: str
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.name}, {self.unit} {self.line}: {self.message}"


OnFault: TypeAlias = Callable[[Fault], None]


def stop(fault: Fault) -> None:
    """Raise the fault as a `DatasetError`, but for what is forgiven."""
    if fault.kind is not Kind.BLANKS:
        raise DatasetError(str(fault))


def shortened(text: str) -> str:
    """Return what a message quotes: at most 80 characters."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
