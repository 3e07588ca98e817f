"""Runs on disk: every evaluation is a JSON file, with the values per query beside it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from recdemo.dataset.archive import UNREADABLE
from recdemo.errors import StoreError
from recdemo.runs import (
    CeilingFacts,
    DatasetFacts,
    Published,
    Row,
    Run,
    SampleFacts,
    Seconds,
    Skipped,
    Slice,
    TruthFacts,
)
from recdemo.scoring.recall import Scores
from recdemo.scoring.sampling import Strata, Stratum
from recdemo.settings import settings

SCHEMA = 1
LATEST = "latest"

_BY_K = ("recall", "ndcg")


def as_json(run: Run) -> dict[str, Any]:
    """Return a run as plain values; keys as in ``recdemo evaluate --format json``."""
    return {
        "schema": SCHEMA,
        "recdemo": run.recdemo,
        "id": run.id,
        "created": run.created,
        "dataset": asdict(run.dataset),
        "store": run.store,
        "ks": list(run.ks),
        "chance": _by_k(run.chance),
        "ceiling": _ceiling(run.ceiling),
        "rows": [_row(row) for row in run.rows],
        "skipped": [asdict(skipped) for skipped in run.skipped],
        "published": [asdict(row) | {"recall": _by_k(row.recall)} for row in run.published],
        "truths": {name: _truth(facts) for name, facts in run.truths.items()},
        "tau": dict(run.tau),
        "one_shot": dict(run.one_shot),
        "sample": None if run.sample is None else asdict(run.sample),
        "settings": dict(run.settings),
        "versions": dict(run.versions),
        "hashes": dict(run.hashes),
    }


def _truth(facts: TruthFacts) -> dict[str, Any]:
    return {"chance": _by_k(facts.chance), "ceiling": _ceiling(facts.ceiling)}


def _ceiling(ceiling: CeilingFacts | None) -> dict[str, Any] | None:
    return None if ceiling is None else asdict(ceiling)


def _to_ceiling(plain: Mapping[str, Any] | None) -> CeilingFacts | None:
    if plain is None:
        return None
    lower, upper, seeds = (tuple(plain[name]) for name in ("lower", "upper", "seeds"))
    return CeilingFacts(plain["k"], lower, upper, seeds)


def _to_sample(plain: Mapping[str, Any] | None) -> SampleFacts | None:
    if plain is None:
        return None
    strata = tuple(Stratum(**stratum) for stratum in plain["strata"])
    return SampleFacts(plain["n"], plain["of"], plain["seed"], strata)


def _row(row: Row) -> dict[str, Any]:
    plain = {f.name: getattr(row, f.name) for f in fields(Row) if f.name != "scores"}
    plain |= {name: _by_k(plain[name]) for name in _BY_K}
    plain["interval"] = dict(row.interval)
    plain["seconds"] = asdict(row.seconds)
    plain["slices"] = [asdict(s) | {name: _by_k(getattr(s, name)) for name in _BY_K}
                       for s in row.slices]  # fmt: skip
    return plain


def _by_k(values: Mapping[int, float]) -> dict[str, float]:
    return {str(k): value for k, value in values.items()}


def _from_k(values: Mapping[str, float]) -> dict[int, float]:
    return {int(k): value for k, value in values.items()}


def from_json(plain: Mapping[str, Any], scores: Mapping[int, Scores] | None = None) -> Run:
    """Return the run that `as_json` wrote; *scores* are those of each row, by its place."""
    return Run(
        id=plain["id"],
        created=plain["created"],
        recdemo=plain["recdemo"],
        dataset=DatasetFacts(**plain["dataset"]),
        store=plain["store"],
        ks=tuple(plain["ks"]),
        chance=_from_k(plain["chance"]),
        ceiling=_to_ceiling(plain["ceiling"]),
        rows=tuple(_to_row(row, (scores or {}).get(i)) for i, row in enumerate(plain["rows"])),
        skipped=tuple(Skipped(**skipped) for skipped in plain["skipped"]),
        published=tuple(
            Published(**row | {"recall": _from_k(row["recall"])}) for row in plain["published"]
        ),
        truths={
            name: TruthFacts(_from_k(facts["chance"]), _to_ceiling(facts["ceiling"]))
            for name, facts in plain["truths"].items()
        },
        tau=plain["tau"],
        one_shot=plain["one_shot"],
        sample=_to_sample(plain.get("sample")),
        settings=plain["settings"],
        versions=plain["versions"],
        hashes=plain["hashes"],
    )  # fmt: skip


def _to_row(plain: Mapping[str, Any], scores: Scores | None) -> Row:
    values = dict(plain)
    values |= {name: _from_k(values[name]) for name in _BY_K}
    values["interval"] = _to_intervals(values["interval"])
    values["seconds"] = Seconds(**values["seconds"])
    values["slices"] = tuple(
        Slice(**s | {name: _from_k(s[name]) for name in _BY_K}
              | {"interval": _to_intervals(s["interval"])})
        for s in values.get("slices", ())
    )  # fmt: skip
    return Row(**values, scores=scores)


def _to_intervals(plain: Mapping[str, Any]) -> dict[str, tuple[float, float] | None]:
    return {name: None if ends is None else (ends[0], ends[1]) for name, ends in plain.items()}


def write_run(run: Run) -> Path:
    """Keep a run: ``<id>.json``, and per-query values in ``<id>.npz``, written first."""
    folder = settings().runs
    path = folder / f"{run.id}.json"
    arrays: dict[str, Any] = {}
    for i, row in enumerate(run.rows):
        if row.scores is not None:
            arrays |= {
                f"queries.{i}": row.scores.queries,
                f"ks.{i}": np.array(row.scores.ks),
                f"recall.{i}": row.scores.recall,
                f"ndcg.{i}": row.scores.ndcg,
            }
            if row.scores.strata is not None:
                arrays[f"stratum.{i}"] = row.scores.strata.which
                arrays[f"population.{i}"] = np.array(row.scores.strata.population)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path.with_suffix(".npz"), **arrays)
        partial = path.with_suffix(".json.part")
        partial.write_text(json.dumps(as_json(run), indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise StoreError(f"cannot keep the run in {folder}: {error.strerror or error}") from error
    return path


def find_run(name: str = LATEST) -> Path:
    """Return the file of a run: ``latest``, an id or the start of one, or a file."""
    if name.endswith(".json") or "/" in name:
        path = Path(name)
        if not path.is_file():
            raise StoreError(f"no run file {name!r}")
        return path
    kept = sorted(settings().runs.glob("*.json"))
    if not kept:
        raise StoreError(f"no run is kept in {settings().runs}; make one with 'recdemo evaluate'")
    if name == LATEST:
        return kept[-1]
    found = [path for path in kept if path.stem.startswith(name)]
    if not found:
        raise StoreError(f"no run {name!r} in {settings().runs}; the latest is {kept[-1].stem}")
    if len(found) > 1:
        ids = ", ".join(path.stem for path in found[:5])
        raise StoreError(f"{len(found)} runs start with {name!r}: {ids}; write more of the id")
    return found[0]


def read_run(path: Path) -> Run:
    """Read a run with its values per query; a damaged or newer file is a `StoreError`."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        schema = plain["schema"]
        if isinstance(schema, int) and schema > SCHEMA:
            raise StoreError(f"{path} was written by a newer recdemo; expected schema {SCHEMA}")
        return from_json(plain, _read_scores(path.with_suffix(".npz")))
    except (*UNREADABLE, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"cannot read the run {path}: {type(error).__name__}") from error


def _read_scores(path: Path) -> dict[int, Scores]:
    if not path.exists():
        return {}
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        rows = [int(name.split(".")[1]) for name in arrays.files if name.startswith("queries.")]
        return {
            i: Scores(
                arrays[f"queries.{i}"],
                tuple(arrays[f"ks.{i}"].tolist()),
                arrays[f"recall.{i}"],
                arrays[f"ndcg.{i}"],
                _strata(arrays, i),
            )
            for i in rows
        }


def _strata(arrays: Mapping[str, Any], i: int) -> Strata | None:
    if f"stratum.{i}" not in arrays:
        return None
    return Strata(arrays[f"stratum.{i}"], int(arrays[f"population.{i}"]))
