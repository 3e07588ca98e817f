"""``recdemo models``: what is known of models, and which can be used right now."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recdemo.cli.options import OutputOption, RunFormat
from recdemo.cli.output import check_output
from recdemo.cli.tabular import show_table

if TYPE_CHECKING:
    from recdemo.embedding.known import KnownModel
    from recdemo.report.columns import Column

_FREE = "free"


def models(
    provider: Annotated[
        str | None, typer.Argument(help="Only openai, dashscope, ollama or local.")
    ] = None,
    format: Annotated[RunFormat, typer.Option("--format")] = RunFormat.TABLE,
    output: OutputOption = None,
) -> None:
    """Show the known models, and which of them can be used right now, or why not."""
    from recdemo.embedding.known import known_models
    from recdemo.errors import EmbeddingError

    check_output(output)
    rows = [each for each in known_models() if provider in (None, each.provider)]
    if not rows:
        known = ", ".join(dict.fromkeys(each.provider for each in known_models()))
        raise EmbeddingError(f"no known models of {provider!r}; expected {known}")
    reasons = _reasons(rows)
    records = [_record(each, reason) for each, reason in zip(rows, reasons, strict=True)]
    below = ["", *(f"{who}: {reason}" for who, reason in _grouped(rows, reasons))]
    dates = ", ".join(sorted({each.price_date for each in rows} - {""}))
    if dates:
        below.append(f"Prices: US dollars per million tokens, as of {dates}; check them.")
    below.append("Other models of these providers work too.")
    show_table(_columns(rows, reasons), records, format, output, below)


def _reasons(rows: "list[KnownModel]") -> list[str | None]:
    """Ask all providers side by side; none of them takes more than a few seconds."""
    from concurrent.futures import ThreadPoolExecutor
    from importlib import import_module

    modules = {each.provider: import_module(f"recdemo.embedding.{each.provider}") for each in rows}
    with ThreadPoolExecutor(max_workers=16) as pool:
        return list(pool.map(lambda each: modules[each.provider].usable(each.name), rows))


def _grouped(rows: "list[KnownModel]", reasons: list[str | None]) -> list[tuple[str, str]]:
    """Return each reason once, with the provider where it holds for all of its models."""
    models: dict[str, list[KnownModel]] = {}
    for each, reason in zip(rows, reasons, strict=True):
        if reason is not None:
            models.setdefault(reason, []).append(each)
    found = []
    for reason, held in models.items():
        whole = {each.provider for each in held}
        if len(whole) == 1 and len(held) == sum(each.provider in whole for each in rows):
            found.append((next(iter(whole)), reason))
        else:
            found.append((", ".join(each.model for each in held), reason))
    return found


def _columns(rows: "list[KnownModel]", reasons: list[str | None]) -> "list[Column]":
    from recdemo.report.columns import Column

    return [
        Column("Model", False, tuple(each.model for each in rows)),
        Column("Usable", False, tuple("yes" if reason is None else "no" for reason in reasons)),
        Column("Dim", True, tuple(f"{each.native}" for each in rows)),
        Column("Shorter", False, tuple(map(_shorter, rows)), 2),
        Column("Context", True, tuple(map(_context, rows)), 3),
        Column("Prefix", False, tuple(map(_prefix, rows)), 1),
        Column("$/1M", True, tuple(map(_price, rows)), 1),
    ]


def _shorter(known: "KnownModel") -> str:
    """Say in a few words which shorter vectors there are."""
    if known.dimensions:
        least = min(known.dimensions)
        return f"{len(known.dimensions)} offered, from {least}"
    if not known.matryoshka:
        return "not trained for it"
    return "any" if known.smallest is None else f"from {known.smallest}"


def _context(known: "KnownModel") -> str:
    return f"{known.context:,}" if known.context else "?"


def _prefix(known: "KnownModel") -> str:
    return repr(known.prefix) if known.prefix else "-"


def _price(known: "KnownModel") -> str:
    from recdemo.embedding.known import price_of

    price = price_of(known.provider, known)
    return "?" if price is None else f"{price:g}" if price else _FREE


def _record(known: "KnownModel", reason: str | None) -> dict[str, Any]:
    from recdemo.embedding.known import price_of

    return {
        "model": known.model,
        "usable": reason is None,
        "reason": reason,
        "dimension": known.native,
        "default_dimension": known.default or known.native,
        "dimensions": list(known.dimensions),
        "matryoshka": known.matryoshka,
        "smallest_dimension": known.smallest,
        "context": known.context,
        "prefix": known.prefix,
        "price_per_million": price_of(known.provider, known),
        "price_date": known.price_date,
        "source": known.source,
    }
