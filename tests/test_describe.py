import csv
import os
import signal
import subprocess
import sys
import threading

import pytest

from recdemo import cli, describe
from recdemo.chat import ChatOptions, Said, open_chat, tidy
from recdemo.chat.asking import ask_all
from recdemo.chat.prices import Price, price_of
from recdemo.dataset.catalog import Catalog
from recdemo.describe import Written, default_prompt, make_room, plan, write
from recdemo.embedding import parse_model
from recdemo.embedding.service import Later, TooMuch
from recdemo.embedding.watching import Pace
from recdemo.errors import DatasetError, EmbeddingError, StoreError
from recdemo.settings import settings
from recdemo.synopses import COLUMNS, Synopsis, SynopsisFile
from recdemo.texts import fill
from tests import chat_server
from tests.embedding_faults import Answer, error_answer, reply
from tests.tiny import catalog

PROMPT = "What is {title}?"
MODEL = "fake:chat"
KEY = "sk-very-secret-0123456789"
CENT = Price(0.0, 10_000.0, "2026-05")  # a cent for each token of an answer


def quick(**options):
    """Return a pace by which time passes by waiting only."""
    slept = [0.0]
    return Pace(grace=0.5, now=lambda: sum(slept), sleep=slept.append, **options)


class FakeChat:
    """Says what it is told to, or raises it; once each where there is a list."""

    def __init__(self, at_once=1, **says):
        self.at_once = at_once
        self.says = says
        self.prompts = []

    def ask(self, prompt):
        self.prompts.append(prompt)
        said = self.says[prompt.removeprefix("What is ").removesuffix("?")]
        if isinstance(said, list):
            said = said.pop(0)
        if isinstance(said, BaseException):
            raise said
        return Said(said, 3, len(said.split())) if isinstance(said, str) else said


def animals(*titles, **fields):
    return catalog(title=list(titles or ("Ant", "Bee", "Cat")), **fields)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "texts.csv"


def run(items, chat, path, model=MODEL, prompt=PROMPT, overwrite=False, limit=None, **options):
    """Describe a catalog, and return what was written."""
    written = Written()
    with SynopsisFile(path) as file:
        planned = plan(items, model, prompt, file, overwrite=overwrite, limit=limit)
        make_room(planned, file)
        write(planned, chat, file, written, pace=quick(), **options)
    return written


def rows(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [(row["item_id"], row["text"]) for row in csv.DictReader(file)]


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


# --- The file ---


def test_a_cut_last_line_is_dropped_and_its_item_asked_again(path):
    run(animals(), FakeChat(Ant="Digs", Bee="Hums", Cat="Mew, mew"), path)
    whole = path.read_bytes()
    start = whole[:-1].rfind(b"\n") + 1
    for cut in range(start + 1, whole.rfind(b",") + 1):
        path.write_bytes(whole[:cut])
        chat = FakeChat(Cat="Mew, mew")
        run(animals(), chat, path)
        assert chat.prompts == ["What is Cat?"]
        assert rows(path) == [("i0", "Digs"), ("i1", "Hums"), ("i2", "Mew, mew")]


def test_a_cut_in_the_middle_of_a_character_is_mended(path):
    run(animals("Ant"), FakeChat(Ant="é"), path)
    path.write_bytes(path.read_bytes() + "i1,é".encode()[:-1])
    run(animals("Ant", "Bee"), FakeChat(Bee="ü"), path)
    assert rows(path) == [("i0", "é"), ("i1", "ü")]


def test_a_last_line_that_only_lacks_its_line_break_is_kept(path):
    run(animals("Ant"), FakeChat(Ant="Digs"), path)
    path.write_bytes(path.read_bytes()[:-1])
    run(animals("Ant", "Bee"), FakeChat(Bee="Hums"), path)
    assert rows(path) == [("i0", "Digs"), ("i1", "Hums")]


def test_a_file_that_a_spreadsheet_saved_is_read(path):
    text = ",".join(COLUMNS) + '\r\ni0,"Two\r\nlines",me,,\r\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    chat = FakeChat(Bee="Hums")
    run(animals("Ant", "Bee"), chat, path)
    assert rows(path) == [("i0", "Two\r\nlines"), ("i1", "Hums")]


def test_repeated_and_emptied_rows_are_mended(path):
    lines = [",".join(COLUMNS), "i0,first,m,h,t", "i0,second,m,h,t", "i1,,m,h,t", ""]
    path.write_text("\n".join(lines))
    run(animals("Ant", "Bee"), FakeChat(Bee="Hums"), path)
    assert rows(path) == [("i0", "first"), ("i1", "Hums")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"item_id,text\ni0,Digs\n", "was not written by this command"),
        (b"just a note", "was not written by this command"),
        (b"\xff\xfe\n", "is not UTF-8"),
        (b"item_id,text,model,prompt_hash,created\ni0,Digs\n", "row 2: 2 fields, expected 5"),
        (b'item_id,text,model,prompt_hash,created\ni0,"Digs\n', "cannot be read as CSV"),
    ],
)
def test_a_file_of_another_kind_is_left_as_it_is(path, content, message):
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        SynopsisFile(path)
    assert path.read_bytes() == content


