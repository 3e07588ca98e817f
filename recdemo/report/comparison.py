"""From a comparison to what people read: table and Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from recdemo.answers import Disagreement, Named
from recdemo.compare import Compared, Comparison
from recdemo.dimensions import BASELINE, kind_of
from recdemo.report.columns import Column, fitting, pipes, rich_table
from recdemo.runs import Row
from recdemo.scoring.comparing import LEVEL, PERSISTENCE
from recdemo.scoring.statistics import FEWEST, RESAMPLES

TOO_FEW = "too few items"
IDENTICAL = "identical"
IN_TRUTH = "✓"


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A comparison with the queries on which a pair of rows differs most."""

    compared: Compared
    pair: tuple[int, int]  # places in the field
    examples: Sequence[Disagreement] = ()
    notes: Sequence[str] = ()


def heading(compared: Compared) -> str:
    """Say what is compared on what."""
    field = compared.field
    entrant = field.entrants[0]
    runs = ", ".join(dict.fromkeys(e.run.id for e in field.entrants))
    return (
        f"{field.title} of {len(field.entrants)} rows on the same {_queries(compared)} of "
        f"{entrant.run.dataset.name}; {_asked(entrant.row)}, run: {runs}"
    )


def _asked(row: Row) -> str:
    return f"truth: {row.truth}, protocol: {row.protocol}" if row.truth else row.protocol


def _queries(compared: Compared) -> str:
    return f"{compared.field.entrants[0].row.queries:,} {compared.field.unit}"


def columns(compared: Compared) -> list[Column]:
    """Return the table of rows, each beside its difference to the best."""
    names = [e.name for e in compared.field.entrants]
    scores = [f"{score:.4f}" for score in compared.scores]
    first = [
        Column("Model", False, tuple(names)),
        Column(compared.field.title, True, tuple(scores)),
    ]
    if compared.all_pairs:
        return first
    pairs = _pair_columns(compared.comparisons)
    best = ["best", *[""] * (len(pairs) - 1)]
    return first + [
        replace(column, cells=(top, *column.cells)) for column, top in zip(pairs, best, strict=True)
    ]


def pair_columns(compared: Compared) -> list[Column]:
    """Return the table of all pairs, where they were asked for."""
    names = [e.name for e in compared.field.entrants]
    pairs = compared.comparisons
    return [
        Column("Model", False, tuple(names[pair.first] for pair in pairs)),
        Column("minus", False, tuple(names[pair.second] for pair in pairs)),
        *_pair_columns(pairs),
    ]


def _pair_columns(pairs: Sequence[Comparison]) -> list[Column]:
    def column(title: str, cells: Iterable[str], rank: int) -> Column:
        return Column(title, True, tuple(cells), rank)

    result = [
        column("Diff", (f"{pair.difference:+.4f}" for pair in pairs), 0),
        column("95 %", map(interval, pairs), 0),
        column("p", (f"{pair.p:.4f}" for pair in pairs), 4),
        column("Holm p", (f"{pair.adjusted:.4f}" for pair in pairs), 1),
        column("Share", (_share(pair.share) for pair in pairs), 3),
        column("Better/same/worse", (_counts(pair) for pair in pairs), 5),
        column("RBO", ("-" if p.overlap is None else f"{p.overlap:.2f}" for p in pairs), 2),
    ]
    if all(pair.overlap is None for pair in pairs):
        result.pop()
    return result


def interval(pair: Comparison) -> str:
    """Return the interval of a difference as text."""
    if pair.identical:
        return IDENTICAL
    return TOO_FEW if pair.interval is None else ends(pair.interval)


def ends(interval: tuple[float, float]) -> str:
    """Return an interval of a difference as text."""
    return f"{interval[0]:+.4f}, {interval[1]:+.4f}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:+.1%}"


def _counts(pair: Comparison) -> str:
    return f"{pair.wins:,}/{pair.ties:,}/{pair.losses:,}"


def verdicts(page: Page) -> list[str]:
    """Say in sentences what follows from the table."""
    compared = page.compared
    lines = [_group(compared), *_baseline(compared)]
    names = [e.name for e in compared.field.entrants]
    lines += [
        f"{names[pair.first]} and {names[pair.second]} are identical: the same score everywhere."
        for pair in compared.comparisons
        if pair.identical
    ]
    if compared.tau:
        taus = ", ".join(f"{tau:.2f} at {k}" for k, tau in compared.tau.items())
        lines.append(
            f"Does K matter? Kendall's tau of the order of the rows with this one: {taus}."
        )
    for note in dict.fromkeys((e.row.model, e.row.note) for e in compared.field.entrants):
        lines += [f"{note[0]}: {note[1]}."] if note[1] else []
    if compared.field.repeated:
        lines.append(
            f"{compared.field.repeated} rows that several runs hold with the same scores are "
            "shown once."
        )
    return [*lines, *page.notes]


