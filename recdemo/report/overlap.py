"""What is said of an evaluation against truth lists: definition, table, notes, slices."""

from collections.abc import Iterable, Sequence

from recdemo.embedding.baseline import BEHAVIOR
from recdemo.report.columns import Column, span
from recdemo.runs import Row, Run, SampleFacts, Slice

_NAMES = {"jaccard": "Jaccard", "cosine": "cosine", "lift": "lift"}


def definition(run: Run) -> str:
    """Say in one sentence how the numbers are defined."""
    row = run.rows[0]
    return (
        f"Recall@K: share of the K items with the largest {_NAMES[row.truth]} overlap of users "
        f"that are among the K nearest by Euclidean distance; mean over "
        f"{'a sample of ' if run.sample else ''}{row.queries:,} of {run.dataset.rated:,} rated "
        f"items of {run.dataset.name}, exact search, ties shared."
    )


def columns(run: Run) -> list[Column]:
    """Return the result table, column by column; shared by all formats for people."""
    rows, k, small = run.rows, run.headline, min(run.ks)
    texts = len({row.text for row in rows}) > 1

    def numbers(title: str, values: Iterable[str], rank: int) -> Column:
        return Column(title, True, tuple(values), rank)

    result = [
        Column("Model", False, tuple(row.model for row in rows)),
        numbers("Dim", (str(row.dimension) for row in rows), 0),
        Column("How", False, tuple(row.how for row in rows), 3),
        Column("Text", False, tuple(row.text for row in rows), 0 if texts else 9),
        Column("Truth", False, tuple(row.truth for row in rows), 0 if len(run.truths) > 1 else 9),
        numbers(f"Recall@{k}", (f"{row.recall[k]:.4f}" for row in rows), 0),
        numbers("95 %", (interval(row, f"recall@{k}") for row in rows), 1),
        numbers("users SE", (_user_error(row, f"recall@{k}") for row in rows), 1),
        numbers(f"Recall@{small}", (f"{row.recall[small]:.4f}" for row in rows), 4),
        numbers("95 %", (interval(row, f"recall@{small}") for row in rows), 6),
        numbers(f"nDCG@{k}", (f"{row.ndcg[k]:.4f}" for row in rows), 2),
        numbers("B/item", (f"{row.bytes_per_item:,}" for row in rows), 5),
        *paid_columns(rows),
        numbers("embed s", (_seconds(row.seconds.embed) for row in rows), 8),
        numbers("load s", (_seconds(row.seconds.load) for row in rows), 8),
        numbers("query s", (_seconds(row.seconds.query) for row in rows), 7),
    ]
    if small == k:
        result = [c for c in result if c.rank not in (4, 6)]
    if not any(row.user_standard_error for row in rows):
        result = [c for c in result if c.title != "users SE"]
    return [c for c in result if c.rank < 9]


def paid_columns(rows: Sequence[Row]) -> list[Column]:
    """Return what the run paid for embedding, where it paid for any row."""
    if not any(row.tokens or row.cost_usd != 0 for row in rows):
        return []
    costs = ("?" if row.cost_usd is None else f"${row.cost_usd:.4f}" for row in rows)
    return [
        Column("Cost", True, tuple(costs), 3),
        Column("Tokens", True, tuple(f"{row.tokens:,}" for row in rows), 8),
    ]


def interval(row: Row, name: str) -> str:
    """Return an interval as text, ``-`` where there are too few items for one."""
    return span(row.interval.get(name))


