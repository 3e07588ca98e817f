"""An index study as a table, and what it comes to in sentences."""

from collections.abc import Sequence
from itertools import groupby

from recdemo.index_study import StudyRow
from recdemo.report.columns import Column

KEPT = 0.99  # of the best exact recall: what counts as good enough


def columns(rows: Sequence[StudyRow]) -> list[Column]:
    """Return the table, one row for each layout and way to search."""
    k = rows[0].k

    def column(title: str, numeric: bool, cells: Sequence[str], rank: int = 0) -> Column:
        return Column(title, numeric, tuple(cells), rank)

    one_model = len({row.model for row in rows}) == 1
    return [
        column("Model", False, [row.model for row in rows], 6 if one_model else 0),
        column("Dim", True, [str(row.dimension) for row in rows]),
        column("Search", False, [row.way for row in rows]),
        column("Of exact", True, [f"{row.of_exact:.4f}" for row in rows]),
        column(f"Recall@{k}", True, [f"{row.recall:.4f}" for row in rows]),
        column("B/item", True, [f"{row.bytes_per_item:,.0f}" for row in rows]),
        column("Queries/s", True, [f"{row.per_second:,.0f}" for row in rows]),
        column("p50 ms", True, [f"{row.p50:.2f}" for row in rows], 2),
        column("p95 ms", True, [f"{row.p95:.2f}" for row in rows], 1),
        column("Disk B/item", True, [f"{row.disk_bytes_per_item:,.0f}" for row in rows], 4),
        column("Build s", True, [f"{row.build_seconds:.1f}" for row in rows], 3),
        column("Indexed", True, [f"{row.indexed:,}" for row in rows], 5),
    ]


def sentences(rows: Sequence[StudyRow]) -> list[str]:
    """Say which rows are good enough, and what fewer bytes cost."""
    exact = [row for row in rows if row.m is None]
    best = max(exact, key=lambda row: row.recall)
    told = [
        f"{best.queries:,} query items; times are of single queries on a warm collection, one "
        "after the other, from question to answer.",
        _enough(rows, best),
        *_halves(rows, exact),
        *_warnings(rows),
    ]
    return [each for each in told if each]


def _enough(rows: Sequence[StudyRow], best: StudyRow) -> str:
    """Name the row with the fewest bytes that keeps nearly all of the best exact recall."""
    kept = [row for row in rows if row.recall >= KEPT * best.recall]
    least = min(kept, key=lambda row: (row.bytes_per_item, -row.recall))
    if least is best:
        return (
            f"Nothing smaller keeps {100 * KEPT:.0f} % of the best exact Recall@{best.k} "
            f"({best.recall:.4f}, {_full(best)}, {best.bytes_per_item:,.0f} bytes per item)."
        )
    return (
        f"{100 * KEPT:.0f} % of the best exact Recall@{best.k} ({best.recall:.4f}, {_full(best)}) "
        f"is kept with the fewest bytes by {_name(least)} ({least.way}): {least.recall:.4f} at "
        f"{least.bytes_per_item:,.0f} bytes per item instead of {best.bytes_per_item:,.0f}."
    )


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
            better = "finds more than" if row.recall > near.recall else "finds no more than"
            found.append(
                f"{_name(row)} in {row.quantization} quantization ({row.recall:.4f}, "
                f"{row.bytes_per_item:,.0f} bytes) {better} {near.dimension} in full "
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


def _full(row: StudyRow) -> str:
    return f"{row.dimension} numbers in full"


def _name(row: StudyRow) -> str:
    return f"{row.model}@{row.dimension}"
