"""The commands that embed, as a person runs them: real clients, a real server on loopback."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest
from _pytest.capture import CaptureResult

from recdemo.cli import main
from recdemo.embedding.cache import Cache, ModelKey, text_digest
from recdemo.settings import settings
from tests.embedding_server import EmbeddingServer

N = 60
TEXTS = [f"story {i} of {'a toy' if i % 2 else 'an alien'}" for i in range(N)]
TEXTS[1] = TEXTS[3]  # so 59 different ones
V4 = "dashscope:text-embedding-v4@64"  # ten texts per request
SECRET = "sk-very-secret-7"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """An own data set of 60 items; six users touch ten each, and the next five."""
    folder = tmp_path / "shop"
    folder.mkdir()
    rows = [f"i{i},Item {i},{text}" for i, text in enumerate(TEXTS)]
    (folder / "items.csv").write_text("\n".join(["item_id,title,synopsis", *rows]) + "\n")
    touched = [f"u{i // 10},i{j % N}" for i in range(N) for j in (i, i + 5)]
    (folder / "interactions.csv").write_text(
        "\n".join(["user_id,item_id", *dict.fromkeys(touched)]) + "\n"
    )
    return folder


def environment(home: Path, server: EmbeddingServer | None) -> dict[str, str]:
    if server is None:
        return {"RECDEMO_HOME": str(home), "OLLAMA_HOST": "127.0.0.1:9"}
    return {
        "RECDEMO_HOME": str(home),
        "OPENAI_BASE_URL": server.openai_url,
        "DASHSCOPE_BASE_URL": server.dashscope_url,
        "OLLAMA_HOST": server.url,
        "OPENAI_API_KEY": SECRET,
        "DASHSCOPE_API_KEY": SECRET,
    }


class Program(Protocol):
    def __call__(
        self,
        *arguments: str,
        home: Path,
        server: EmbeddingServer | None = None,
        code: int = 0,
    ) -> CaptureResult[str]: ...


@pytest.fixture
def recdemo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Program]:
    """Runs the program in this process, with the environment of a person."""

    def run(
        *arguments: str, home: Path, server: EmbeddingServer | None = None, code: int = 0
    ) -> CaptureResult[str]:
        for name in ("OPENAI", "DASHSCOPE"):
            monkeypatch.delenv(f"{name}_API_KEY", raising=False)
            monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
        for name, value in environment(home, server).items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()
        monkeypatch.setattr(sys, "argv", ["recdemo", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        told = capsys.readouterr()
        assert stop.value.code == code, told.err
        assert SECRET not in told.out + told.err
        return told

    yield run
    settings.cache_clear()


def check_kept(home: Path, server: EmbeddingServer, at_least: int = 59) -> int:
    """Hold everything in the cache to what the server gives; return how many there are."""
    key = ModelKey("dashscope", "text-embedding-v4", server.dashscope_url, 64, "")
    texts = list(dict.fromkeys(TEXTS))
    with Cache(home / "embeddings.sqlite") as cache:
        found = cache.read(key, [text_digest(text) for text in texts])
    for position, vector in zip(found.positions, found.vectors, strict=True):
        right = server.vector("text-embedding-v4", texts[position], 64)
        assert np.allclose(vector, right, atol=1e-6)
    assert len(found.positions) >= at_least
    return len(found.positions)


def test_a_dry_run_says_what_it_would_take_and_asks_nobody(
    recdemo: Program, shop: Path, tmp_path: Path, embedding_server: EmbeddingServer
) -> None:
    models = ("openai:text-embedding-3-large@3072,1024,64", V4, "ollama:nomic-embed-text")
    common = ("embed", *models, "--dry-run", "--dataset", str(shop))
    done = recdemo(*common, "--format", "json", home=tmp_path, server=embedding_server)
    large, v4, nomic = json.loads(done.out)
    assert [row["texts"] for row in (large, v4, nomic)] == [59, 59, 59]
    assert large["names"] == [f"openai:text-embedding-3-large@{d}" for d in (3072, 1024, 64)]
    assert large["cost"] == pytest.approx(large["tokens"] * 0.13 / 1e6)
    assert (v4["requests"], nomic["requests"]) == (6, 2)
    assert nomic["cost"] == 0
    table = recdemo(*common, home=tmp_path).out  # without keys and server
    assert "text-embedding-3-large@3072,1024,64" in table
    assert "2026-10" in table
    assert embedding_server.requests == []
    assert embedding_server.other == []


def test_texts_are_embedded_once_and_the_next_run_sends_nothing(
    recdemo: Program, shop: Path, tmp_path: Path, embedding_server: EmbeddingServer
) -> None:
    command = ("embed", V4, "--dataset", str(shop), "--format", "json")
    [row] = json.loads(recdemo(*command, home=tmp_path, server=embedding_server).out)
    assert (row["vectors"], row["tokens"]) == (60, sum(len(t.split()) for t in set(TEXTS)))
    assert row["cost_usd"] == pytest.approx(row["tokens"] * 0.07 / 1e6)
    assert set(embedding_server.paid.values()) == {1}
    assert (row["model"], len(embedding_server.requests)) == (V4, 6)
    check_kept(tmp_path, embedding_server)
    [again] = json.loads(recdemo(*command, home=tmp_path, server=embedding_server).out)
    assert (again["vectors"], again["tokens"], again["cost_usd"]) == (60, 0, 0.0)
    assert len(embedding_server.requests) == 6
    cut = ("embed", "openai:text-embedding-3-small@64,512,1536", *command[2:])
    [whole] = json.loads(recdemo(*cut, home=tmp_path, server=embedding_server).out)
    assert whole["model"] == "openai:text-embedding-3-small"  # all three are cut from it


@pytest.mark.parametrize(
    ("end", "at"), [(signal.SIGKILL, 2), (signal.SIGKILL, 5), (signal.SIGINT, 4)]
)
def test_a_run_that_is_ended_goes_on_where_it_was(
    recdemo: Program, shop: Path, tmp_path: Path, embedding_server: EmbeddingServer,
    monkeypatch: pytest.MonkeyPatch, end: signal.Signals, at: int,
) -> None:  # fmt: skip
    started, count = threading.Event(), itertools.count(1)
    child: list[subprocess.Popen[str]] = []

    def end_at_request() -> None:
        started.wait(60)
        if next(count) == at:
            os.kill(child[0].pid, end)

    monkeypatch.setattr(embedding_server, "next_fault", end_at_request)
    command = ("embed", V4, "--dataset", str(shop), "--concurrency", "1")
    child.append(
        subprocess.Popen(
            [sys.executable, "-m", "recdemo", *command],
            env={**os.environ, **environment(tmp_path, embedding_server)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
    )  # fmt: skip
    started.set()
    _, errors = child[0].communicate(timeout=120)
    if end == signal.SIGINT:
        assert child[0].returncode == 130
        assert f"go on with: recdemo embed {V4}" in errors
        assert "Traceback" not in errors
    before = check_kept(tmp_path, embedding_server, at_least=10 * (at - 2))
    asked = len(embedding_server.requests)
    recdemo(*command, home=tmp_path, server=embedding_server)
    check_kept(tmp_path, embedding_server)
    sent = sum(len(request.texts) for request in embedding_server.requests[asked:])
    assert sent == 59 - before
    assert (
        sum(times - 1 for times in embedding_server.paid.values()) <= 20
    )  # one under way, one next


def test_max_cost_and_missing_keys_are_one_line_and_nothing_is_sent(
    recdemo: Program, shop: Path, tmp_path: Path, embedding_server: EmbeddingServer
) -> None:
    small = "openai:text-embedding-3-small"
    common = ("--dataset", str(shop))
    for command in (
        ("embed", small, V4),
        ("evaluate", small, V4),
        ("similar", "Item 5", "--model", V4),
    ):
        done = recdemo(
            *command,
            *common,
            "--max-cost",
            "0.000001",
            home=tmp_path,
            server=embedding_server,
            code=1,
        )
        assert "more than --max-cost 1e-06; nothing was sent" in done.err
    for name in ("embed", "evaluate"):
        done = recdemo(name, small, *common, home=tmp_path, code=1)
        assert "OPENAI_API_KEY is not set; create a key at" in done.err
    done = recdemo("embed", "baseline:genre", *common, home=tmp_path, code=1)
    assert "costs nothing to compute" in done.err
    assert embedding_server.requests == []


def test_an_evaluation_shows_and_keeps_what_it_paid_and_no_key_anywhere(
    recdemo: Program, shop: Path, tmp_path: Path, embedding_server: EmbeddingServer
) -> None:
    common = ("--dataset", str(shop), "--k", "5", "--prefix", "p: ")
    done = recdemo(
        "evaluate", "dashscope:text-embedding-v4@64,128", *common, "--format", "json",
        home=tmp_path, server=embedding_server,
    )  # fmt: skip
    run = json.loads(done.out)
    assert {row["prefix"] for row in run["rows"]} == {"p: "}
    assert run["settings"]["embed"] == {"prefix": "p: "}
    for row in run["rows"]:
        assert row["cost_usd"] == pytest.approx(row["tokens"] * 0.07 / 1e6)
        assert row["how"] == "api"
    again = recdemo(
        "evaluate", "--like", "latest", "--format", "csv", home=tmp_path, server=embedding_server
    )
    assert "the same numbers as" in again.err
    assert all(line.endswith(",0,0.0") for line in again.out.splitlines()[1:])
    table = recdemo("evaluate", "openai:tiny", *common, home=tmp_path, server=embedding_server).out
    assert "Cost" in table
    assert "openai:tiny: every text has the prefix 'p: '." in table
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


def test_a_suite_from_a_file_runs_what_can_and_lists_the_rest_with_remedies(
    recdemo: Program, shop: Path, tmp_path: Path, embedding_server: EmbeddingServer
) -> None:
    suite = tmp_path / "mine.toml"
    suite.write_text(
        'models = ["openai:tiny@4,8", "ollama:not-pulled", "baseline:lsa@4"]\n'
        'text = "{title}: {synopsis}"\nprefix = "none"\n'
    )
    common = (
        "evaluate",
        "--suite",
        str(suite),
        "--dataset",
        str(shop),
        "--k",
        "5",
        "--format",
        "json",
    )
    run = json.loads(recdemo(*common, home=tmp_path, server=embedding_server).out)
    assert {(row["model"], row["dimension"], row["text"]) for row in run["rows"]} == {
        ("openai:tiny", 4, "{title}: {synopsis}"),
        ("openai:tiny", 8, "{title}: {synopsis}"),
        ("baseline:lsa", 4, "{title}: {synopsis}"),
    }
    [skipped] = run["skipped"]
    assert skipped["model"] == "ollama:not-pulled"
    assert "ollama pull not-pulled" in skipped["reason"]
    suite.write_text('models = ["baseline:lsa@4"]\nmodel = 1\nshortn = "here"\n')
    done = recdemo(*common, home=tmp_path, code=1)
    assert "unknown model, shortn in" in done.err


def test_the_study_without_keys_and_server_says_what_to_do(
    recdemo: Program, tmp_path: Path
) -> None:
    done = recdemo("evaluate", "--suite", "study", home=tmp_path, code=1)
    assert len(done.err.splitlines()) == 1
    for remedy in ("ollama serve", "DASHSCOPE_API_KEY is not set", "OPENAI_API_KEY is not set"):
        assert done.err.count(remedy) == 1


def test_models_tells_what_is_usable_and_why_the_rest_is_not(
    recdemo: Program, tmp_path: Path, embedding_server: EmbeddingServer
) -> None:
    done = recdemo("models", "--format", "json", home=tmp_path, server=embedding_server)
    rows = {row["model"]: row for row in json.loads(done.out)}
    assert rows["ollama:bge-m3"]["usable"]
    assert "ollama pull embeddinggemma" in rows["ollama:embeddinggemma"]["reason"]
    assert rows["openai:text-embedding-3-large"]["usable"]
    away = recdemo("models", "openai", home=tmp_path).out
    assert "openai: OPENAI_API_KEY is not set" in away
    assert "2026-10" in away
    assert recdemo("models", "nope", home=tmp_path, code=1).err.startswith(
        "recdemo: no known models"
    )


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_embeddings_are_shared_by_a_file_that_is_checked(
    recdemo: Program, shop: Path, tmp_path: Path, embedding_server: EmbeddingServer, ending: str
) -> None:
    recdemo("embed", V4, "--dataset", str(shop), home=tmp_path, server=embedding_server)
    file = tmp_path / f"vectors.{ending}"
    assert recdemo("cache", "export", str(file), home=tmp_path).out.startswith("59 vectors")
    colleague = tmp_path / "colleague"
    colleague.mkdir()
    done = recdemo("cache", "import", str(file), home=colleague)
    assert done.out == "59 vectors added, 0 were there already\n"
    check_kept(colleague, embedding_server)
    asked = len(embedding_server.requests)
    recdemo("embed", V4, "--dataset", str(shop), home=colleague, server=embedding_server)
    assert len(embedding_server.requests) == asked
    again = recdemo("cache", "import", str(file), home=colleague)
    assert again.out == "0 vectors added, 59 were there already\n"
    file.write_bytes(file.read_bytes()[:-100])
    broken = recdemo("cache", "import", str(file), home=colleague, code=1)
    assert "cannot read" in broken.err


def test_the_cache_is_shown_and_pruned(
    recdemo: Program, shop: Path, tmp_path: Path, embedding_server: EmbeddingServer
) -> None:
    for model in (V4, "openai:tiny"):
        recdemo("embed", model, "--dataset", str(shop), home=tmp_path, server=embedding_server)
    rows = json.loads(recdemo("cache", "show", "--format", "json", home=tmp_path).out)
    assert {(row["name"], row["vectors"], row["bytes"]) for row in rows} == {
        ("text-embedding-v4", 59, 59 * 64 * 4), ("tiny", 59, 59 * 8 * 4),
    }  # fmt: skip
    assert recdemo("cache", "prune", home=tmp_path).out == "nothing to remove\n"
    items = shop / "items.csv"
    items.write_text(items.read_text().replace("story 7 of", "tale 7 of"))
    recdemo("embed", V4, "--dataset", str(shop), home=tmp_path, server=embedding_server)
    told = recdemo("cache", "prune", "--dry-run", home=tmp_path).out
    assert told == "dashscope:text-embedding-v4: 1 vectors would be removed\n"
    assert "1 vectors removed" in recdemo("cache", "prune", home=tmp_path).out
    kept = recdemo("cache", "prune", "--older-than", "1", home=tmp_path).out
    assert kept == "nothing to remove\n"
    gone = recdemo("cache", "prune", "--model", "openai:tiny", home=tmp_path).out
    assert gone == "openai:tiny: 59 vectors removed\n"
    [row] = json.loads(recdemo("cache", "show", "--format", "json", home=tmp_path).out)
    assert (row["name"], row["vectors"]) == ("text-embedding-v4", 59)


def test_items_without_text_stop_the_run_or_score_0_as_queries(
    recdemo: Program, shop: Path, tmp_path: Path, embedding_server: EmbeddingServer
) -> None:
    items = shop / "items.csv"
    lines = items.read_text().splitlines()
    lines[3:5] = ["i2,Item 2,", "i3,Item 3, "]
    items.write_text("\n".join(lines) + "\n")
    common = ("--dataset", str(shop), "--text", "synopsis")
    for command in (("embed", V4), ("evaluate", V4), ("similar", "Item 7", "--model", V4)):
        done = recdemo(*command, *common, home=tmp_path, server=embedding_server, code=1)
        assert "2 of 60 items (item_id i2, i3)" in done.err
        assert "--on-empty skip" in done.err
    assert embedding_server.requests == []
    skip = (*common, "--on-empty", "skip")
    evaluate = ("evaluate", V4, "baseline:lsa@2", "--k", "5", "--format", "json", *skip)
    run = json.loads(recdemo(*evaluate, home=tmp_path, server=embedding_server).out)
    assert [row["without_vector"] for row in run["rows"]] == [2, 2]
    assert [row["queries"] for row in run["rows"]] == [60, 60]
    similar = ("similar", "id:i2", "--model", V4, *skip)
    done = recdemo(*similar, home=tmp_path, server=embedding_server, code=1)
    assert "has no text, so it has no vector" in done.err
