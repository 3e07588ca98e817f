"""Ask a service for vectors, with an eye on money, and keep every answer before it is used."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from recdemo.embedding import FloatArray, Listeners
from recdemo.embedding.cache import CUT, WHOLE, Cache, ModelKey, text_digest
from recdemo.embedding.calling import call
from recdemo.embedding.options import EmbedOptions
from recdemo.embedding.refused import RefusedTexts
from recdemo.embedding.service import Service
from recdemo.embedding.tokens import token_counter
from recdemo.errors import EmbeddingError

_NAMED = 5  # items of a message


@dataclass(frozen=True, slots=True, eq=False)
class Sent:
    """The texts of a catalog as they are sent: with the prefix, each once, blank ones left out."""

    texts: tuple[str, ...]
    digests: tuple[bytes, ...]
    rows: tuple[tuple[int, ...], ...]  # of the items that have the text


def as_sent(texts: Sequence[str], prefix: str) -> Sent:
    """Return what is sent of *texts*."""
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        if text.strip():
            rows.setdefault(prefix + text, []).append(row)
    return Sent(tuple(rows), tuple(map(text_digest, rows)), tuple(map(tuple, rows.values())))


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Vectors of some of the texts that were asked for."""

    places: NDArray[np.int64]  # (b,) in the texts that are sent
    vectors: FloatArray  # (b, dimension) as the service gave them
    tokens: int
    cost: float | None  # US dollars; None: not known


@dataclass(slots=True)
class Asker:
    """Asks one model of one service.

    Args:
        service: None where the cache has to do without.
        price: US dollars per million tokens; None: not known.
        item_ids: of the catalog, to name what is at fault.
    """

    key: ModelKey
    service: Service | None
    price: float | None
    options: EmbedOptions
    listeners: Listeners
    item_ids: Sequence[str]
    cut: set[bytes] = field(default_factory=set)  # digests of texts that were cut
    spent: float = 0.0  # US dollars

    def ask(
        self, cache: Cache, sent: Sent, places: Sequence[int], given: int | None
    ) -> Iterator[Answer]:
        """Yield the vectors of the texts at *places* as they arrive, after they are kept.

        Args:
            given: numbers that a vector must have; None: not known.
        """
        if self.service is None:
            raise EmbeddingError(
                f"{len(places):,} texts have no vector of {self.key.model} in the cache, and it "
                "cannot be asked; run again"
            )
        texts = [sent.texts[place] for place in places]
        self._check_cost(texts)
        self._warn_of_long(sent, places)
        hearing = _Hearing(self.listeners)
        try:
            for answer in call(
                self.service,
                texts,
                dimension=given,
                on_long=self.options.on_long,
                counter=token_counter(self.key.model),
                watcher=hearing,
            ):
                there = np.array(places)[answer.positions]
                was_cut = np.isin(answer.positions, list(hearing.cut))
                self._keep(cache, sent, there, answer.vectors, was_cut)
                yield Answer(there, answer.vectors, answer.tokens, self._pay(answer.tokens))
        except RefusedTexts as error:
            names = error.tell(lambda position: self._item(sent, places[position]))
            raise EmbeddingError(f"{self.key.model}: {names}") from error

    def _keep(
        self,
        cache: Cache,
        sent: Sent,
        places: NDArray[np.int64],
        vectors: FloatArray,
        was_cut: NDArray[np.bool_],
    ) -> None:
        for rule, which in ((WHOLE, ~was_cut), (CUT, was_cut)):
            if which.any():
                digests = [sent.digests[place] for place in places[which]]
                cache.write(replace(self.key, rule=rule), digests, vectors[which])
                self.cut |= set(digests) if rule == CUT else set()

    def _pay(self, tokens: int) -> float | None:
        if self.price is None or (self.price and not tokens):  # it does not tell how many
            return None
        self.spent += self.price * tokens / 1e6
        return self.price * tokens / 1e6

    def _check_cost(self, texts: Sequence[str]) -> None:
        most = self.options.max_cost
        if most is None or self.price == 0:
            return
        if self.price is None:
            raise EmbeddingError(
                f"the price of {self.key.model} is not known, so --max-cost cannot be kept; leave "
                "it out to embed all the same"
            )
        tokens = sum(map(token_counter(self.key.model).count, texts))
        cost = self.price * tokens / 1e6
        if self.spent + cost > most:
            raise EmbeddingError(
                f"{self.key.model} would cost about ${cost:.4f} for {len(texts):,} texts, more "
                f"than --max-cost {most:g}; nothing was sent"
            )

    def _warn_of_long(self, sent: Sent, places: Sequence[int]) -> None:
        """Say which texts seem to be too long; those that surely are, `call` refuses."""
        most = self.service.limits.text_tokens if self.service else None
        counter = token_counter(self.key.model)
        if most is None or (counter.exact and self.options.on_long == "error"):
            return
        long = [place for place in places if counter.count(sent.texts[place]) > most]
        if not long:
            return
        items = [self._item(sent, place) for place in long]
        is_long = "are longer" if counter.exact else "may be longer"
        then = "are cut" if self.options.on_long == "truncate" else "are refused if they are"
        self.listeners.on_notice(
            f"{len(long):,} texts {is_long} than the {most:,} tokens that {self.key.model} takes "
            f"({', '.join(items[:_NAMED])}{', ...' if len(items) > _NAMED else ''}); they {then}"
        )

    def _item(self, sent: Sent, place: int) -> str:
        return f"item {self.item_ids[sent.rows[place][0]]}"


class _Hearing:
    """Passes on what `call` tells, and remembers which texts were cut."""

    def __init__(self, listeners: Listeners) -> None:
        self._listeners = listeners
        self.cut: set[int] = set()

    def embedded(self, texts: int, tokens: int) -> None:
        pass

    def waiting(self, reason: str, seconds: float) -> None:
        self._listeners.on_wait(reason, seconds)

    def truncated(self, position: int) -> None:
        self.cut.add(position)
