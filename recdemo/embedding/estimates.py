"""What embedding would take: texts, tokens, requests and money. Nothing is sent."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module

from recdemo.embedding import SERVED, SILENT, ModelName
from recdemo.embedding.asking import as_sent
from recdemo.embedding.batching import cut_requests
from recdemo.embedding.cache import Cache, ModelKey, open_cache
from recdemo.embedding.known import FREE, find, prefix_of, price_of
from recdemo.embedding.options import EmbedOptions
from recdemo.embedding.served import open_service, rules_of
from recdemo.embedding.service import Limits
from recdemo.embedding.shortening import shortening_of
from recdemo.embedding.tokens import token_counter
from recdemo.errors import EmbeddingError
from recdemo.texts import Texts


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one model takes; all dimensions that are cut from the same vectors together."""

    names: tuple[str, ...]  # provider:name@dimension
    model: str  # provider:name
    texts: int  # to send: neither in the cache nor repeated
    cached: int
    tokens: int
    exact: bool  # False: tokens and cost are estimates
    requests: int
    price: float | None  # US dollars per million tokens; None: not known
    price_date: str
    cost: float | None  # US dollars


@dataclass(slots=True)
class _Group:
    key: ModelKey
    limits: Limits
    names: dict[str, None] = field(default_factory=dict)  # in order
    texts: dict[bytes, str] = field(default_factory=dict)


def estimate(
    models: Sequence[ModelName], texts: Sequence[Texts], options: EmbedOptions
) -> list[Estimate]:
    """Return what all *models* would take on all *texts*, without any network.

    Of Ollama and local models the revision is not known then; the newest in the cache counts.
    """
    groups: dict[ModelKey, _Group] = {}
    with open_cache() as cache:
        for name in models:
            if name.provider in SERVED:
                key, limits = _key(name, options, cache)
                group = groups.setdefault(key, _Group(key, limits))
                group.names[str(name)] = None
                for each in texts:
                    sent = as_sent(each.values, key.prefix)
                    group.texts.update(zip(sent.digests, sent.texts, strict=True))
        return [_estimate(group, options, cache) for group in groups.values()]


def distinct(models: Sequence[ModelName], options: EmbedOptions) -> list[ModelName]:
    """Return what has to be asked for: a model once, however many dimensions are cut from it."""
    asked = (
        replace(name, dimension=shortening_of(name, known, options.shorten).ask)
        for name in models
        for known in [find(name.provider, name.name)]
    )
    return list(dict.fromkeys(asked))


def can_cost(name: ModelName) -> bool:
    """Tell whether a model of a suite would be paid for, and not be skipped."""
    if name.provider not in SERVED or name.provider in FREE:
        return False
    return import_module(f"recdemo.embedding.{name.provider}").usable(name.name) is None


def check_cost(estimates: Sequence[Estimate], most: float) -> None:
    """Refuse what costs more than *most* US dollars together, or what nobody knows the price of."""
    unknown = [each.model for each in estimates if each.texts and each.cost is None]
    if unknown:
        raise EmbeddingError(
            f"the price of {', '.join(dict.fromkeys(unknown))} is not known, so --max-cost cannot "
            "be kept; leave it out to embed all the same"
        )
    paid = [each for each in estimates if each.cost]
    total = sum(each.cost or 0 for each in paid)
    if total > most:
        parts = ", ".join(f"{each.model} ${each.cost:.4f}" for each in paid)
        raise EmbeddingError(
            f"this would cost about ${total:.4f} ({parts}), more than --max-cost {most:g}; "
            "nothing was sent"
        )


def _key(name: ModelName, options: EmbedOptions, cache: Cache) -> tuple[ModelKey, Limits]:
    known = find(name.provider, name.name)
    ask = shortening_of(name, known, options.shorten).ask
    key = ModelKey(name.provider, name.name, "", ask, prefix_of(known, options.prefix))
    if name.provider in FREE:  # to open them asks a server, or loads a model
        module = import_module(f"recdemo.embedding.{name.provider}")
        limits = Limits(module.TEXTS, text_tokens=known.context if known else None)
        return replace(key, revision=next(iter(cache.revisions(key)), "")), limits
    service = open_service(name, ask, options, SILENT)
    return replace(key, revision=service.revision), service.limits


def _estimate(group: _Group, options: EmbedOptions, cache: Cache) -> Estimate:
    digests = list(group.texts)
    cached: set[bytes] = set()
    for rule in rules_of(options):
        cached |= cache.has(replace(group.key, rule=rule), digests)
    missing = [text for digest, text in group.texts.items() if digest not in cached]
    known = find(group.key.provider, group.key.name)
    counter = token_counter(group.key.model)
    tokens = sum(map(counter.count, missing))
    price = price_of(group.key.provider, known)
    return Estimate(
        names=tuple(group.names),
        model=group.key.model,
        texts=len(missing),
        cached=len(cached),
        tokens=tokens,
        exact=counter.exact,
        requests=sum(1 for _ in cut_requests(missing, group.limits, counter)),
        price=price,
        price_date=known.price_date if known else "",
        cost=0.0 if not missing else None if price is None else price * tokens / 1e6,
    )
