import dataclasses
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recdemo.dataset import Dataset
from recdemo.embedding import (
    Listeners,
    ModelSpec,
    asking,
    open_embedder,
    parse_model,
    served,
    shorten,
)
from recdemo.embedding.calling import call
from recdemo.embedding.estimates import check_cost, estimate
from recdemo.embedding.options import EmbedOptions
from recdemo.embedding.service import Later, Limits, TooMuch, Unusable
from recdemo.embedding.watching import Pace
from recdemo.errors import DatasetError, EmbeddingError
from recdemo.loading import ensure_collection
from recdemo.recommend import recommend
from recdemo.texts import fill
from tests.embedding_fakes import FakeService, full_vector, items
from tests.fakes import MemoryStore

OPTIONS = EmbedOptions(prefix="none")
THREE = items("a toy", "a heat wave", "an alien")
QUICK = Pace(sleep=lambda seconds: None, now=iter(range(10**9)).__next__)


@dataclasses.dataclass
class Run:
    """What one embedding gave, and took."""

    spec: ModelSpec
    vectors: dict[int, NDArray[np.float32]]  # by row
    tokens: int
    cost: float | None
    notices: list[str]


@pytest.fixture
def service(home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeService:
    """The service behind every model; ``service.dimension`` is what it was asked for last."""
    fake = FakeService()

    def open_fake(name: Any, ask: int | None, options: Any, listeners: Any) -> FakeService:
        fake.dimension = ask
        return fake

    monkeypatch.setattr(served, "open_service", open_fake)
    monkeypatch.setattr(asking, "call", partial(call, pace=QUICK))
    return fake


def embed(model: str, data: Dataset = THREE, options: EmbedOptions = OPTIONS) -> Run:
    notices: list[str] = []
    skip = options.on_empty == "skip"
    texts = fill(data.catalog, "synopsis", skip_blank=skip)
    embedder = open_embedder(
        parse_model(model), data, texts, options, Listeners(on_notice=notices.append)
    )
    vectors: dict[int, NDArray[np.float32]] = {}
    tokens = 0
    cost: float | None = 0.0
    for answer in embedder.embed(texts.values):
        assert not set(answer.positions.tolist()) & set(vectors)
        vectors |= dict(zip(answer.positions.tolist(), answer.vectors, strict=True))
        tokens += answer.tokens
        cost = None if cost is None or answer.cost is None else cost + answer.cost
    return Run(embedder.spec, vectors, tokens, cost, notices)


def test_every_text_is_asked_for_once_ever(service: FakeService) -> None:
    data = items("a toy", "a heat wave", "a toy")
    first, again = embed("openai:any", data), embed("openai:any", data)
    assert sorted(service.sent) == ["a heat wave", "a toy"]
    for run in (first, again):
        assert set(run.vectors) == {0, 1, 2}
        for row, text in enumerate(["a toy", "a heat wave", "a toy"]):
            assert np.array_equal(run.vectors[row], full_vector(text, 8))
    assert (first.tokens, again.tokens) == (5, 0)
    assert (first.cost, again.cost) == (None, 0.0)  # a price that nobody knows; nothing paid


def test_one_other_letter_is_one_text_sent_and_another_prefix_all_of_them(
    service: FakeService,
) -> None:
    service.native = 768
    embed("ollama:nomic-embed-text", options=OPTIONS)
    service.requests.clear()
    embed("ollama:nomic-embed-text", items("a toy", "a heat wave", "an alien!"))
    assert service.sent == ["an alien!"]
    service.requests.clear()
    run = embed("ollama:nomic-embed-text", options=EmbedOptions())
    assert sorted(service.sent) == [
        "clustering: a heat wave", "clustering: a toy", "clustering: an alien",
    ]  # fmt: skip
    assert run.spec.prefix == "clustering: "
    assert "every text has the prefix 'clustering: '" in run.spec.note


def test_a_model_that_changed_is_asked_anew_and_both_are_kept(service: FakeService) -> None:
    for revision, sent in (("aaa", 3), ("bbb", 3), ("aaa", 0), ("bbb", 0)):
        service.requests.clear()
        service.revision = revision
        run = embed("ollama:bge-m3-like")
        assert len(service.sent) == sent
        assert run.spec.revision == revision


def test_ten_dimensions_of_a_matryoshka_model_are_one_paid_embedding(service: FakeService) -> None:
    service.native = 3072
    for dimension in (3072, 2048, 1024, 768, 512, 256, 128, 64):
        run = embed(f"openai:text-embedding-3-large@{dimension}")
        assert service.dimension is None
        assert run.spec.how == ("native" if dimension == 3072 else "matryoshka")
        right = shorten(full_vector("a toy", 3072)[None], dimension)[0]
        assert np.array_equal(
            run.vectors[0], right if dimension < 3072 else full_vector("a toy", 3072)
        )
    assert len(service.sent) == 3


def test_v4_is_asked_for_each_dimension_and_both_may_be_forced(service: FakeService) -> None:
    service.native = 2048
    for dimension in (2048, 512, 64):
        run = embed(f"dashscope:text-embedding-v4@{dimension}")
        assert service.dimension == dimension
        assert run.spec.how == ("native" if dimension == 2048 else "api")
    service.requests.clear()
    here = embed(
        "dashscope:text-embedding-v4@100", options=EmbedOptions(prefix="none", shorten="here")
    )
    assert (here.spec.how, service.sent) == ("matryoshka", [])  # the full ones are there already
    by_service = embed(
        "openai:text-embedding-3-small@32",
        options=EmbedOptions(prefix="none", shorten="service"),
    )
    assert (by_service.spec.how, service.dimension) == ("api", 32)


@pytest.mark.parametrize(
    ("model", "native", "how"),
    [
        ("ollama:nomic-embed-text@64", 768, "matryoshka"),
        ("ollama:nomic-embed-text@32", 768, "truncated"),  # trained down to 64
        ("ollama:bge-m3@512", 1024, "truncated"),
        ("ollama:bge-m3@1024", 1024, "native"),
        ("ollama:bge-m3", 1024, "native"),
        ("openai:text-embedding-ada-002@512", 1536, "truncated"),
        ("dashscope:text-embedding-v4", 1024, "api"),  # its default is not its full length
        ("openai:unknown@4", 8, "truncated"),
        ("openai:unknown@8", 8, "native"),
        ("local:unknown", 8, "native"),
    ],
)
def test_how_a_dimension_came_about_is_told(
    service: FakeService, model: str, native: int, how: str
) -> None:
    service.native = native
    run = embed(model)
    asked = parse_model(model).dimension
    assert run.spec.how == how
    assert run.spec.dimension == len(run.vectors[0]) == (asked or native)
    norms = [float(np.linalg.norm(vector)) for vector in run.vectors.values()]
    assert norms == pytest.approx([1, 1, 1], abs=1e-6)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("ollama:bge-m3@2048", OPTIONS, "too many dimensions; the model has 1,024"),
        ("openai:text-embedding-3-large@4000", OPTIONS, "the model has 3,072"),
        ("openai:unknown@9", OPTIONS, "openai:unknown@9 asks for too many .* the model has 8"),
        (
            "dashscope:text-embedding-v4@300",
            OPTIONS,
            "does not offer 300 dimensions; choose one of 2048, 1536, 1024, 768, 512, 256, 128, 64",
        ),
        (
            "openai:text-embedding-ada-002@512",
            EmbedOptions(shorten="service"),
            "does not offer 512 dimensions; choose one of 1536, or .* --shorten here",
        ),
    ],
)
def test_a_dimension_that_cannot_be_had_is_refused(
    service: FakeService, model: str, options: EmbedOptions, message: str
) -> None:
    with pytest.raises(EmbeddingError, match=message):
        embed(model, options=options)


