"""An index study as a table, and what it comes to in sentences."""

from collections.abc import Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any

from recdemo.index_study import StudyRow
from recdemo.report.columns import Column, span
from recdemo.scoring.statistics import intervals

KEPT = 0.99  # of the best exact recall: what counts as good enough


def columns(rows: Sequence[StudyRow]) -> list[Column]:
    """Return the table, one row for each layout and way to search."""
    k = rows[0].k

    def column(title: str, numeric: bool, cells: Sequence[str], rank: int = 0) -> Column:
        return Column(title, numeric, tuple(cells), rank)

    one_model = len({row.model for row in rows}) == 1
    return [
        column("Model", False, [row.model for row in rows], 7 if one_model else 0),
        column("Dim", True, [str(row.dimension) for row in rows]),
        column("Search", False, [row.way for row in rows]),
        column("Of exact", True, [f"{row.of_exact:.4f}" for row in rows]),
        column(f"Recall@{k}", True, [f"{row.recall:.4f}" for row in rows]),
        column("95 %", True, [span(row.interval) for row in rows], 2),
        column("B/item", True, [f"{row.bytes_per_item:,.0f}" for row in rows]),
        column("Queries/s", True, [f"{row.per_second:,.0f}" for row in rows]),
        column("p50 ms", True, [f"{row.p50:.2f}" for row in rows], 3),
        column("p95 ms", True, [f"{row.p95:.2f}" for row in rows], 1),
        column("Disk B/item", True, [f"{row.disk_bytes_per_item:,.0f}" for row in rows], 5),
        column("Build s", True, [f"{row.build_seconds:.1f}" for row in rows], 4),
        column("Indexed", True, [f"{row.indexed:,}" for row in rows], 6),
    ]


def record(row: StudyRow) -> dict[str, Any]:
    """Return a row as plain values, without the scores per query."""
    names = (each.name for each in fields(StudyRow) if each.name != "scores")
    return {name: getattr(row, name) for name in names}


def sentences(rows: Sequence[StudyRow]) -> list[str]:
    """Say which rows are good enough, and what fewer bytes cost."""
    exact = [row for row in rows if row.m is None]
    best = max(exact, key=lambda row: row.recall)
    told = [
        f"{best.queries:,} query items; chance: Recall@{best.k} {best.chance:.4f}; times are of "
        "single queries on a warm collection, one after the other, from question to answer.",
        _enough(rows, best),
        *_halves(rows, exact),
        *_warnings(rows),
    ]
    return [each for each in told if each]


def _enough(rows: Sequence[StudyRow], best: StudyRow) -> str:
    """Name the row with the fewest bytes that surely keeps nearly all of the best exact recall."""
    exact = f"the best exact Recall@{best.k} ({best.recall:.4f}, {best.dimension} numbers in full"
    if best.interval is None:
        return f"{best.queries:,} query items are too few to say what keeps {exact})."
    if best.interval[0] <= best.chance:
        return f"There is nothing to keep of {exact}): that is no better than chance."
    kept = [row for row in rows if _keeps(row, best)]
    least = min(kept, key=lambda row: (row.bytes_per_item, -row.recall))
    if least is best:
        return (
            f"Nothing smaller surely keeps {100 * KEPT:.0f} % of {exact}, "
            f"{best.bytes_per_item:,.0f} bytes per item)."
        )
    return (
        f"{100 * KEPT:.0f} % of {exact}) is kept with the fewest bytes by {_name(least)} "
        f"({least.way}): {least.recall:.4f} at {least.bytes_per_item:,.0f} bytes per item instead "
        f"of {best.bytes_per_item:,.0f}."
    )


def _keeps(row: StudyRow, best: StudyRow) -> bool:
    """Tell whether at most a hundredth is lost, by the lower end of the paired 95 % interval."""
    if row is best:
        return True
    ends = _difference(row, best)
    return ends is not None and ends[0] >= (KEPT - 1) * best.recall


def _difference(a: StudyRow, b: StudyRow) -> tuple[float, float] | None:
    """Return the 95 % interval of how much more *a* finds, on the same items."""
    [ends] = intervals((a.scores - b.scores)[:, None])
    return ends


def _against(a: StudyRow, b: StudyRow) -> str:
    ends = _difference(a, b)
    if ends is not None and ends[0] > 0:
        return "finds more than"
    return "finds less than" if ends is not None and ends[1] < 0 else "cannot be told from"


def _halves(rows: Sequence[StudyRow], exact: Sequence[StudyRow]) -> list[str]:
    """Set the quantized copy of a long vector against a shorter vector of about its size."""
    found = []
    for model, own in groupby(exact, key=lambda row: row.model):
        full = list(own)
        largest = max(full, key=lambda row: row.dimension)
        for row in rows:
            same = (row.model, row.dimension) == (model, largest.dimension)
            shorter = [each for each in full if each.dimension < largest.dimension]
            if not (same and row.rescored and shorter):
                continue
            near = min(shorter, key=lambda each: abs(each.bytes_per_item - row.bytes_per_item))
            found.append(
                f"{_name(row)} in {row.quantization} quantization ({row.recall:.4f}, "
                f"{row.bytes_per_item:,.0f} bytes) {_against(row, near)} {near.dimension} in full "
                f"({near.recall:.4f}, {near.bytes_per_item:,.0f} bytes)."
            )
    return found


def _warnings(rows: Sequence[StudyRow]) -> list[str]:
    told = []
    if any(row.quantization == "binary" for row in rows):
        told.append(
            "binary: one bit a number orders by angle, not by Euclidean distance; without "
            "rescoring its order is rough (qdrant/qdrant#10607)."
        )
    slow = [row for row in rows if row.m is not None]
    exact = {(row.model, row.dimension): row for row in rows if row.m is None}
    if all(row.p50 >= 0.8 * exact[(row.model, row.dimension)].p50 for row in slow):
        told.append(
            f"At {max(row.indexed for row in slow):,} items the exact search is as fast as any "
            "index; indexes pay for larger catalogs."
        )
    return told


def _name(row: StudyRow) -> str:
    return f"{row.model}@{row.dimension}"
