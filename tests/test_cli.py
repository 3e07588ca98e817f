import json
import os
import signal
import subprocess
import sys

import pytest

HEAVY = ("numpy", "pandas", "scipy", "sklearn", "textual", "openai", "ollama", "qdrant_client",
         "qdrant_edge", "pooch", "rapidfuzz")  # fmt: skip


def recdemo(*arguments: str, home, code: int = 0, **environment: str):
    """Run the real program in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "recdemo", *arguments],
        env={**os.environ, "RECDEMO_HOME": str(home), "COLUMNS": "120", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_help_loads_nothing_heavy():
    script = (
        "import sys; from recdemo import cli\n"
        "try: cli.app(['--help'])\n"
        "except SystemExit: pass\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "evaluate" in done.stdout
    assert "LOADED []" in done.stdout


def test_evaluating_loads_neither_textual_nor_the_sdks_of_services():
    script = (
        "import sys, recdemo.benchmark, recdemo.report, recdemo.store.edge\n"
        "print([n for n in ('textual', 'openai', 'ollama', 'qdrant_client') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_evaluate_prints_json_alone_on_stdout_and_keeps_the_run(tmp_path):
    done = recdemo("evaluate", "baseline:genre-year", "--format", "json", home=tmp_path)
    run = json.loads(done.stdout)
    [row] = run["rows"]
    assert row["recall"]["100"] == pytest.approx(0.18668, abs=6e-6)
    low, high = row["interval"]["recall@100"]
    assert low < row["recall"]["100"] < high
    assert run["chance"]["100"] == pytest.approx(100 / 3705)
    assert len(run["published"]) == 18
    assert run["ceiling"]["k"] == 100
    assert json.loads((tmp_path / "runs" / f"{run['id']}.json").read_text()) == run


def test_a_file_is_written_whole_with_output(tmp_path):
    table = tmp_path / "table.csv"
    done = recdemo(
        "evaluate", "baseline:genre", "--format", "csv", "--output", str(table), home=tmp_path
    )
    assert done.stdout == ""
    assert table.read_text().startswith("model,dimension,how")
    assert [path.name for path in tmp_path.glob("table*")] == ["table.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody:x"], "unknown model 'nobody:x'"),
        (["baseline:nothing"], "unknown baseline"),
        (["lsa"], "cannot read the model 'lsa'"),
        (["bundled:all-minilm-l6-v2@385"], "the model has 384"),
        (["baseline:lsa@0"], "expected a whole number above 0"),
        (["--suite", "nope"], "unknown suite 'nope'"),
        (["--k", "0"], "cannot read --k '0'"),
        (["--k", "ten"], "cannot read --k 'ten'"),
        (["--k", "3706"], "below the 3,706 rated items"),
        (["--k", "101"], "recdemo dataset fetch ml-1m"),
        (["--text", "{plot}"], "no field 'plot'"),
        (["--text", "plot"], "unknown text 'plot'"),
        (["--store", "ftp://x"], "unknown store 'ftp://x'"),
        (["--dataset", "no/such/folder"], "no/such/folder"),
        (["baseline:genre", "--output", "no/such/folder/x"], "cannot write no/such/folder/x"),
    ],
)
def test_what_a_user_can_fix_is_one_line_and_exit_1(arguments, message, tmp_path):
    done = recdemo("evaluate", *arguments, home=tmp_path, code=1)
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("recdemo: ")
    assert message in line


def test_wrong_usage_is_exit_2(tmp_path):
    recdemo("evaluate", "--nope", home=tmp_path, code=2)
    recdemo("evaluate", "--format", "xml", home=tmp_path, code=2)
    recdemo("evaluate", "--fail-below", "nan", home=tmp_path, code=2)  # nothing is below it
    recdemo("nope", home=tmp_path, code=2)


def test_a_home_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = recdemo("evaluate", "baseline:genre", home=tmp_path / "file" / "home", code=1)
    [line] = done.stderr.splitlines()
    assert str(tmp_path / "file") in line


@pytest.mark.parametrize("options", ["baseline:genre --format json", "--like latest 2>&1"])
def test_a_closed_pipe_ends_quietly(options, tmp_path):
    recdemo("evaluate", "baseline:genre", home=tmp_path)  # so that the next one is quick
    command = f"{sys.executable} -m recdemo evaluate {options}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | true"],
        env={**os.environ, "RECDEMO_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_is_exit_130_and_leaves_a_store_that_works(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "recdemo", "evaluate", "--format", "json"],
        env={**os.environ, "RECDEMO_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    collections = tmp_path / "collections"
    while process.poll() is None and not list(collections.glob("*/collection.json")):
        pass  # until the first collection is there
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert err.splitlines() == ["recdemo: stopped; what was finished is kept"]
    recdemo("evaluate", "baseline:random@384", "baseline:genre", home=tmp_path)


def test_a_threshold_that_is_missed_is_exit_3_with_the_figures(tmp_path):
    recdemo("evaluate", "baseline:genre", "--fail-below", "0.1", home=tmp_path)
    done = recdemo("evaluate", "baseline:genre", "--fail-below", "0.2", home=tmp_path, code=3)
    assert "baseline:genre@18 on synopsis: Recall@100 0.12607 is below 0.2" in done.stderr
    assert "baseline:genre" in done.stdout  # the table is there all the same


def test_checks_hold_the_latest_run_to_a_file(tmp_path):
    recdemo("evaluate", "baseline:genre", "--by", "popularity", home=tmp_path)
    checks = tmp_path / "checks.toml"
    checks.write_text(
        "[[check]]\nmodel = 'baseline:genre'\nat_least = 0.1\n"
        "[[check]]\nmodel = 'baseline:genre'\nagainst = 'latest'\n"
    )
    done = recdemo("check", str(checks), home=tmp_path)
    assert [line[:6] for line in done.stdout.splitlines()] == ["ok    ", "ok    "]
    checks.write_text(
        "[[check]]\nmodel = 'baseline:genre'\nat_least = 0.5\nby = 'popularity'\nslice = '1-10'\n"
    )
    done = recdemo("check", str(checks), home=tmp_path, code=3)
    assert done.stdout.startswith("missed baseline:genre@18 on synopsis, Recall@100 for popularity")


def test_a_run_can_be_done_again_like_an_earlier_one(tmp_path):
    recdemo("evaluate", "baseline:genre", "--k", "5,50", "--text", "card", home=tmp_path)
    done = recdemo("evaluate", "--like", "latest", "--format", "json", home=tmp_path)
    assert "the same numbers as" in done.stderr
    run = json.loads(done.stdout)
    assert (run["ks"], run["rows"][0]["text"]) == ([5, 50], "card")
    recdemo("evaluate", "baseline:genre", "--like", "latest", home=tmp_path, code=2)


def test_the_version_is_shown(tmp_path):
    assert recdemo("--version", home=tmp_path).stdout.startswith("recdemo 0.")
