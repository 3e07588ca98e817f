import pytest

from recdemo.errors import StoreError
from recdemo.runs import Skipped, by_reason
from recdemo.runs.files import as_json, find_run, read_run, write_run
from tests.evaluating import evaluate


def test_a_run_comes_back_the_same_with_its_values_per_query(home):
    run = evaluate("baseline:popularity", "bundled:all-minilm-l6-v2", must_run=False)
    back = read_run(write_run(run))
    assert as_json(back) == as_json(run)
    assert back.rows[0].scores is not None
    assert back.rows[0].scores.recall.tolist() == run.rows[0].scores.recall.tolist()
    assert back.rows[0].scores.ks == (1, 2)


def test_a_run_is_found_by_latest_by_the_start_of_its_id_and_as_a_file(home):
    with pytest.raises(StoreError, match="no run is kept"):
        find_run()
    for name in ("20260101T000000-aaaa", "20260102T000000-bbbb"):
        (home / "runs").mkdir(exist_ok=True)
        (home / "runs" / f"{name}.json").write_text("{}")
    assert find_run("latest").stem == "20260102T000000-bbbb"
    assert find_run("20260101").stem == "20260101T000000-aaaa"
    assert find_run(str(home / "runs" / "20260101T000000-aaaa.json")).exists()
    with pytest.raises(StoreError, match="2 runs start with '2026'"):
        find_run("2026")
    with pytest.raises(StoreError, match="no run 'x'"):
        find_run("x")
    with pytest.raises(StoreError, match="no run file"):
        find_run("no/such.json")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 1}', '"x"', "\x00"])
def test_a_damaged_run_is_one_line(content, home):
    path = home / "run.json"
    path.write_text(content)
    with pytest.raises(StoreError, match="cannot read the run"):
        read_run(path)


@pytest.mark.parametrize("kept", [0, 100, -30])
def test_values_per_query_that_were_cut_short_are_one_line(kept, home):
    path = write_run(evaluate("baseline:popularity"))
    values = path.with_suffix(".npz")
    values.write_bytes(values.read_bytes()[:kept])
    with pytest.raises(StoreError, match="cannot read the run"):
        read_run(path)


def test_a_run_of_a_newer_recdemo_says_so(home):
    path = home / "run.json"
    path.write_text('{"schema": 2}')
    with pytest.raises(StoreError, match="newer recdemo"):
        read_run(path)


def test_reasons_are_told_once_for_all_models_and_dimensions_they_hold_for():
    skipped = [
        Skipped("baseline:lsa@64", "up to 13, not 64"),
        Skipped("baseline:lsa@128", "up to 13, not 128"),
        Skipped("ollama:a", "nobody answers"),
        Skipped("ollama:b@8", "nobody answers"),
        Skipped("baseline:genre", "lacks genres"),
    ]
    assert by_reason(skipped) == [
        ("baseline:lsa@64,128", "up to 13, not that many"),
        ("ollama:a, ollama:b@8", "nobody answers"),
        ("baseline:genre", "lacks genres"),
    ]
