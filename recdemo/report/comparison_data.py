"""From a comparison to what programs read: CSV and JSON."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from recdemo.compare import Comparison
from recdemo.report.comparison import Page

SCHEMA = 1


def as_csv(page: Page) -> str:
    """Return the comparisons as CSV, one line per pair."""
    names = [e.name for e in page.compared.field.entrants]
    scores = page.compared.scores
    head = ("first", "second", "measure", "score_first", "score_second", "difference", "low",
            "high", "p", "p_holm", "share", "wins", "ties", "losses", "rbo")  # fmt: skip
    rows = [
        (names[c.first], names[c.second], page.compared.field.title, scores[c.first],
         scores[c.second], c.difference, *(c.interval or (None, None)), c.p, c.adjusted, c.share,
         c.wins, c.ties, c.losses, c.overlap)
        for c in page.compared.comparisons
    ]  # fmt: skip
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, *rows])
    return out.getvalue()


def as_json(page: Page) -> str:
    """Return the comparison as JSON."""
    compared, field = page.compared, page.compared.field
    names = [e.name for e in field.entrants]
    best = field.entrants[0]
    plain: dict[str, Any] = {
        "schema": SCHEMA,
        "dataset": asdict(best.run.dataset),
        "truth": best.row.truth,
        "protocol": best.row.protocol,
        "measure": field.measure,
        "k": field.k,
        "queries": best.row.queries,
        "chance": compared.chance,
        "rows": [
            {"name": e.name, "model": e.row.model, "dimension": e.row.dimension,
             "text": e.row.text, "run": e.run.id, "score": score}
            for e, score in zip(field.entrants, compared.scores, strict=True)
        ],
        "family": "all pairs" if compared.all_pairs else "each against the best",
        "comparisons": [_comparison(pair, names) for pair in compared.comparisons],
        "not_told_from_the_best": [e.name for e in compared.group],
        "tau": {str(k): tau for k, tau in compared.tau.items()},
        "pair": [names[i] for i in page.pair],
        "examples": [asdict(example) for example in page.examples],
        "notes": list(page.notes),
    }  # fmt: skip
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def _comparison(pair: Comparison, names: Sequence[str]) -> dict[str, Any]:
    plain = asdict(pair) | {"first": names[pair.first], "second": names[pair.second]}
    plain["p_holm"], plain["rbo"] = plain.pop("adjusted"), plain.pop("overlap")
    return plain | {"identical": pair.identical, "told_apart": pair.told_apart}
