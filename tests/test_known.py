import re

import pytest

from recdemo.dataset import bundled
from recdemo.embedding import known
from recdemo.embedding.known import find, known_models

PROVIDERS = {"openai", "dashscope", "ollama", "local"}


def test_every_row_makes_sense() -> None:
    for model in known_models():
        assert model.provider in PROVIDERS
        assert model.native > 0
        assert all(0 < dimension <= model.native for dimension in model.dimensions)
        assert model.default is None or model.default in model.dimensions
        assert model.smallest is None or (model.matryoshka and model.smallest < model.native)
        assert not model.dimensions or model.native in model.dimensions
        assert not model.cut_is_same or model.matryoshka
        assert model.source.startswith("https://")
        assert model.prefix == "" or model.prefix.endswith(" ")


def test_a_price_has_a_date_and_only_paid_services_have_one() -> None:
    for model in known_models():
        if model.provider in known.FREE:
            assert model.price_per_million is None
            assert known.price_of(model.provider, model) == 0
        else:
            assert model.price_per_million is not None
            assert re.fullmatch(r"20\d\d-[01]\d", model.price_date)


def test_no_name_stands_for_two_models() -> None:
    names = [(model.provider, name.lower()) for model in known_models()
             for name in (model.name, *model.aliases)]  # fmt: skip
    assert len(names) == len(set(names))


def test_all_models_of_the_study_are_known_with_their_dimensions() -> None:
    for row in bundled.read_published():
        provider, name = row.model.split(":")
        model = find(provider, name)
        assert model is not None
        assert row.dimension <= model.native
        assert not model.dimensions or row.dimension in model.dimensions


@pytest.mark.parametrize(
    ("provider", "name", "found"),
    [
        ("ollama", "nomic-embed-text:latest", "nomic-embed-text"),
        ("ollama", "nomic-embed-text:v1.5", "nomic-embed-text"),
        ("ollama", "embeddinggemma:300m", "embeddinggemma"),
        ("local", "sentence-transformers/all-minilm-l6-v2", "all-MiniLM-L6-v2"),
    ],
)
def test_tags_and_aliases_find_the_row(provider: str, name: str, found: str) -> None:
    model = find(provider, name)
    assert model is not None
    assert model.name == found


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("ollama", "nomic-embed-text:137m-v1-fp16"),  # version 1 is not trained for short vectors
        ("ollama", "all-minilm:33m"),  # another size is another model
        ("openai", "nomic-embed-text"),
        ("openai", ""),
    ],
)
def test_what_is_another_model_is_not_known(provider: str, name: str) -> None:
    assert find(provider, name) is None
    assert known.price_of("openai", None) is None


def test_nomic_is_trained_down_to_64_numbers_and_bge_m3_not_at_all() -> None:
    nomic, bge = find("ollama", "nomic-embed-text"), find("ollama", "bge-m3")
    assert nomic is not None
    assert bge is not None
    assert [nomic.is_trained_for(d) for d in (768, 64, 63)] == [True, True, False]
    assert [bge.is_trained_for(d) for d in (1024, 512)] == [True, False]
