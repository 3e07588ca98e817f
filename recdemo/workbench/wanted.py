"""What a person asks to look at."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recdemo.dataset.options import ReadOptions


@dataclass(frozen=True, slots=True)
class Wanted:
    """A data set, a text and a store, as on the command line."""

    dataset: str
    text: str | None
    store: str
    read: "ReadOptions"
    visitor: bool = False  # somebody from the network: free models only, nothing remembered
