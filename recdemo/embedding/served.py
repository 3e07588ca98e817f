"""Models of services and local models, behind the cache: each text is asked for once, ever."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import cast

import numpy as np

from recdemo.dataset import Dataset
from recdemo.embedding import Embedded, FloatArray, Listeners, ModelName, ModelSpec, shorten
from recdemo.embedding.asking import Answer, Asker, Sent, as_sent
from recdemo.embedding.cache import CUT, WHOLE, Cache, ModelKey, open_cache
from recdemo.embedding.known import find, prefix_of, price_of
from recdemo.embedding.options import EmbedOptions
from recdemo.embedding.service import Service
from recdemo.embedding.shortening import Shortening, shortening_of
from recdemo.embedding.twins import Twins
from recdemo.errors import EmbeddingError
from recdemo.texts import Texts

READ = 4096  # vectors taken from the cache at a time


def rules_of(options: EmbedOptions) -> tuple[str, ...]:
    """Return which vectors of the cache may be used, the best first."""
    return (WHOLE, CUT) if options.on_long == "truncate" else (WHOLE,)


def open_service(
    name: ModelName, ask: int | None, options: EmbedOptions, listeners: Listeners
) -> Service:
    """Open the service of a model, importing only what it needs."""
    module = import_module(f"recdemo.embedding.{name.provider}")
    known = find(name.provider, name.name)
    if name.provider == "local":
        return _open_local(name.name, options)
    if name.provider == "ollama":
        return cast(Service, module.open_service(name.name, ask, known, options, listeners.on_pull))
    return cast(Service, module.open_service(name.name, ask, known, options))


@lru_cache(maxsize=1)
def _open_local(model: str, options: EmbedOptions) -> Service:
    """Load a local model once for all its dimensions and texts."""
    module = import_module("recdemo.embedding.local")
    return cast(Service, module.open_service(model, None, find("local", model), options))


def connect(
    name: ModelName, dataset: Dataset, texts: Texts, options: EmbedOptions, listeners: Listeners
) -> "ServedEmbedder":
    """Open a model of a service, or a local one.

    Where the service cannot be used but the cache has all vectors, the cache is enough.
    """
    known = find(name.provider, name.name)
    shortening = shortening_of(name, known, options.shorten)
    prefix = prefix_of(known, options.prefix)
    sent = as_sent(texts.values, prefix)
    key = ModelKey(name.provider, name.name, "", shortening.ask, prefix)
    service: Service | None = None
    try:
        service = open_service(name, shortening.ask, options, listeners)
        key = replace(key, revision=service.revision)
    except EmbeddingError as error:
        cached = _with_everything(key, sent, options, listeners)
        if cached is None:
            raise
        listeners.on_notice(f"all vectors of {key.model} come from the cache, since {error}")
        key = cached
    price = price_of(name.provider, known)
    asker = Asker(key, service, price, options, listeners, dataset.catalog.item_ids)
    catalog = f"{dataset.name}: {texts.name}"
    return ServedEmbedder(name, shortening, asker, catalog, sent, known is not None)


def _with_everything(
    key: ModelKey, sent: Sent, options: EmbedOptions, listeners: Listeners
) -> ModelKey | None:
    """Return the key of the newest revision of which the cache has all vectors."""
    with open_cache(listeners.on_notice) as cache:
        for revision in cache.revisions(key):
            there = replace(key, revision=revision)
            found: set[bytes] = set()
            for rule in rules_of(options):
                found |= cache.has(replace(there, rule=rule), sent.digests)
            if len(found) == len(sent.digests):
                return there
    return None


class ServedEmbedder:
    """Yields what the cache has, and asks the service for the rest.

    Args:
        catalog: whose texts these are, to tell which vectors nobody asks for any more.
        sent: the texts that will be asked for, to learn the dimension from one of them.
    """

    def __init__(
        self,
        name: ModelName,
        shortening: Shortening,
        asker: Asker,
        catalog: str,
        sent: Sent,
        known: bool,
    ) -> None:
        self._asker = asker
        self._catalog = catalog
        self._known = known
        self._twins = Twins()
        self._probed: Answer | None = None  # paid for, and not yet told
        given = shortening.given
        with open_cache(asker.listeners.on_notice) as cache:
            if given is None:
                given = cache.length(asker.key) or self._probe(cache, sent)
            for rule in rules_of(asker.options)[1:]:
                asker.cut |= cache.has(replace(asker.key, rule=rule), sent.digests)
        self._given = given
        self._shortening = shortening.settled(given, name)

    @property
    def spec(self) -> ModelSpec:
        """The model; what its note says may grow while it embeds."""
        key, options = self._asker.key, self._asker.options
        return ModelSpec(
            key.provider,
            key.name,
            self._shortening.dimension or self._given,
            how=self._shortening.how,
            prefix=key.prefix,
            revision=key.revision,
            rule="" if options.on_long == "error" else options.on_long,
            note="; ".join(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        if self._asker.key.prefix:
            yield f"every text has the prefix {self._asker.key.prefix!r}"
        if self._shortening.how == "truncated" and not self._known:
            yield "not known to be trained for shorter vectors"
        if self._asker.cut:
            yield f"{len(self._asker.cut):,} texts were cut, since it takes no more"
        if self._twins.count:
            yield f"{self._twins.count:,} different texts share their vector with another one"

    def embed(self, texts: Sequence[str]) -> Iterator[Embedded]:
        """Yield vectors of all texts that are not blank; what is paid for is kept first."""
        asker = self._asker
        sent = as_sent(texts, asker.key.prefix)
        with open_cache(asker.listeners.on_notice) as cache:
            missing = list(range(len(sent.texts)))
            for rule in rules_of(asker.options):
                asked, missing = missing, []
                for answer in _cached(cache, replace(asker.key, rule=rule), sent, asked, missing):
                    yield self._leaving(sent, answer)
            if missing:
                for answer in asker.ask(cache, sent, missing, self._given):
                    yield self._leaving(sent, answer)
            for rule in rules_of(asker.options):
                cache.note_asked(replace(asker.key, rule=rule), self._catalog, sent.digests)
        if self._twins.count:
            asker.listeners.on_notice(self._twins.warning(asker.key.model))
        for message in getattr(asker.service, "notices", ()):
            asker.listeners.on_notice(message)

    def _probe(self, cache: Cache, sent: Sent) -> int:
        """Have the shortest text embedded, to learn how many numbers a vector has."""
        if not sent.texts:
            raise EmbeddingError(f"no text to embed with {self._asker.key.model}")
        shortest = min(range(len(sent.texts)), key=lambda place: len(sent.texts[place]))
        [self._probed] = self._asker.ask(cache, sent, [shortest], None)
        return int(self._probed.vectors.shape[1])

    def _leaving(self, sent: Sent, answer: Answer) -> Embedded:
        """Return vectors as they leave here: of all items with the text, at the dimension."""
        self._twins.look([sent.texts[place] for place in answer.places], answer.vectors)
        vectors: FloatArray = answer.vectors
        dimension = self._shortening.dimension or self._given
        if dimension < self._given:
            vectors = shorten(vectors, dimension)
            empty = np.flatnonzero(~vectors.any(axis=1))
            if len(empty):
                raise EmbeddingError(
                    f"{self._asker.key.model}: the first {dimension} numbers of the vector of "
                    f"{sent.texts[answer.places[empty[0]]]!r:.80} are all 0; choose a larger one"
                )
        tokens, cost = answer.tokens, answer.cost
        if self._probed is not None:
            tokens += self._probed.tokens
            cost = None if cost is None or self._probed.cost is None else cost + self._probed.cost
            self._probed = None
        rows = [sent.rows[place] for place in answer.places]
        times = [len(each) for each in rows]
        return Embedded(
            np.array([row for each in rows for row in each], np.int64),
            np.repeat(vectors, times, axis=0) if max(times, default=1) > 1 else vectors,
            tokens,
            cost,
        )


def _cached(
    cache: Cache, key: ModelKey, sent: Sent, places: Sequence[int], missing: list[int]
) -> Iterator[Answer]:
    """Yield what the cache has of the texts at *places*; the others go to *missing*."""
    for start in range(0, len(places), READ):
        part = np.array(places[start : start + READ], np.int64)
        found = cache.read(key, [sent.digests[place] for place in part])
        there = part[found.positions]
        missing += np.setdiff1d(part, there).tolist()
        if len(there):
            yield Answer(there, found.vectors, 0, 0.0)
