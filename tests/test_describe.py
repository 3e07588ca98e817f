import csv

import pytest

from recdemo import describe
from recdemo.chat import Said
from recdemo.chat.prices import price_of
from recdemo.describe import default_prompt, plan
from recdemo.embedding import parse_model
from recdemo.embedding.service import TooMuch
from recdemo.errors import DatasetError, EmbeddingError
from recdemo.settings import settings
from recdemo.synopses import COLUMNS, Synopsis, SynopsisFile
from recdemo.texts import fill
from tests.describing import CENT, MODEL, PROMPT, FakeChat, animals, rows, run
from tests.tiny import catalog


@pytest.fixture
def path(tmp_path):
    return tmp_path / "texts.csv"


# --- What is asked, and what is written ---


def test_each_item_without_a_text_gets_one_with_where_it_comes_from(path):
    written = run(animals(), FakeChat(Ant="It digs.", Bee="It flies, and hums.", Cat="Mew"), path)
    assert rows(path) == [("i0", "It digs."), ("i1", "It flies, and hums."), ("i2", "Mew")]
    with path.open(newline="") as file:
        header, first, *_ = csv.reader(file)
    assert tuple(header) == COLUMNS == ("item_id", "text", "model", "prompt_hash", "created")
    assert first[2] == MODEL
    assert len(first[3]) == 12
    assert first[4].endswith("+00:00")
    assert (written.items, written.tokens_in, written.tokens_out) == (3, 9, 7)


def test_the_file_is_a_text_of_the_catalog_at_once(path):
    run(animals(), FakeChat(Ant="Digs", Bee='Says "hum"', Cat="Mew"), path)
    assert fill(animals(), str(path)).values == ("Digs", 'Says "hum"', "Mew")


def test_what_is_in_the_file_is_not_asked_again(path):
    run(animals(), FakeChat(Ant="Digs", Bee=Said("", trouble="refused"), Cat="Mew"), path)
    again = FakeChat(Bee="Hums")
    run(animals(), again, path)
    assert again.prompts == ["What is Bee?"]
    assert rows(path) == [("i0", "Digs"), ("i2", "Mew"), ("i1", "Hums")]


def test_a_synopsis_of_the_catalog_is_taken_over_and_not_asked_for(path):
    chat = FakeChat(Ant="Digs", Cat="Mew")
    run(animals(synopsis=["", "Hums\nall day", None]), chat, path)
    assert chat.prompts == ["What is Ant?", "What is Cat?"]
    assert ("i1", "Hums all day") in rows(path)
    with SynopsisFile(path) as file:
        assert file.by_item["i1"] == Synopsis("i1", "Hums all day", "catalog", "", "")


def test_items_with_the_same_prompt_are_asked_about_once(path):
    chat = FakeChat(Ant="Digs", Bee="Hums")
    run(animals("Ant", "Bee", "Ant"), chat, path)
    assert len(chat.prompts) == 2
    assert sorted(rows(path)) == [("i0", "Digs"), ("i1", "Hums"), ("i2", "Digs")]


def test_overwrite_replaces_what_others_wrote_and_keeps_a_copy(path):
    run(animals(), FakeChat(Ant="a", Bee="b", Cat="c"), path, model="fake:old")
    run(animals(), FakeChat(), path)  # nothing to ask
    before = path.read_bytes()
    run(animals(), FakeChat(Ant="A", Bee="B", Cat="C"), path, overwrite=True)
    assert rows(path) == [("i0", "A"), ("i1", "B"), ("i2", "C")]
    assert path.with_name("texts.old-1.csv").read_bytes() == before


def test_overwrite_goes_on_where_it_was_stopped(path):
    run(animals(), FakeChat(Ant="a", Bee="b", Cat="c"), path, model="fake:old")
    dies = FakeChat(Ant="A", Bee=EmbeddingError("quota"))
    with pytest.raises(EmbeddingError):
        run(animals(), dies, path, overwrite=True)
    again = FakeChat(Bee="B", Cat="C")
    run(animals(), again, path, overwrite=True)
    assert again.prompts == ["What is Bee?", "What is Cat?"]
    assert sorted(rows(path)) == [("i0", "A"), ("i1", "B"), ("i2", "C")]


def test_overwrite_with_a_limit_leaves_the_other_texts_alone(path):
    run(animals(), FakeChat(Ant="a", Bee="b", Cat="c"), path, model="fake:old")
    run(animals(), FakeChat(Ant="A"), path, overwrite=True, limit=1)
    assert sorted(rows(path)) == [("i0", "A"), ("i1", "b"), ("i2", "c")]


