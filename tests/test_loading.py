import dataclasses

import numpy as np
import pytest

from recdemo.embedding import Embedded, ModelSpec
from recdemo.loading import describe_collection, ensure_collection
from recdemo.texts import fill
from tests import tiny
from tests.fakes import MemoryStore

SPEC = ModelSpec("fake", "a/b:c", 2, revision="1")


class FakeEmbedder:
    """Gives each text its length and a one, in two answers, the last texts first."""

    spec = SPEC

    def __init__(self):
        self.asked = []

    def embed(self, texts):
        self.asked.append(list(texts))
        vectors = np.array([[len(text), 1] for text in texts], np.float32)
        yield Embedded(np.arange(2, len(texts)), vectors[2:], tokens=10)
        yield Embedded(np.arange(2), vectors[:2], tokens=5)


def test_a_collection_is_embedded_and_loaded_once():
    data, store, embedder = tiny.dataset(), MemoryStore(), FakeEmbedder()
    texts = fill(data.catalog, "synopsis")
    told = []
    first = ensure_collection(store, data, texts, embedder, lambda *p: told.append(p))
    again = ensure_collection(store, data, texts, embedder)
    assert embedder.asked == [list(texts.values)]
    assert first.tokens == 15
    assert first.embed_seconds is not None
    assert (again.info.name, again.embed_seconds) == (first.info.name, None)
    assert told == [(3, 5), (5, 5)]
    [batch] = [b for b in store.read(first.info.name) if 4 in b.rows]
    assert batch.vectors[0].tolist() == [len("an eel"), 1]


def test_a_name_is_readable_and_safe_for_servers_and_file_systems():
    data = tiny.dataset()
    name = describe_collection(data, fill(data.catalog, "synopsis"), SPEC).name
    assert name.startswith("tiny.synopsis.fake-a-b-c.2.")
    template = describe_collection(data, fill(data.catalog, "{title} ({year}) " * 50), SPEC).name
    assert len(template) < 200
    assert not set(template) & set('<>:"/\\|?*\0 ')


@pytest.mark.parametrize(
    "change",
    [
        {"name": "a-b:c"},  # the same slug
        {"dimension": 3},
        {"how": "truncated"},
        {"prefix": "clustering: "},
        {"revision": "2"},
        {"provider": "other"},
    ],
)
def test_whatever_the_vectors_depend_on_gives_another_collection(change):
    data = tiny.dataset()
    texts = fill(data.catalog, "synopsis")
    other = dataclasses.replace(SPEC, **change)
    one, two = (describe_collection(data, texts, spec) for spec in (SPEC, other))
    assert one.fingerprint != two.fingerprint
    assert one.name != two.name


def test_one_letter_of_one_text_gives_another_collection():
    titles = ["a", "b", "c"]
    names = set()
    for last in ("c", "d"):
        items = tiny.catalog(title=[*titles[:2], last])
        data = tiny.dataset([[0], [0], [0]], items)
        names.add(describe_collection(data, fill(items, "card"), SPEC).name)
    assert len(names) == 2