def test_the_length_of_an_unknown_model_is_learned_from_an_answer_that_is_kept(
    service: FakeService,
) -> None:
    service.native = 5
    first = embed("openai:unknown@2")
    assert service.requests[0] == ["a toy"]  # the shortest
    assert sorted(service.sent) == ["a heat wave", "a toy", "an alien"]
    assert first.tokens == 7
    service.requests.clear()
    assert embed("openai:unknown@3").spec.dimension == 3
    assert service.sent == []


def test_another_length_than_before_is_never_mixed_in(service: FakeService) -> None:
    embed("openai:unknown")
    service.native = 6
    with pytest.raises(EmbeddingError, match="asked for 8, got 6 numbers per vector"):
        embed("openai:unknown", items("a new one"))


def test_where_the_cache_has_everything_the_service_may_be_away(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.revision = "digest"
    embed("ollama:bge-like")

    def away(*args: Any) -> FakeService:
        raise EmbeddingError("no Ollama answers")

    monkeypatch.setattr(served, "open_service", away)
    run = embed("ollama:bge-like@4")
    assert run.spec.revision == "digest"
    assert run.notices == [
        "all vectors of ollama:bge-like come from the cache, since no Ollama answers"
    ]
    with pytest.raises(EmbeddingError, match=r"^no Ollama answers$"):
        embed("ollama:bge-like", items("a toy", "one that is not there"))


def test_items_without_text_have_no_vector_and_are_counted(service: FakeService) -> None:
    data = items("a toy", "", "an alien", " \n\t")
    skip = EmbedOptions(prefix="p: ", on_empty="skip")
    run = embed("openai:any", data, skip)
    assert set(run.vectors) == {0, 2}
    assert sorted(service.sent) == ["p: a toy", "p: an alien"]
    store, texts = MemoryStore(), fill(data.catalog, "synopsis", skip_blank=True)
    embedder = open_embedder(parse_model("openai:any"), data, texts, skip)
    loaded = ensure_collection(store, data, texts, embedder)
    assert loaded.info.count == 2
    assert [batch.rows.tolist() for batch in store.read(loaded.info.name)] == [[0, 2]]
    assert "2 of 4 items have no text 'synopsis'" in texts.notes[0]
    lsa = ensure_collection(
        store, data, texts, open_embedder(parse_model("baseline:random@2"), data, texts)
    )
    assert lsa.info.count == 4  # it reads no text


def test_different_texts_with_one_vector_are_warned_of(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = items("ALIEN", "HEAT", "a toy", "ALIEN")
    monkeypatch.setattr(
        "tests.embedding_fakes.full_vector",
        lambda text, native: np.full(native, 1 if text.isupper() else -1, np.float32),
    )
    run = embed("ollama:any", data)
    [warning] = run.notices
    assert warning.startswith("2 different texts have the same vector as another one by ollama:any")
    assert "'HEAT' and 'ALIEN'" in warning  # in the order of their answers
    assert "2 different texts share their vector" in run.spec.note


def too_long(most: int) -> Callable[[Sequence[str]], None]:
    def check(texts: Sequence[str]) -> None:
        if any(len(text.split()) > most for text in texts):
            raise TooMuch("the input length exceeds the context length")

    return check


LONG = items("a toy", "one two three four five six seven eight nine ten", "an alien")


def test_a_text_that_is_too_long_is_announced_and_refused_by_its_item(service: FakeService) -> None:
    service.limits = Limits(texts=3, text_tokens=6)
    service.before = too_long(6)
    with pytest.raises(
        EmbeddingError, match=r"openai:any: 1 of 2 texts .* item i1 'one two .*truncate"
    ):
        embed("openai:any", LONG)
    service.requests.clear()
    run = embed("openai:any", items("a toy", "an alien"))  # kept all the same
    assert (service.sent, run.notices) == ([], [])


def test_a_text_that_is_cut_is_counted_and_never_taken_for_the_whole(service: FakeService) -> None:
    service.limits = Limits(texts=3, text_tokens=6)
    service.before = too_long(6)
    cut = EmbedOptions(prefix="none", on_long="truncate")
    run = embed("openai:any", LONG, cut)
    assert set(run.vectors) == {0, 1, 2}
    assert "1 texts were cut" in run.spec.note
    assert "1 texts may be longer than the 6 tokens" in run.notices[0]
    assert "item i1" in run.notices[0]
    service.requests.clear()
    again = embed("openai:any", LONG, cut)
    assert (service.sent, again.spec.note) == ([], run.spec.note)
    assert np.array_equal(again.vectors[1], run.vectors[1])
    service.before = lambda texts: None  # now it takes all of them
    whole = embed("openai:any", LONG)
    assert service.sent == [LONG.catalog.fields["synopsis"][1]]
    assert not np.array_equal(whole.vectors[1], run.vectors[1])
    assert run.spec.rule != whole.spec.rule


def test_a_vector_whose_start_is_empty_cannot_be_shortened(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tests.embedding_fakes.full_vector",
        lambda text, native: np.eye(native, dtype=np.float32)[-len(text) % native],
    )
    with pytest.raises(
        EmbeddingError, match="the first 2 numbers of the vector of 'a toy' are all 0"
    ):
        embed("openai:any@2", items("a toy"))


def test_an_interruption_after_three_of_five_batches_leaves_two(service: FakeService) -> None:
    data = items(*(f"text {i}" for i in range(15)))
    embed("openai:any", items("text 0"))  # its length is known
    service.requests.clear()

    def interrupt(texts: Sequence[str]) -> None:
        if len(service.requests) > 3:
            raise KeyboardInterrupt

    service.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        embed("openai:any", data)
    service.before = lambda texts: None
    service.requests.clear()
    assert len(embed("openai:any", data).vectors) == 15
    assert len(service.requests) == 2


def test_money_is_tokens_times_price_and_what_was_paid_only(service: FakeService) -> None:
    service.native = 3072
    run = embed("openai:text-embedding-3-large")
    assert run.tokens == 7
    assert run.cost == pytest.approx(7 * 0.13 / 1e6)
    assert embed("openai:text-embedding-3-large@64").cost == 0.0
    service.native = 8
    assert embed("local:any").cost == 0.0


def test_more_than_max_cost_is_refused_before_the_first_request(service: FakeService) -> None:
    service.native = 3072
    poor = dataclasses.replace(OPTIONS, max_cost=1e-7)
    with pytest.raises(
        EmbeddingError, match=r"would cost about .* more than --max-cost 1e-07; nothing"
    ):
        embed("openai:text-embedding-3-large", options=poor)
    with pytest.raises(EmbeddingError, match="price of openai:unknown is not known"):
        embed("openai:unknown", options=poor)
    assert service.sent == []
    assert embed("ollama:any", options=poor).cost == 0.0  # free


def test_an_estimate_counts_what_would_be_sent_and_dimensions_once(service: FakeService) -> None:
    service.native = 3072
    data = items("a toy", "a heat wave", "a toy", "an alien")
    texts = [fill(data.catalog, "synopsis")]
    names = [parse_model(f"openai:text-embedding-3-large@{d}") for d in (3072, 1024, 256, 64)]
    [found] = estimate(names, texts, OPTIONS)
    assert (found.texts, found.cached, found.requests) == (3, 0, 1)
    assert found.names == tuple(map(str, names))
    assert found.cost == pytest.approx(found.tokens * 0.13 / 1e6)
    assert found.price_date == "2026-10"
    assert service.sent == []
    embed("openai:text-embedding-3-large", items("a toy"))
    [after] = estimate(names, texts, OPTIONS)
    assert (after.texts, after.cached) == (2, 1)
    with pytest.raises(EmbeddingError, match=r"more than --max-cost 1e-09; nothing was sent"):
        check_cost([after], 1e-9)
    check_cost([after], 1.0)


def test_the_costs_of_all_models_of_a_command_count_together(service: FakeService) -> None:
    texts = [fill(THREE.catalog, "synopsis")]
    large, small = (f"openai:text-embedding-3-{size}" for size in ("large", "small"))
    found = estimate([parse_model(large), parse_model(small)], texts, OPTIONS)
    costs = [each.cost or 0 for each in found]
    check_cost(found, sum(costs) * 1.01)
    with pytest.raises(EmbeddingError, match=r"this would cost about .*large \$.*small \$"):
        check_cost(found, max(costs) * 1.01)
    with pytest.raises(EmbeddingError, match="price of openai:unknown is not known"):
        check_cost(estimate([parse_model("openai:unknown")], texts, OPTIONS), 1.0)


@pytest.mark.parametrize("seed", range(30))
def test_whatever_goes_wrong_no_text_is_paid_twice_and_no_vector_is_wrong(
    service: FakeService, seed: int
) -> None:
    random = np.random.default_rng(seed)
    texts = [f"text {i}" + " more" * int(random.integers(3)) for i in range(12)]
    paid: list[str] = []

    def trouble(sent: Sequence[str]) -> None:
        kind = int(random.integers(12))
        if kind < 3:
            raise Later("busy", None if kind else 1.0)
        if kind == 3:
            raise TooMuch("too much")
        if kind == 4 and len(sent) > 1:
            raise Unusable("not a number")
        if kind == 5:
            raise EmbeddingError("quota exhausted")
        paid.extend(sent)

    service.before = trouble
    run = None
    while run is None:
        with suppress(EmbeddingError):  # the quota, or a text that has to be sent again alone
            run = embed("openai:any", items(*texts))
    assert sorted(paid) == sorted(texts)
    for row, text in enumerate(texts):
        assert np.array_equal(run.vectors[row], full_vector(text, 8))


def test_where_a_model_cannot_be_asked_similar_shows_its_newest_collection(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    store, texts = MemoryStore(), fill(THREE.catalog, "synopsis")
    for revision in ("aaa", "bbb"):
        service.revision = revision
        recommend(store, THREE, texts, parse_model("ollama:any"), 0, 2, options=OPTIONS)
    (home / "embeddings.sqlite").unlink()

    def away(*args: Any) -> FakeService:
        raise EmbeddingError("no Ollama answers")

    monkeypatch.setattr(served, "open_service", away)
    notices: list[str] = []
    listeners = Listeners(on_notice=notices.append)
    for name in ("ollama:any", "ollama:any@8"):
        found = recommend(
            store, THREE, texts, parse_model(name), 0, 2, options=OPTIONS, listeners=listeners
        )
        assert found.model == "ollama:any@8"
        assert len(found.items) == 2
    assert all("since no Ollama answers" in notice for notice in notices)
    assert len(notices) == 2
    for other in ("ollama:any@4", "ollama:other"):
        with pytest.raises(EmbeddingError, match="no Ollama answers"):
            recommend(store, THREE, texts, parse_model(other), 0, 2, options=OPTIONS)


def test_an_item_without_text_has_no_neighbors_and_that_is_said(service: FakeService) -> None:
    data = items("a toy", "", "an alien")
    texts = fill(data.catalog, "synopsis", skip_blank=True)
    with pytest.raises(
        DatasetError, match=r"Item 1 .*has no text, so it has no vector of openai:any"
    ):
        recommend(MemoryStore(), data, texts, parse_model("openai:any"), 1, 2, options=OPTIONS)