def test_overwrite_asks_about_items_whose_synopsis_the_catalog_has(path):
    run(animals("Ant", synopsis=["old"]), FakeChat(Ant="new"), path, overwrite=True)
    assert rows(path) == [("i0", "new")]


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ("", "empty"),
        ("Unknown.", "refused: 'Unknown.'"),
        ("I'm sorry, but I don't know it.", "refused: "),
        ("I\N{RIGHT SINGLE QUOTATION MARK}m not familiar with it.", "refused: "),
        ("As an AI, I have not seen it.", "refused: "),
        (Said("half a sent", trouble="cut off"), "cut off"),
        (TooMuch("the context is too short"), "the context is too short"),
    ],
)
def test_an_answer_that_is_no_text_is_counted_and_not_written(path, said, trouble):
    written = run(animals("Ant", "Bee"), FakeChat(Ant=said, Bee="Hums"), path)
    assert rows(path) == [("i1", "Hums")]
    assert list(written.troubles) == ["i0"]
    assert written.troubles["i0"].startswith(trouble)


@pytest.mark.parametrize("text", ["Sorry, Wrong Number is a film.", "Unknown to him, she digs."])
def test_a_text_that_only_starts_like_a_refusal_is_written(path, text):
    run(animals("Ant"), FakeChat(Ant=text), path)
    assert rows(path) == [("i0", text)]


def test_an_item_without_a_title_is_not_asked_about(path):
    chat = FakeChat(Bee="Hums")
    written = run(animals("", "Bee", year=[1990, 1991]), chat, path, prompt="What is {title}?")
    assert chat.prompts == ["What is Bee?"]
    assert written.troubles == {"i0": "the catalog has nothing to ask with"}


def test_a_model_that_never_answers_well_is_stopped_early(path):
    titles = [f"T{i}" for i in range(50)]
    chat = FakeChat(**dict.fromkeys(titles, "unknown"))
    with pytest.raises(EmbeddingError, match="none of the first 20 answers of fake:chat is a tex"):
        run(animals(*titles), chat, path)
    assert len(chat.prompts) == 20
    assert not path.exists()


def test_a_limit_asks_about_the_first_items_only(path):
    run(animals(), FakeChat(Ant="Digs", Bee="Hums"), path, limit=2)
    assert [item for item, _ in rows(path)] == ["i0", "i1"]


# --- Prompts ---


def test_the_default_prompt_uses_what_the_catalog_has():
    bare = animals()
    full = animals(year=[1990] * 3, genres=[("Fur",), (), ()], directors=[()] * 3)
    assert 'about "{title}":' in default_prompt(bare)
    assert 'about "{title}" ({year}):' in default_prompt(full)
    assert "Genres: {genres}. Directed by {directors}." in default_prompt(full)
    filled = fill(full, default_prompt(full)).values
    assert '"Ant" (1990)' in filled[0]
    assert "Genres: Fur." in filled[0]
    assert "Genres" not in filled[1]


def test_without_titles_a_prompt_must_be_given():
    with pytest.raises(DatasetError, match=r"tiny has no titles; .* --prompt.*\{label\}"):
        default_prompt(catalog(label=["a"]))


@pytest.mark.parametrize(
    ("prompt", "message"),
    [("card", "has no field"), ("Tell me.", "has no field"), ("{plot}", "no field 'plot'")],
)
def test_a_prompt_needs_fields_that_the_catalog_has(path, prompt, message):
    with pytest.raises(DatasetError, match=message), SynopsisFile(path) as file:
        plan(animals(), MODEL, prompt, file)


# --- Money ---


def test_what_would_cost_too_much_is_refused_beforehand(path):
    with SynopsisFile(path) as file:
        planned = plan(animals(), MODEL, PROMPT, file)
    assert describe.expected_cost(planned, CENT) == pytest.approx(3 * 150 * 0.01)
    with pytest.raises(EmbeddingError, match=r"about \$4.5000, more than --max-cost 4; nothing"):
        describe.check_cost(planned, CENT, 4.0)
    with pytest.raises(EmbeddingError, match="price of fake:chat is not known"):
        describe.check_cost(planned, None, 4.0)


def test_a_run_that_turns_out_dearer_stops_before_the_limit(path):
    long = "word " * 200  # two dollars
    chat = FakeChat(Ant=long, Bee=long, Cat=long)
    written = run(animals(), chat, path, price=CENT, max_cost=5.0)
    assert len(chat.prompts) == 2
    assert written.is_stopped
    assert written.cost == pytest.approx(4.0)


def test_a_price_holds_for_dated_names_and_only_at_the_provider(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    settings.cache_clear()
    priced = price_of(parse_model("openai:gpt-4o-mini-2024-07-18"))
    assert priced is not None
    assert priced.of(1_000_000, 1_000_000) == pytest.approx(0.75)
    assert price_of(parse_model("openai:nobody-knows")) is None
    assert price_of(parse_model("ollama:llama3.2")).of(10**9, 10**9) == 0.0
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    settings.cache_clear()
    assert price_of(parse_model("openai:gpt-4o-mini")) is None
    settings.cache_clear()