def test_a_file_of_another_catalog_is_left_as_it_is(path):
    run(animals(), FakeChat(Ant="a", Bee="b", Cat="c"), path)
    others = Catalog("tiny", ("x",), {"title": ("Dog",)})
    with pytest.raises(DatasetError, match="has texts of other items than tiny"):
        run(others, FakeChat(), path)


def test_another_ending_is_refused_before_anything_is_asked(tmp_path):
    with pytest.raises(DatasetError, match=r"a name that ends in \.csv"):
        SynopsisFile(tmp_path / "texts.txt")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line(path):
    run(animals("Ant"), FakeChat(Ant="Digs"), path)
    with SynopsisFile(path) as file:
        file.path = type(path)("/dev/full")
        with pytest.raises(StoreError, match="No space left on device; the texts in it are kept"):
            file.append([Synopsis("i1", "Hums", "m", "h", "t")])


# --- Asking ---


def test_what_may_succeed_later_is_asked_again_and_nothing_else_is(path):
    waits = []
    chat = FakeChat(Ant=[Later("busy"), Later("busy", 7.0), "Digs"], Bee="Hums", Cat="Mew")
    run(animals(), chat, path, on_wait=lambda reason, seconds: waits.append((reason, seconds > 6)))
    assert sorted(rows(path)) == [("i0", "Digs"), ("i1", "Hums"), ("i2", "Mew")]
    assert len(chat.prompts) == 5
    assert waits == [("busy", False), ("busy", True)]


def test_patience_ends():
    pace = quick(patience=60.0)
    chat = FakeChat(Ant=Later("the server is busy"))
    with pytest.raises(EmbeddingError, match=r"the server is busy; gave up after \d+ s"):
        list(ask_all(chat, ["What is Ant?"], pace=pace))
    assert 30 < pace.now() <= 60


def test_requests_run_side_by_side_and_answers_under_way_are_kept_when_one_fails(path):
    both = threading.Barrier(2, timeout=10)

    class Chat(FakeChat):
        def ask(self, prompt):
            both.wait()
            return super().ask(prompt)

    chat = Chat(at_once=2, Ant=EmbeddingError("quota"), Bee="Hums", Cat="Mew")
    with pytest.raises(EmbeddingError, match="quota"):
        run(animals("Ant", "Bee"), chat, path)
    assert rows(path) == [("i1", "Hums")]


def test_a_mistake_of_ours_keeps_its_traceback(path):
    with pytest.raises(ZeroDivisionError):
        run(animals("Ant"), FakeChat(Ant=ZeroDivisionError()), path)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("  One.\n\nTwo.\t ", "One. Two."),
        ("<think>Hm.\nAn ant?</think>\n\nIt digs.", "It digs."),
        ("Half \ud83d a face\0", "Half a face"),
        ("A </think> within", "A </think> within"),
    ],
)
def test_an_answer_becomes_one_clean_line(said, text):
    assert tidy(said) == text


