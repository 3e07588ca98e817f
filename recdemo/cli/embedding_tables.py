"""What embedding would take, and what it took, as tables."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recdemo.cli.options import RunFormat
from recdemo.cli.tabular import show_table

if TYPE_CHECKING:
    from recdemo.embedding.estimates import Estimate


@dataclass(slots=True)
class Done:
    """How far one model has come on one text."""

    model: str
    text: str
    texts: int = 0  # of items that have a vector now
    total: int = 0
    tokens: int = 0
    cost: float | None = 0.0  # US dollars; None: not known


def add_costs(a: float | None, b: float | None) -> float | None:
    """Add what is paid; with something unknown the sum is not known."""
    return None if a is None or b is None else a + b


def dollars(cost: float | None) -> str:
    """Return money as text, ``?`` where nobody knows."""
    return "?" if cost is None else f"${cost:.4f}"


def show_done(done: Sequence[Done], format: RunFormat, output: Path | None) -> None:
    """Show what was embedded, and what that took."""
    from recdemo.report.columns import Column

    columns = [
        Column("Model", False, tuple(row.model for row in done)),
        Column("Text", False, tuple(row.text for row in done)),
        Column("Vectors", True, tuple(f"{row.texts:,}" for row in done)),
        Column("Tokens", True, tuple(f"{row.tokens:,}" for row in done)),
        Column("Cost", True, tuple(dollars(row.cost) for row in done)),
    ]
    records = [
        {
            "model": row.model,
            "text": row.text,
            "vectors": row.texts,
            "tokens": row.tokens,
            "cost_usd": row.cost,
        }
        for row in done
    ]
    show_table(columns, records, format, output)


def show_estimates(found: "Sequence[Estimate]", format: RunFormat, output: Path | None) -> None:
    """Show what embedding would take."""
    from recdemo.report.columns import Column

    columns = [
        Column("Model", False, tuple(_with_dimensions(each) for each in found)),
        Column("To send", True, tuple(f"{each.texts:,}" for each in found)),
        Column("In cache", True, tuple(f"{each.cached:,}" for each in found)),
        Column("Tokens", True, tuple(_about(each) + f"{each.tokens:,}" for each in found)),
        Column("Requests", True, tuple(f"{each.requests:,}" for each in found)),
        Column("Cost", True, tuple(_cost(each) for each in found)),
        Column("Price of", False, tuple(each.price_date or "-" for each in found)),
    ]
    total = sum(each.cost or 0 for each in found)
    unknown = [each.model for each in found if each.cost is None]
    but = f", without {', '.join(unknown)}, whose price is not known" if unknown else ""
    below = ["", f"In all {dollars(total)}{but}. Nothing was sent."]
    if any(_about(each) for each in found):
        below.append("~ is an estimate by the bytes of the texts, rather too high than too low.")
    records = [asdict(each) | {"names": list(each.names)} for each in found]
    show_table(columns, records, format, output, below)


def _about(found: "Estimate") -> str:
    return "" if found.exact or not found.tokens else "~"


def _cost(found: "Estimate") -> str:
    return (_about(found) if found.cost else "") + dollars(found.cost)


def _with_dimensions(found: "Estimate") -> str:
    dimensions = [name.partition("@")[2] for name in found.names]
    return found.model if dimensions == [""] else f"{found.model}@{','.join(dimensions)}"
