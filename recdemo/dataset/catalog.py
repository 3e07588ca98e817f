"""The items of a data set and their fields."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from recdemo.errors import DatasetError

Value: TypeAlias = str | int | tuple[str, ...] | None
"""One field of one item: text, a number, a list of names; ``""``, ``()`` or None where missing."""


@dataclass(frozen=True, slots=True, eq=False)
class Catalog:
    """The items, one per row; the row is also the Qdrant point id.

    ``title``, ``year``, ``genres`` and ``directors`` are fields like any other, but the
    ones that tables, search and baselines know by name.
    """

    name: str  # of the data set
    item_ids: tuple[str, ...]  # the catalog's own ids, always text
    fields: Mapping[str, tuple[Value, ...]]  # field name -> one value per row

    def __post_init__(self) -> None:
        for name, values in self.fields.items():
            if len(values) != len(self.item_ids):
                raise ValueError(f"field {name!r} has {len(values)} values, not {len(self)}")

    def __len__(self) -> int:
        return len(self.item_ids)

    def column(self, field: str) -> tuple[Value, ...]:
        """Return the values of *field*, one per row; an unknown field is a `DatasetError`."""
        if field not in self.fields:
            known = ", ".join(self.fields) or "none"
            raise DatasetError(f"{self.name} has no field {field!r}; its fields: {known}")
        return self.fields[field]

    def text(self, row: int, field: str) -> str:
        """Return one field of one item as text for people; ``""`` where it is missing."""
        if field not in self.fields:
            return ""
        return as_text(self.fields[field][row])

    def title(self, row: int) -> str:
        """Return the title of an item, its id where the catalog has no titles."""
        return self.text(row, "title") or self.item_ids[row]

    def label(self, row: int) -> str:
        """Return ``Title (year)``, the way an item is named in a sentence."""
        year = self.text(row, "year")
        return f"{self.title(row)} ({year})" if year else self.title(row)


def ids_hash(item_ids: tuple[str, ...]) -> str:
    """Return a hash of the ids of a catalog, in row order."""
    return hashlib.sha256("\0".join(item_ids).encode()).hexdigest()


def as_text(value: Value) -> str:
    """Return a field as text: lists joined by ``", "``, a missing value as ``""``."""
    if value is None:
        return ""
    return ", ".join(value) if isinstance(value, tuple) else str(value)
