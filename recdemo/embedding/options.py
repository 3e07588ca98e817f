"""How texts are embedded by services and local models."""

from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

Shorten: TypeAlias = Literal["auto", "here", "service"]
OnLong: TypeAlias = Literal["error", "truncate"]
OnEmpty: TypeAlias = Literal["error", "skip"]


@dataclass(frozen=True, slots=True)
class EmbedOptions:
    """What a person may choose; baselines and bundled vectors take no notice."""

    # Put before every text: "none", "default" (of models.toml), or itself; None: as a suite says.
    prefix: str | None = None
    shorten: Shorten = "auto"  # who shortens the vectors of a matryoshka model
    on_long: OnLong = "error"  # a text beyond the model's context
    on_empty: OnEmpty = "error"  # an item of whose text nothing remains
    concurrency: int | None = None  # requests at once; None: what the service allows
    max_cost: float | None = None  # US dollars; dearer runs stop before the first request
    pull: bool = False  # have Ollama fetch a model that is not there

    def as_settings(self) -> dict[str, str | int | float | bool]:
        """Return what differs from the defaults, as it is kept in run files."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }


DEFAULT_EMBED_OPTIONS = EmbedOptions()