# --- Services ---


@pytest.fixture
def chat(embedding_server, monkeypatch):
    """A server that chats, which both providers are told to use."""
    embedding_server.key = KEY
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", embedding_server.openai_url)
    monkeypatch.setenv("OLLAMA_HOST", embedding_server.url)
    settings.cache_clear()
    yield chat_server.serve(embedding_server, lambda prompt: f"On {prompt}")
    settings.cache_clear()


def ask(model, prompt="ants", **options):
    return open_chat(parse_model(model), ChatOptions(**options), lambda done, total: None).ask(
        prompt
    )


@pytest.mark.parametrize("model", ["openai:llama", "ollama:llama"])
def test_both_forms_answer_and_count_tokens(chat, model):
    assert ask(model, "two ants") == Said("On two ants", 2, 3)


def test_a_prompt_is_sent_alone_at_the_temperature_asked_for(chat):
    ask("openai:gpt")
    ask("ollama:llama", temperature=0.7)
    first, second = chat.bodies
    messages = [{"role": "user", "content": "ants"}]
    assert first == {"model": "gpt", "messages": messages, "temperature": 0.0}
    assert second["messages"] == messages
    assert second["options"] == {"temperature": 0.7, "num_predict": 1000}


@pytest.mark.parametrize(
    ("model", "said", "expected"),
    [
        ("openai:gpt", {"message": {"content": None, "refusal": "I must not"}}, "refused"),
        ("openai:gpt", {"message": {"content": "half"}, "reason": "length"}, "cut off"),
        ("openai:gpt", {"message": {"content": ""}, "reason": "content_filter"}, "refused"),
        ("ollama:llama", {"message": {"content": "half"}, "reason": "length"}, "cut off"),
    ],
)
def test_a_service_says_itself_what_is_no_text(chat, model, said, expected):
    chat.says = lambda prompt: said
    assert ask(model).trouble == expected


def test_a_prompt_that_a_filter_stops_is_no_reason_to_stop_the_others(chat):
    chat.faults.append(error_answer(400, "Output data may be bad", "data_inspection_failed"))
    assert ask("openai:gpt").trouble == "refused by the service's filter"


@pytest.mark.parametrize(
    ("answer", "refusal", "message"),
    [
        (chat_server.OVERLOADED, Later, "503"),
        (chat_server.HANGS_UP, Later, "broke"),
        (error_answer(429, "Rate limit reached", "rate_limit_exceeded"), Later, "rate limit"),
        (error_answer(429, "Quota", "insufficient_quota"), EmbeddingError, "quota .* is used up"),
        (error_answer(404, "The model `x` does not exist"), EmbeddingError, "no chat model"),
        (Answer(404, b"<html>"), EmbeddingError, "is no chat endpoint"),
        (Answer(200, b"<html>"), EmbeddingError, "is no chat endpoint"),
        (reply(200, {"choices": []}), EmbeddingError, "is no chat endpoint"),
        (reply(200, {"choices": [{"message": "text"}]}), EmbeddingError, "is no chat endpoint"),
        (
            error_answer(400, "'temperature' does not support 0 with this model"),
            EmbeddingError,
            "give it another one with --temperature 1",
        ),
    ],
)
def test_what_goes_wrong_in_openais_form_is_told_apart(chat, answer, refusal, message):
    chat.faults.append(answer)
    with pytest.raises(refusal, match=message) as told:
        ask("openai:gpt")
    assert KEY not in str(told.value)