def _user_error(row: Row, name: str) -> str:
    error = row.user_standard_error.get(name)
    return "-" if error is None else f"{error:.4f}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def notes(run: Run) -> list[str]:
    """Return what must be read with the table: chance, ceiling, baselines, what is missing."""
    k = run.headline
    lines = [f"Chance: Recall@{k} {run.chance[k]:.4f}."]
    if run.sample is not None:
        lines.insert(0, _sample(run.sample))
    for name, facts in run.truths.items():
        if facts.ceiling is not None:
            lower, upper = facts.ceiling.lower, facts.ceiling.upper
            lines.append(
                f"Ceiling ({name}): {_range(lower)} where two random halves of the users are "
                f"compared, {_range(upper)} where all users are compared with a bootstrap of them."
            )
    lines += [
        f"Kendall's tau of the orders of the models by {pair.replace('/', ' and ')}: {tau:.3f}."
        for pair, tau in run.tau.items()
    ]
    lines += _free_baselines(run)
    said = [f"{row.model}: {row.note}." for row in run.rows if row.note]
    said += [
        f"{row.label}: {row.without_vector:,} items have no vector and score 0."
        for row in run.rows
        if row.without_vector
    ]
    lines += dict.fromkeys(said)  # a model with several rows says it once
    queries = run.rows[0].queries if run.sample is None else run.sample.of
    without = run.dataset.rated - queries
    if without:
        lines.append(f"{without:,} rated items share no user with another and are no queries.")
    if any(row.user_standard_error for row in run.rows):
        n = run.settings.get("user_bootstrap")
        lines.append(
            f"users SE: standard error over {n} truths from resampled users; not an interval, "
            "since such a truth is noisier and scores lie lower."
        )
    if any(row.seconds.load is None for row in run.rows):
        lines.append("- under seconds: the collection was there already.")
    return lines


def _sample(sample: SampleFacts) -> str:
    strata = len(sample.strata)
    how = f"stratified by popularity ({strata} strata, seed" if strata > 1 else "at random (seed"
    return (
        f"Sample of {sample.n:,} of {sample.of:,} query items, {how} {sample.seed}); "
        "chance and ceiling are those of all."
    )


def _range(values: Sequence[float]) -> str:
    mean = sum(values) / len(values)
    return f"{mean:.3f} ({min(values):.3f} to {max(values):.3f} over {len(values)} seeds)"


def _free_baselines(run: Run) -> list[str]:
    """Say what a free baseline reaches, so that no model is read without it."""
    k = run.headline
    first = run.rows[0].truth  # published scores are by it, and no other truth compares with it
    free = [
        row
        for row in run.rows
        if row.model.startswith("baseline:") and row.truth == first and row.note != BEHAVIOR
    ]  # what looks at behavior has nothing to say about a new item
    if not free:
        return []
    best = max(free, key=lambda row: row.recall[k])
    if not run.published or run.sample is not None:  # published scores are those of all items
        return [f"Best free baseline: {best.model}, Recall@{k} {best.recall[k]:.4f}."]
    top = max(run.published, key=lambda row: row.recall.get(k, 0))
    beats = "beats" if best.recall[k] > top.recall[k] else "does not beat"
    return [
        f"The free {best.model} ({best.recall[k]:.4f}) {beats} every published model "
        f"(best: {top.model} at {top.dimension}, {top.recall[k]:.5f})."
    ]


def slice_tables(run: Run) -> list[tuple[str, list[Column]]]:
    """Return a table for each way to slice: a line per slice, a column per model, best first."""
    k = run.headline
    tables = []
    for by in dict.fromkeys(s.by for row in run.rows for s in row.slices):
        shown = [[s for s in row.slices if s.by == by] for row in run.rows]
        first = shown[0]
        result = [
            Column(by.capitalize(), False, tuple(s.name for s in first)),
            Column("Items", True, tuple(f"{s.queries:,}" for s in first)),
        ]
        for rank, (row, slices) in enumerate(zip(run.rows, shown, strict=True)):
            cells = tuple(_with_interval(s, k) for s in slices)
            result.append(Column(_short(row, run), True, cells, rank))
        tables.append((f"Recall@{k} by {by}, with 95 % intervals", result))
    return tables


def _with_interval(part: Slice, k: int) -> str:
    found = part.interval.get(f"recall@{k}")
    ends = "too few items" if found is None else f"{found[0]:.3f}-{found[1]:.3f}"
    return f"{part.recall[k]:.3f} {ends}"


def _short(row: Row, run: Run) -> str:
    """Name a row where space is short: without its provider."""
    texts = len({r.text for r in run.rows}) > 1
    truths = len(run.truths) > 1
    name = row.label.partition(":")[2]
    return " ".join([name, *([row.text] if texts else []), *([row.truth] if truths else [])])
