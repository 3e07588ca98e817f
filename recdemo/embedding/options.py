"""How texts are embedded by services and local models."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Shorten: TypeAlias = Literal["auto", "here", "service"]
OnLong: TypeAlias = Literal["error", "truncate"]
OnEmpty: TypeAlias = Literal["error", "skip"]


@dataclass(frozen=True, slots=True)
class EmbedOptions:
    """What a person may choose; baselines and bundled vectors take no notice."""

    prefix: str = "default"  # put before every text: default (of models.toml), none, or itself
    shorten: Shorten = "auto"  # who shortens the vectors of a matryoshka model
    on_long: OnLong = "error"  # a text beyond the model's context
    on_empty: OnEmpty = "error"  # an item of whose text nothing remains
    concurrency: int | None = None  # requests at once; None: what the service allows
    max_cost: float | None = None  # US dollars; dearer runs stop before the first request
    pull: bool = False  # have Ollama fetch a model that is not there


DEFAULT_EMBED_OPTIONS = EmbedOptions()
