"""Checks for continuous integration: what a run must reach, written down in a TOML file.

    [[check]]
    model = "bundled:all-minilm-l6-v2@384"
    measure = "recall@100"      # the default: Recall at the headline K
    at_least = 0.08             # or at_most

    [[check]]
    model = "bundled:all-minilm-l6-v2@384"
    by = "popularity"           # on a slice; the run must have been made with --by popularity
    slice = "1-10"
    at_least = 0.04

    [[check]]
    model = "bundled:all-minilm-l6-v2@384"
    against = "20261130T120000" # the same model in a stored run: latest, an id or a file
    margin = 0.005              # not worse by more than this: the paired 95 % interval says

``text``, ``truth`` and ``protocol`` narrow a check where a run has several of them.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from recdemo.errors import DatasetError
from recdemo.runs import Row, Run
from recdemo.scoring.statistics import intervals

MARGIN = 0.005
_TEXTS = ("model", "text", "truth", "protocol", "measure", "by", "slice", "against")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a run must reach."""

    model: str  # provider:name@dimension
    text: str | None = None
    truth: str | None = None
    protocol: str | None = None
    measure: str | None = None  # recall@K or ndcg@K
    by: str | None = None
    slice: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    against: str | None = None  # a stored run
    margin: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a check holds, and the figures."""

    passed: bool
    sentence: str


def read_checks(path: Path) -> list[Check]:
    """Read a file of checks; what cannot be meant is a `DatasetError` that says which check."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DatasetError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} is no TOML: {error}") from error
    tables = plain.get("check")
    if set(plain) != {"check"} or not isinstance(tables, list) or not tables:
        raise DatasetError(f"{path} must hold [[check]] tables and nothing else")
    return [_check(table, f"check {i} of {path}") for i, table in enumerate(tables, 1)]


def _check(table: Any, where: str) -> Check:
    known = [field.name for field in fields(Check)]
    if not isinstance(table, dict):
        raise DatasetError(f"{where} is no table; expected [[check]]")
    for name, value in table.items():
        if name not in known:
            raise DatasetError(f"{where} has the unknown key {name!r}; expected {', '.join(known)}")
        text = name in _TEXTS
        if isinstance(value, bool) or not isinstance(value, str if text else int | float):
            kind = "text" if text else "a number"
            raise DatasetError(f"{where}: {name} = {value!r} must be {kind}")
    if "model" not in table:
        raise DatasetError(f"{where} names no model")
    check = Check(**table)
    limits = [check.at_least is not None, check.at_most is not None, check.against is not None]
    if sum(limits) != 1:
        raise DatasetError(f"{where} needs one of at_least, at_most and against")
    if (check.by is None) != (check.slice is None):
        raise DatasetError(f"{where} needs both by and slice, or neither")
    if check.against is not None and check.by is not None:
        raise DatasetError(f"{where}: a difference to a stored run is not known by slice")
    if check.margin is not None and (check.against is None or check.margin < 0):
        raise DatasetError(f"{where}: margin goes with against and is at least 0")
    return check


def judge(run: Run, checks: Sequence[Check], load: Callable[[str], Run]) -> list[Verdict]:
    """Hold a run to its checks.

    Args:
        load: finds and reads a stored run by its name.
    """
    return [_judge(run, check, load) for check in checks]


def _judge(run: Run, check: Check, load: Callable[[str], Run]) -> Verdict:
    row = _row(run, check)
    name, k = _measure(check, run)
    label = f"{row.label} on {row.text}, {'Recall' if name == 'recall' else 'nDCG'}@{k}"
    if check.against is not None:
        return _against(row, _row(load(check.against), check), name, k, check, label)
    value = _value(row, check, name, k)
    where = f" for {check.by} {check.slice}" if check.by else ""
    if check.at_least is not None:
        passed, words = value >= check.at_least, f"at least {check.at_least:g}"
    else:
        passed, words = value <= (check.at_most or 0), f"at most {check.at_most or 0:g}"
    return Verdict(passed, f"{label}{where}: {value:.5f}, expected {words}")


def _row(run: Run, check: Check) -> Row:
    wanted = {name: getattr(check, name) for name in ("text", "truth", "protocol")}
    found = [
        row
        for row in run.rows
        if check.model in (row.label, row.model)
        and all(value in (None, getattr(row, name)) for name, value in wanted.items())
    ]
    if len(found) == 1:
        return found[0]
    rows = ", ".join(f"{row.label} ({row.text}, {row.truth}, {row.protocol})" for row in
                     (found or run.rows)[:8])  # fmt: skip
    if found:
        raise DatasetError(f"{check.model!r} fits {len(found)} rows of run {run.id}: {rows}")
    raise DatasetError(f"run {run.id} has no row for {check.model!r}; it has {rows}")


def _measure(check: Check, run: Run) -> tuple[str, int]:
    text = check.measure or f"recall@{run.headline}"
    name, _, k = text.partition("@")
    if name not in ("recall", "ndcg") or not k.isdecimal() or int(k) not in run.ks:
        ks = ", ".join(map(str, run.ks))
        raise DatasetError(f"unknown measure {text!r}; expected recall@K or ndcg@K, K of {ks}")
    return name, int(k)


def _value(row: Row, check: Check, name: str, k: int) -> float:
    if check.by is None:
        values = row.recall if name == "recall" else row.ndcg
        return values[k]
    for part in row.slices:
        if (part.by, part.name) == (check.by, check.slice):
            return (part.recall if name == "recall" else part.ndcg)[k]
    known = ", ".join(f"{part.by} {part.name}" for part in row.slices[:12])
    raise DatasetError(
        f"the run has no slice {check.by} {check.slice!r}; "
        + (f"it has {known}" if known else f"make it with 'recdemo evaluate --by {check.by}'")
    )


def _against(row: Row, other: Row, name: str, k: int, check: Check, label: str) -> Verdict:
    mine, theirs = row.scores, other.scores
    if mine is None or theirs is None or k not in theirs.ks:
        raise DatasetError(f"{label}: the values per item of one of the runs are missing")
    same = (row.truth, row.protocol) == (other.truth, other.protocol)
    if not same or not np.array_equal(mine.queries, theirs.queries):
        raise DatasetError(f"{label}: the stored run asks other items or holds another truth")
    own = getattr(mine, name)[:, mine.ks.index(k)]
    difference = own - getattr(theirs, name)[:, theirs.ks.index(k)]
    margin = MARGIN if check.margin is None else check.margin
    [found] = intervals(difference[:, None], strata=mine.strata)
    if found is None:
        raise DatasetError(f"{label}: too few items for an interval of the difference")
    low, high = found
    return Verdict(
        low > -margin,
        f"{label} against the stored run: {difference.mean():+.5f} ({low:+.5f} to {high:+.5f}), "
        f"expected not worse by more than {margin:g}",
    )
