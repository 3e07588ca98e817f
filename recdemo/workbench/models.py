"""Models as the UI needs them: which there are, what they cost, and their collections."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module

from recdemo.dataset import Dataset
from recdemo.embedding import (
    SERVED,
    Embedder,
    Listeners,
    ModelName,
    open_embedder,
    parse_model,
    parse_models,
)
from recdemo.embedding.estimates import estimate
from recdemo.embedding.known import FREE, find, known_models, prefix_of, price_of
from recdemo.embedding.options import EmbedOptions
from recdemo.errors import EmbeddingError
from recdemo.loading import describe_collection, ensure_collection, newest_collection
from recdemo.store import VectorStore
from recdemo.suites import OFFLINE
from recdemo.texts import Texts
from recdemo.ui.services import Choice, MustAsk, Progress

AT_HAND = "at hand"
CAN_BE_BUILT = "can be built"
_OPTIONS = EmbedOptions(on_empty="skip")
_COMPUTING = threading.Lock()  # what computes here does so one after the other: keys go first


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model whose collection is there."""

    label: str  # provider:name@dimension
    collection: str
    reads_text: bool


def prepare(
    store: VectorStore,
    dataset: Dataset,
    texts: Texts,
    model: str,
    progress: Progress,
    listeners: Listeners,
    may_pay: bool,
) -> Prepared:
    """Find the collection of a model or build it; an earlier one will do where it is away.

    Raises `MustAsk` where that would cost money and *may_pay* is false.
    """
    name = parse_model(model)
    try:
        embedder = open_embedder(name, dataset, texts, _OPTIONS, listeners)
        if not may_pay and costs(name) and not _is_there(store, dataset, texts, embedder):
            _ask(name, texts)
        with nullcontext() if name.provider in SERVED else _COMPUTING:
            loaded = ensure_collection(store, dataset, texts, embedder, progress)
    except EmbeddingError as error:
        prefix = prefix_of(find(name.provider, name.name), None)
        earlier = newest_collection(store, dataset, texts, name, prefix)
        if earlier is None:
            raise
        listeners.on_notice(f"{name} as it was on {earlier.created[:10]}, since {error}")
        return Prepared(f"{earlier.model}@{earlier.dimension}", earlier.name, True)
    return Prepared(str(embedder.spec), loaded.info.name, embedder.spec.reads_text)


def costs(name: ModelName) -> bool:
    """Tell whether a provider may ask for money."""
    return name.provider in SERVED and name.provider not in FREE


def _is_there(store: VectorStore, dataset: Dataset, texts: Texts, embedder: Embedder) -> bool:
    wanted = describe_collection(dataset, texts, embedder.spec).name
    return any(info.name == wanted and info.complete for info in store.collections())


def _ask(name: ModelName, texts: Texts) -> None:
    for each in estimate([name], [texts], _OPTIONS):
        if each.texts:
            cost = "an unknown sum" if each.cost is None else f"about ${each.cost:.4f}"
            raise MustAsk(f"Embedding {each.texts:,} texts by {name} costs {cost}. Do it?")


def check_visitor(store: VectorStore, dataset: Dataset, texts: Texts, model: str) -> None:
    """Refuse a model of a service or server that nobody has loaded; visitors may load none."""
    name = parse_model(model)
    prefix = prefix_of(find(name.provider, name.name), None)
    if name.provider in SERVED and newest_collection(store, dataset, texts, name, prefix) is None:
        raise EmbeddingError(f"{model} is not loaded; whoever runs this can do it: recdemo load")


def other_free(dataset: Dataset, texts: Texts, first: str, second: str) -> str | None:
    """Return a free model that differs from the *first*: the *second* where it can run."""
    for model in (second, "baseline:lsa@64", "baseline:random@64"):
        if model != first and _reason(parse_model(model), dataset, texts) is None:
            return model
    return None


def free(store: VectorStore, dataset: Dataset, texts: Texts) -> tuple[Choice, ...]:
    """Return collections at hand, and models that need no service and no server."""
    here = {
        f"{info.model}@{info.dimension}": Choice(f"{info.model}@{info.dimension}", AT_HAND)
        for info in store.collections()
        if info.complete and not info.is_study and info.dataset == dataset.name
        and (info.texts_hash == texts.hash or info.model.startswith("baseline:"))
    }  # fmt: skip
    more: dict[str, Choice] = {}
    for text in OFFLINE:
        for name in parse_models(text):
            if not any(label == str(name) or label.startswith(f"{name}@") for label in here):
                reason = _reason(name, dataset, texts)
                state = CAN_BE_BUILT if reason is None else reason
                more[str(name)] = Choice(str(name), state, reason is None)
    return (*here.values(), *sorted(more.values(), key=lambda choice: not choice.usable))


def known() -> tuple[Choice, ...]:
    """Return the models of services and servers, and why some cannot be used; takes seconds."""
    rows = known_models()
    modules = {each.provider: import_module(f"recdemo.embedding.{each.provider}") for each in rows}
    with ThreadPoolExecutor(max_workers=16) as pool:
        reasons = list(pool.map(lambda each: modules[each.provider].usable(each.name), rows))
    return tuple(_known(reasons))


def _known(reasons: list[str | None]) -> Iterator[Choice]:
    for each, reason in zip(known_models(), reasons, strict=True):
        name = f"{each.model}@{each.default or each.native}"
        price = price_of(each.provider, each)
        paid = f", ${price:g} per million tokens" if price else ""
        yield Choice(name, CAN_BE_BUILT + paid if reason is None else reason, reason is None)


def _reason(name: ModelName, dataset: Dataset, texts: Texts) -> str | None:
    try:
        open_embedder(name, dataset, texts)
    except EmbeddingError as error:
        return str(error)
    return None
