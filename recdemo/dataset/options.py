"""How a data set is to be read: its columns, its encoding, and what is left out."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from recdemo.dataset.decoding import UTF_8, known_encoding
from recdemo.errors import DatasetError

_COLUMNS = ("item_id", "user_id", "value", "timestamp")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which interactions count, applied in the order of the fields, each once.

    So an item may end up with users who have few other items left, and nothing is repeated
    until both hold: that would make the result depend on the whole data in ways hard to tell.
    """

    min_value: float | None = None
    min_user_interactions: int = 1  # users with fewer items are dropped
    min_interactions: int = 1  # items with fewer users are not rated


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The columns of an own data set by name, its encoding, and filters for any data set."""

    item_id: str = "item_id"
    user_id: str = "user_id"
    value: str = "value"  # used where it is there; it only matters to min_value
    timestamp: str = "timestamp"  # used where it is there; "" for none
    encoding: str | None = None  # None: UTF-8; for MovieLens as published
    min_value: float | None = None
    min_interactions: int = 1
    min_user_interactions: int = 1

    def __post_init__(self) -> None:
        if self.encoding is not None:
            known_encoding(self.encoding)
        for name in ("min_interactions", "min_user_interactions"):
            if getattr(self, name) < 1:
                raise DatasetError(
                    f"cannot use {_flag(name)} {getattr(self, name)}; expected at least 1"
                )

    @property
    def text_encoding(self) -> str:
        """The encoding of text files, under its common name."""
        return UTF_8 if self.encoding is None else known_encoding(self.encoding)

    @property
    def filters(self) -> Filters:
        """The part that says which interactions count."""
        return Filters(self.min_value, self.min_user_interactions, self.min_interactions)

    @property
    def column_flags(self) -> list[str]:
        """The command-line options behind the columns that are not the default ones."""
        return [_flag(name) for name in _COLUMNS if name in self.as_settings()]

    def as_settings(self) -> dict[str, str | int | float]:
        """Return what differs from the defaults, as it is kept in run files."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, str | int | float]) -> "ReadOptions":
        """Restore what `as_settings` returned."""
        unknown = set(settings) - {field.name for field in fields(cls)}
        if unknown:
            raise DatasetError(
                f"cannot read data as that run did: it used {', '.join(sorted(unknown))}, "
                "which this version does not know; install a newer recdemo"
            )
        return cls(**settings)  # type: ignore[arg-type]  # the names are known, so are their types


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


DEFAULT_OPTIONS = ReadOptions()
