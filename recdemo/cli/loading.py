"""Loading collections with a bar for each, for the commands that need them all at once."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recdemo.cli.output import bar, notice
from recdemo.embedding import Listeners, ModelName, open_embedder
from recdemo.embedding.estimates import check_cost, estimate
from recdemo.embedding.options import EmbedOptions
from recdemo.loading import Loaded, ensure_collection
from recdemo.store import PLAIN, Layout, VectorStore
from recdemo.texts import Texts, fill

if TYPE_CHECKING:
    from rich.progress import Progress

    from recdemo.dataset import Dataset


def fill_texts(
    data: "Dataset", wanted: Sequence[str], names: Sequence[ModelName], embed: EmbedOptions
) -> list[Texts]:
    """Return the texts, telling what is to be said of them; refuse what would cost too much."""
    skip = embed.on_empty == "skip"
    texts = [fill(data.catalog, each, data.options, skip) for each in wanted]
    for note in dict.fromkeys(note for each in texts for note in each.notes):
        notice(note)
    if embed.max_cost is not None:
        check_cost(estimate(names, texts, embed), embed.max_cost)
    return texts


def load_all(
    store: VectorStore,
    data: "Dataset",
    texts: Sequence[Texts],
    names: Sequence[ModelName],
    embed: EmbedOptions,
    shown: "Progress",
    layout: Layout = PLAIN,
) -> Iterator[Loaded]:
    """Yield the collection of each model on each text; one that reads no text comes once."""
    for each in texts:
        for name in names:
            listeners = Listeners(notice, on_pull=bar(shown, f"pulling {name}"))
            embedder = open_embedder(name, data, each, embed, listeners)
            if embedder.spec.reads_text or each is texts[0]:
                told = bar(shown, f"{embedder.spec} on {each.name}")
                yield ensure_collection(store, data, each, embedder, told, layout)
