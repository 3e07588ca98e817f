"""Who makes a vector shorter: the service, or we; and what that is called."""

from dataclasses import dataclass

from recdemo.embedding import ModelName
from recdemo.embedding.known import FREE, KnownModel
from recdemo.embedding.options import Shorten
from recdemo.errors import EmbeddingError


@dataclass(frozen=True, slots=True)
class Shortening:
    """How the dimension of a model comes about."""

    ask: int | None  # what the service is asked for; None: nothing, so it gives its own
    given: int | None  # what it gives then; None: not known before the first answer
    dimension: int | None  # of the vectors that leave here; None: what is given
    how: str  # native, api, matryoshka or truncated

    def settled(self, given: int, name: ModelName) -> "Shortening":
        """Return what holds when the length of the vectors that are given is known."""
        dimension = self.dimension or given
        if dimension > given:
            raise _too_many(name, given)
        how = self.how if self.ask or dimension < given else "native"
        return Shortening(self.ask, given, dimension, how)


def shortening_of(name: ModelName, known: KnownModel | None, shorten: Shorten) -> Shortening:
    """Settle who shortens; a dimension that cannot be had is an `EmbeddingError`.

    ``auto`` has the service do it where nobody says that its shorter vectors are the cut full
    ones, so where cutting here would give vectors of another model. All others are embedded
    once, in full, and cut here: ten dimensions for the price of one.
    """
    if known is None:
        return _unknown(name, shorten)
    own = known.default or known.native  # given when nothing is asked for
    dimension = name.dimension or own
    if dimension > known.native:
        raise _too_many(name, known.native)
    documented = known.cut_is_same or not known.matryoshka or name.provider in FREE
    by_service = shorten == "service" or (shorten == "auto" and not documented)
    trained = "truncated" if not known.is_trained_for(dimension) else None
    if not by_service or name.provider == "local":
        how = "native" if dimension == known.native else trained or "matryoshka"
        ask = None if own == known.native else known.native
        return Shortening(ask, known.native, dimension, how)
    _check_offered(name, known, dimension)
    how = "native" if dimension == known.native else trained or "api"
    ask = None if dimension == own and not known.dimensions else dimension
    return Shortening(ask, dimension, dimension, how)


def _unknown(name: ModelName, shorten: Shorten) -> Shortening:
    if name.dimension is None:
        return Shortening(None, None, None, "native")
    if shorten == "service" and name.provider != "local":
        return Shortening(name.dimension, name.dimension, name.dimension, "api")
    return Shortening(None, None, name.dimension, "truncated")


def _check_offered(name: ModelName, known: KnownModel, dimension: int) -> None:
    offered = known.dimensions
    if name.provider not in FREE and not known.matryoshka:
        offered = (known.native,)
    if offered and dimension not in offered:
        raise EmbeddingError(
            f"{known.model} does not offer {dimension} dimensions; choose one of "
            f"{', '.join(map(str, offered))}, or have the vectors cut with --shorten here"
        )


def _too_many(name: ModelName, native: int) -> EmbeddingError:
    return EmbeddingError(f"{name} asks for too many dimensions; the model has {native:,}")
