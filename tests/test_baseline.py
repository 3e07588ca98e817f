import numpy as np
import pytest

from recdemo.embedding import open_embedder, parse_models, shorten
from recdemo.errors import EmbeddingError
from recdemo.texts import fill
from tests import tiny


def vectors(model: str, data=None, text: str = "synopsis"):
    data = data or tiny.dataset()
    [name] = parse_models(model)
    texts = fill(data.catalog, text)
    [answer] = open_embedder(name, data, texts).embed(texts.values)
    assert answer.positions.tolist() == list(range(len(data)))
    assert answer.vectors.dtype == np.float32
    return answer.vectors


def spec(model: str, data=None, text: str = "synopsis"):
    data = data or tiny.dataset()
    [name] = parse_models(model)
    return open_embedder(name, data, fill(data.catalog, text)).spec


def test_genre_is_ten_times_one_hot_in_alphabetical_order():
    assert vectors("baseline:genre").tolist() == [[10, 10], [0, 10], [10, 0], [10, 0], [0, 0]]


def test_genre_year_adds_the_whole_year_and_the_median_where_it_is_missing():
    found = vectors("baseline:genre-year")
    assert found[:, 2].tolist() == [1990, 1991, 2001, 1991, 1990]
    assert found[:, :2].tolist() == vectors("baseline:genre").tolist()
    assert spec("baseline:genre-year").note == "1 items without a year stand at the median, 1991"


def test_popularity_is_the_logarithm_of_the_raters_and_says_that_it_looks_at_behavior():
    assert vectors("baseline:popularity")[:, 0] == pytest.approx(np.log([4, 3, 2, 1, 1]))
    assert spec("baseline:popularity").note == "looks at behavior"


def test_random_is_seeded_and_as_long_as_asked():
    assert vectors("baseline:random@7").shape == (5, 7)
    assert vectors("baseline:random@7").tolist() == vectors("baseline:random@7").tolist()


def test_lsa_has_length_one_and_its_smaller_dimension_is_a_cut_of_the_fit():
    two, one = vectors("baseline:lsa@2"), vectors("baseline:lsa@1")
    norms = np.linalg.norm(two, axis=1)
    assert norms[:4] == pytest.approx([1, 1, 1, 1])  # "an eel" has no word of its own left
    assert shorten(two, 1) == pytest.approx(one)
    assert spec("baseline:lsa@2").how == "native"


def test_lsa_without_a_dimension_takes_what_the_words_of_a_small_catalog_allow():
    assert spec("baseline:lsa").dimension == 2


def test_lsa_finds_texts_with_the_same_words_alike():
    found = vectors("baseline:lsa@2")  # an ant / a bee and an ant / a cat / a dog and a cat
    assert found[2] == pytest.approx(found[3], abs=1e-6)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("baseline:nothing", "unknown baseline 'baseline:nothing'"),
        ("baseline:genre@3", "cannot have that dimension; here it has 2"),
        ("baseline:popularity@2", "here it has 1"),
        ("baseline:lsa@6", "name baseline:lsa@2 or a smaller one"),
        ("baseline:lsa@5", "up to 2 dimensions on the texts of tiny, not 5"),
        ("nobody:model", "provider in baseline, bundled"),
        ("bundled:gpt", "expected bundled:all-minilm-l6-v2"),
        ("bundled:all-minilm-l6-v2@385", "the model has 384"),
        ("bundled:all-minilm-l6-v2", "5 of 5 items of tiny have other texts"),
    ],
)
def test_what_cannot_be_is_one_clear_error(model, message):
    with pytest.raises(EmbeddingError, match=message):
        vectors(model)


@pytest.mark.parametrize("model", ["lsa", "baseline:", ":x", "a:b@0", "a:b@-1", "a:b@1.5", "a:b@"])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(EmbeddingError, match="cannot read the"):
        parse_models(model)


def test_several_dimensions_are_several_models():
    assert [str(m) for m in parse_models("openai:x@64,128")] == ["openai:x@64", "openai:x@128"]
    assert [str(m) for m in parse_models("ollama:qwen3-embedding:0.6b")] == [
        "ollama:qwen3-embedding:0.6b"
    ]


def test_a_catalog_without_the_fields_is_an_error_that_names_them():
    data = tiny.dataset([[0], [0]], tiny.catalog("shop", title=["a", "b"]))
    with pytest.raises(EmbeddingError, match="needs the field 'genres', which shop lacks"):
        vectors("baseline:genre-year", data, "card")
    blank = tiny.catalog("shop", title=["a", "b"], genres=[(), ()], year=[None, None])
    with pytest.raises(EmbeddingError, match="no item of shop has one"):
        vectors("baseline:genre", tiny.dataset([[0], [0]], blank), "card")


def test_another_field_gives_another_revision():
    other = tiny.catalog(
        title=list("abcde"), genres=[("Fur",)] * 5, year=[1990] * 5, synopsis=list("vwxyz")
    )
    changed = spec("baseline:genre", tiny.dataset(items=other))
    assert changed.revision != spec("baseline:genre").revision


def test_a_cut_is_made_length_one_again():
    assert shorten(np.array([[3, 4, 12]], np.float32) / 13, 2) == pytest.approx(
        np.array([[0.6, 0.8]])
    )
    assert shorten(np.zeros((1, 3), np.float32), 2).tolist() == [[0, 0]]


@pytest.mark.parametrize("model", ["random@7", "genre", "genre-year", "popularity", "lsa@2"])
def test_blocks_give_the_vectors_of_all_at_once(model, monkeypatch):
    whole = vectors(f"baseline:{model}")
    monkeypatch.setattr("recdemo.embedding.lsa.BLOCK", 2)
    data = tiny.dataset()
    [name] = parse_models(f"baseline:{model}")
    texts = fill(data.catalog, "synopsis")
    answers = list(open_embedder(name, data, texts).embed(texts.values))
    assert np.concatenate([a.positions for a in answers]).tolist() == [0, 1, 2, 3, 4]
    assert np.concatenate([a.vectors for a in answers]) == pytest.approx(whole, abs=1e-6)


def test_lsa_of_a_large_catalog_fits_a_part_of_its_texts_and_says_so(monkeypatch):
    random = np.random.default_rng(0)
    words = [f"word{i}" for i in range(40)]  # two topics of 20 words each
    topics = [words[:20], words[20:]]
    texts = [" ".join(random.choice(topics[i % 2], 8)) for i in range(60)]
    data = tiny.dataset([[0]] * 60, tiny.catalog(title=texts))
    of_all = vectors("baseline:lsa@2", data, "{title}")
    monkeypatch.setattr("recdemo.embedding.lsa.FITTED", 40)
    monkeypatch.setattr("recdemo.embedding.lsa.BLOCK", 7)
    [name] = parse_models("baseline:lsa@2")
    filled = fill(data.catalog, "{title}")
    embedder = open_embedder(name, data, filled)
    of_part = np.concatenate([a.vectors for a in embedder.embed(filled.values)])
    assert embedder.spec.note == "fitted on 40 of the 60 texts"
    assert embedder.spec.revision.endswith(embedder.spec.note)
    assert spec("baseline:lsa@2").note == ""
    assert np.linalg.norm(of_part, axis=1) == pytest.approx(np.ones(60))
    for found in (of_all, of_part):  # the topics stand apart
        alike = found @ found.T
        assert alike[::2, ::2].mean() > 0.5 > alike[::2, 1::2].mean() + 0.4
