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
    store: str | None  # None: the one that the settings name
    read: "ReadOptions"
    visitor: bool = False  # somebody from the network: free models only, nothing remembered


def location_of(wanted: Wanted) -> str:
    """Return where the collections are; reading the settings for it takes a while."""
    from recdemo.settings import settings

    return wanted.store or settings().store
