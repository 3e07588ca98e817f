"""What is known of models beforehand: ``models.toml``, read once."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

FREE = ("ollama", "local")  # providers that run on one's own machine


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One row of ``models.toml``, which says what each field means."""

    provider: str
    name: str
    native: int  # numbers of a full vector
    default: int | None = None  # given unless others are asked for; None: native
    dimensions: tuple[int, ...] = ()  # the only ones the service offers; (): any up to native
    matryoshka: bool = False
    smallest: int | None = None  # numbers it is trained for; None: not known
    cut_is_same: bool = False  # the service documents that it cuts as `shorten` does
    context: int | None = None  # tokens of a text
    texts_per_request: int | None = None
    tokens_per_request: int | None = None
    prefix: str = ""
    price_per_million: float | None = None  # US dollars
    price_date: str = ""  # year and month
    source: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """``provider:name``."""
        return f"{self.provider}:{self.name}"

    def is_trained_for(self, dimension: int) -> bool:
        """Tell whether the first *dimension* numbers of a vector are a vector of their own."""
        return dimension == self.native or (
            self.matryoshka and (self.smallest is None or dimension >= self.smallest)
        )


@cache
def known_models() -> tuple[KnownModel, ...]:
    """Return all rows of ``models.toml``, in its order."""
    text = files("recdemo.embedding").joinpath("models.toml").read_text(encoding="utf-8")
    return tuple(_model(row) for row in tomllib.loads(text)["model"])


def find(provider: str, name: str) -> KnownModel | None:
    """Return what is known of a model; a tag that says ``latest`` may be there or not."""
    return _by_name().get((provider, _plain(name)))


def prefix_of(known: KnownModel | None, option: str | None) -> str:
    """Return what is put before every text."""
    if option is None or option == "default":
        return "" if known is None else known.prefix
    return "" if option == "none" else option


def price_of(provider: str, known: KnownModel | None) -> float | None:
    """Return US dollars per million tokens: 0 on one's own machine, None where not known."""
    if provider in FREE:
        return 0.0
    return None if known is None else known.price_per_million


@cache
def _by_name() -> dict[tuple[str, str], KnownModel]:
    return {
        (known.provider, _plain(name)): known
        for known in known_models()
        for name in (known.name, *known.aliases)
    }


def _plain(name: str) -> str:
    return name.lower().removesuffix(":latest")


def _model(row: dict[str, Any]) -> KnownModel:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
    }
    return KnownModel(**values)
