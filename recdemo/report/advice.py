"""Advice as a terminal shows it, sentences before figures, and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from recdemo.advise import Advice, Candidate
from recdemo.dimensions import BASELINE
from recdemo.report.advice_sentences import decimal_bytes, heading, sentences
from recdemo.report.columns import Column, fitting, rich_table

SCHEMA = 1


def columns(advice: Advice, counts: Sequence[int]) -> list[Column]:
    """Return the figures behind the sentences."""
    rows = advice.candidates
    gap = "to best model" if advice.best_model else "to best"

    def numbers(title: str, values: Sequence[str], rank: int) -> Column:
        return Column(title, True, tuple(values), rank)

    result = [
        Column("Model", False, tuple(c.name for c in rows)),
        numbers(advice.field.title, [f"{c.score:.4f}" for c in rows], 0),
        numbers(gap, [_difference(c, advice) for c in rows], 0),
        numbers("95 %", [_ends(c, advice) for c in rows], 1),
        Column("Not worse", False, tuple("yes" if c.good_enough else "no" for c in rows)),
        numbers("B/item", [f"{c.entrant.row.bytes_per_item:,}" for c in rows], 2),
    ]
    result += [
        numbers(f"{count:,}", [decimal_bytes(4 * c.dimension * count) for c in rows], 4)
        for count in counts
    ]
    usd = ["?" if c.usd_per_million is None else _usd(c.usd_per_million) for c in rows]
    times = ["-" if c.query_ms is None else f"{c.query_ms:.2f}" for c in rows]
    return [*result, numbers("USD/1M", usd, 3), numbers("ms/query", times, 5)]


def _difference(candidate: Candidate, advice: Advice) -> str:
    return "" if candidate is advice.reference else f"{candidate.gap.difference:+.4f}"


def _ends(candidate: Candidate, advice: Advice) -> str:
    if candidate is advice.reference:
        return ""
    if candidate.gap.interval is None:
        return "-"
    return f"{candidate.gap.interval[0]:+.4f}, {candidate.gap.interval[1]:+.4f}"


def _usd(usd: float) -> str:
    return f"{usd:,.2f}" if usd else "free"


def table(advice: Advice, counts: Sequence[int], width: int) -> RenderableType:
    """Return the advice for a terminal of *width* columns."""
    blank = Text("")
    parts: list[RenderableType] = [Text(heading(advice)), blank]
    for i, line in enumerate(sentences(advice, counts)):
        parts += [Text(line, style="" if i else "bold"), blank]
    return Group(*parts, rich_table(fitting(columns(advice, counts), width)))


def as_json(advice: Advice, counts: Sequence[int]) -> str:
    """Return the advice as JSON."""
    run = advice.field.entrants[0].run
    best, baseline = advice.best_model, advice.best_baseline
    cheapest, smallest = advice.cheapest(), advice.smallest(False)
    plain = {
        "schema": SCHEMA,
        "run": run.id,
        "dataset": asdict(run.dataset),
        "measure": advice.field.measure,
        "k": advice.field.k,
        "margin": advice.margin,
        "nothing_told": advice.reason or None,
        "sentences": sentences(advice, counts),
        "best_model": best and best.name,
        "best_baseline": baseline and baseline.name,
        "smallest_model": None if advice.reason or smallest is None else smallest.name,
        "cheapest_model": None if advice.reason or cheapest is None else cheapest.name,
        "shortest": [
            {"best": s.best.name, "smallest": s.smallest.name, **asdict(s.gap)}
            for s in ([] if advice.reason else advice.shortenings)
        ],
        "rows": [_candidate(c, counts) for c in advice.candidates],
    }
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def _candidate(candidate: Candidate, counts: Sequence[int]) -> dict[str, Any]:
    return {
        "name": candidate.name,
        "score": candidate.score,
        **asdict(candidate.gap),
        "not_worse": candidate.good_enough,
        "baseline": candidate.kind == BASELINE,
        "looks_at_behavior": candidate.behavior,
        "bytes_per_item": candidate.entrant.row.bytes_per_item,
        "bytes": {str(count): 4 * candidate.dimension * count for count in counts},
        "usd_per_million_items": candidate.usd_per_million,
        "ms_per_query": candidate.query_ms,
    }