def _group(compared: Compared) -> str:
    entrants = compared.field.entrants
    best, group = entrants[0], compared.group
    if entrants[0].row.queries < FEWEST:
        return f"{_queries(compared)} are too few to say much; {FEWEST} or more give intervals."
    largest = max(pair.adjusted for pair in compared.with_best)
    if len(group) == 1:
        return (
            f"{best.name} is the best and told apart from every other row "
            f"(largest Holm p {largest:.4f})."
        )
    others = ", ".join(e.name for e in group[1:])
    return f"Cannot be told from the best, {best.name}: {others} (Holm p at least {LEVEL})."


def _baseline(compared: Compared) -> list[str]:
    """Say so where a free baseline that does not look at behavior is ahead of all models."""
    rows = list(zip(compared.field.entrants, compared.scores, strict=True))
    model = next((row for row in rows if kind_of(row[0].row.model) != BASELINE), None)
    best = next((row for row in rows if not row[0].looks_at_behavior), None)
    if model is None or best is None or best[1] <= model[1]:
        return []
    return [
        f"A free baseline, {best[0].name} ({best[1]:.4f}), is ahead of every model "
        f"(best: {model[0].name}, {model[1]:.4f})."
    ]


def legend(compared: Compared) -> str:
    """Say how the columns are defined."""
    row, field = compared.field.entrants[0].row, compared.field
    what = "first minus second row" if compared.all_pairs else "row minus the best"
    chance = "" if compared.chance is None else f" (chance: {compared.chance:.4f})"
    pairs = len(compared.comparisons)
    parts = []
    if row.protocol == "overlap":
        overlap = row.truth.replace("jaccard", "Jaccard")
        parts.append(
            f"{field.title}: the {field.k} items with the largest {overlap} overlap of users, "
            f"looked for among the {field.k} nearest."
        )
    parts += [
        f"Difference: {what}, on the same {field.unit}; 95 %: paired bootstrap. p: sign-flip "
        f"randomization, {RESAMPLES:,} flips, two-sided; Holm p: the same, corrected for {pairs} "
        f"comparison{'s' if pairs > 1 else ''}. Share: of what the best is above chance{chance}. "
        f"Better/same/worse: on how many {field.unit}."
    ]
    if any(pair.overlap is not None for pair in compared.comparisons):
        parts.append(
            f"RBO: mean rank-biased overlap of the two lists, 0 to 1, p = {PERSISTENCE} (the "
            "first 10 places have 86 % of the weight)."
        )
    parts.append(
        f"Many {field.unit} tell even small differences apart: read the difference before p."
    )
    return " ".join(parts)


def table(page: Page, width: int) -> RenderableType:
    """Return the comparison for a terminal of *width* columns."""
    compared, blank = page.compared, Text("")
    parts: list[RenderableType] = [Text(heading(compared)), blank]
    parts += [rich_table(fitting(columns(compared), width)), blank]
    if compared.all_pairs:
        parts += [rich_table(fitting(pair_columns(compared), width)), blank]
    parts += [Text(line) for line in verdicts(page)]
    if page.examples:
        parts += [blank, Text(_examples_title(page))]
        for example in page.examples:
            parts.append(Padding(Text(_example(page, example)), (0, 0, 0, 2)))
            parts += [Padding(_listed(*line), (0, 0, 0, 4)) for line in _lists(page, example)]
    return Group(*parts, blank, Text(legend(compared), style="dim"))


def _listed(name: str, items: str) -> Text:
    return Text.assemble((f"{name}: ", "bold"), items)


def _examples_title(page: Page) -> str:
    first, second = (page.compared.field.entrants[i].name for i in page.pair)
    marked = any(item.in_truth for e in page.examples for items in e.lists for item in items)
    mark = f"; {IN_TRUTH} in the truth list" if marked else ""
    return f"Where {first} and {second} differ most{mark}:"


def _example(page: Page, example: Disagreement) -> str:
    title = page.compared.field.title
    users = f"{example.users:,} user{'' if example.users == 1 else 's'}"
    return (
        f"{example.label}, {users}: {title} {example.scores[0]:.2f} against {example.scores[1]:.2f}"
    )


def _lists(page: Page, example: Disagreement) -> list[tuple[str, str]]:
    names = [page.compared.field.entrants[i].name for i in page.pair]
    shown = ["; ".join(map(_item, items)) or "nothing" for items in example.lists]
    return list(zip(names, shown, strict=True))


def _item(item: Named) -> str:
    return f"{IN_TRUTH} {item.label}" if item.in_truth else item.label


def as_markdown(page: Page) -> str:
    """Return the comparison as Markdown."""
    parts = [heading(page.compared), pipes(columns(page.compared))]
    if page.compared.all_pairs:
        parts.append(pipes(pair_columns(page.compared)))
    parts.append("\n".join(f"- {line}" for line in verdicts(page)))
    if page.examples:
        lines = []
        for example in page.examples:
            lines.append(f"- {_example(page, example)}")
            lines += [f"  - {name}: {items}" for name, items in _lists(page, example)]
        parts += [_examples_title(page), "\n".join(lines)]
    return "\n\n".join([*parts, legend(page.compared)]) + "\n"