def test_a_missing_key_is_noticed_before_anything_is_sent(chat, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    settings.cache_clear()
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY is not set"):
        ask("openai:gpt")


def test_a_chat_model_that_ollama_lacks_is_pulled_where_asked(chat, embedding_server):
    with pytest.raises(EmbeddingError, match="'ollama pull phi'"):
        ask("ollama:phi")
    embedding_server.pullable["phi"] = embedding_server.models["llama:latest"]
    assert ask("ollama:phi", pull=True).text == "On ants"


@pytest.mark.parametrize(
    ("model", "message"),
    [("baseline:lsa", "unknown chat model"), ("openai:gpt@64", "which a chat model does not have")],
)
def test_what_cannot_chat_is_refused(model, message):
    with pytest.raises(EmbeddingError, match=message):
        ask(model)


# --- The command ---


@pytest.fixture
def shop(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "items.csv").write_text("item_id,title\n1,Ant\n2,Bee\n3,Cat\n")
    return folder


def arguments(shop, *more, model="openai:gpt"):
    return ["describe", model, "--dataset", str(shop), "--prompt", "{title}", *more]


@pytest.fixture
def command(shop, monkeypatch, capsys):
    """Runs the command in the folder beside the shop; returns its output and what it says."""
    monkeypatch.chdir(shop.parent)

    def run(*more, code=0, **options):
        monkeypatch.setattr(sys, "argv", ["recdemo", *arguments(shop, *more, **options)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        assert ended.value.code == code, err
        return out, err

    return run


def test_the_command_writes_the_texts_and_says_how_to_use_them(chat, shop, command):
    out, _ = command()
    assert sorted(rows(shop.parent / "synopses.csv")) == [
        ("1", "On Ant"),
        ("2", "On Bee"),
        ("3", "On Cat"),
    ]
    assert "3 texts by openai:gpt written to synopses.csv, which holds 3 now" in out
    assert "3 tokens read, 6 written: cost not known" in out
    assert "use them with --text synopses.csv" in out
    out, _ = command()
    assert "nothing to ask: 3 items have a text in synopses.csv" in out
    assert len(chat.prompts) == 3


def test_items_beyond_the_limit_are_told_of(chat, command):
    out, _ = command("--limit", "1")
    assert "cost not known; 2 items are beyond --limit" in out
    assert chat.prompts == ["Ant"]


def test_items_without_a_text_are_listed_with_the_command_to_try_again(chat, shop, command):
    chat.says = lambda prompt: "unknown" if prompt == "Bee" else f"On {prompt}"
    _, err = command(code=1)
    assert "1 items have no text: 2 (refused: 'unknown')" in err
    assert f"try again with: recdemo describe openai:gpt --dataset {shop}" in err
    assert len(rows(shop.parent / "synopses.csv")) == 2


def test_a_dry_run_asks_nobody(chat, shop, command):
    out, _ = command("--dry-run", model="openai:gpt-4o-mini")
    assert "3 texts to write with openai:gpt-4o-mini, in 3 requests; 0 items have a text" in out
    assert chat.prompts == []
    assert not (shop.parent / "synopses.csv").exists()


def test_a_price_that_nobody_knows_cannot_be_limited(chat, command):
    _, err = command("--max-cost", "1", code=1)
    assert "the price of openai:gpt is not known, so --max-cost cannot be kept" in err
    assert chat.prompts == []


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_run_stopped_in_the_middle_keeps_what_is_done_and_goes_on(chat, shop, command, how, code):
    third = threading.Event()

    def says(prompt):
        if prompt == "Cat" and not third.is_set():
            third.set()
            chat.server.released.wait(30)
        return f"On {prompt}"

    chat.says = says
    process = subprocess.Popen(
        [sys.executable, "-m", "recdemo", *arguments(shop, "--concurrency", "1")],
        cwd=shop.parent, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert third.wait(60)  # so the first two are written
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "Traceback" not in err
    if how is signal.SIGINT:
        assert "2 of 3 texts are in synopses.csv" in err
        assert "go on with: recdemo describe openai:gpt" in err
    assert rows(shop.parent / "synopses.csv") == [("1", "On Ant"), ("2", "On Bee")]
    command()
    assert chat.prompts == ["Ant", "Bee", "Cat", "Cat"]
    assert rows(shop.parent / "synopses.csv")[2] == ("3", "On Cat")
