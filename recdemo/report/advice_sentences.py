"""Advice in plain sentences, with the figures."""

from collections.abc import Sequence

from recdemo.advise import Advice, Candidate, Gap, Shortening

OVERHEAD = 1.5  # Qdrant's rule of thumb: memory in use over the bytes of the vectors


def heading(advice: Advice) -> str:
    """Say what the advice rests on, and what "not worse" means."""
    entrant = advice.field.entrants[0]
    row, run = entrant.row, entrant.run
    what = f"{row.queries:,} {advice.field.unit}"
    truth = f", truth: {row.truth}" if row.truth else ""
    return (
        f"{advice.field.title} over {what} of {run.dataset.name}{truth}, protocol: "
        f"{row.protocol}, run: {run.id}. Differences stand with their paired 95 % interval in "
        f"brackets; not worse: its lower end is above -{advice.margin:g}, a margin to be chosen "
        "before looking."
    )


def sentences(advice: Advice, counts: Sequence[int]) -> list[str]:
    """Return the advice, the most important sentence first."""
    if advice.reason:
        return [f"Nothing can be told: {advice.reason}.", *_baseline(advice), *_behavior(advice)]
    lines = [*_first(advice), *_baseline(advice)]
    lines += [_shortening(short, advice) for short in advice.shortenings if _is_told(short)]
    lines += [*_smallest(advice), *_cheapest(advice), *_memory(advice, counts), *_time(advice)]
    return [*lines, *_behavior(advice)]


def _first(advice: Advice) -> list[str]:
    """Name the best model; where a baseline is ahead of it, that comes first."""
    model, baseline = advice.best_model, advice.best_baseline
    if model is None:
        return ["Only baselines were evaluated, so there is no model to choose yet."]
    if baseline is None or baseline.gap.difference <= 0:
        return [f"The best model is {_scored(model)}."]
    if not _surely_ahead(baseline.gap):
        return [
            f"A free baseline cannot be told from the best model: {_scored(baseline)} and "
            f"{_scored(model)} differ by {_gap(baseline.gap)}."
        ]
    return [
        f"A free baseline beats every model: {_scored(baseline)}, against {_scored(model)}, the "
        f"best model; the difference is {_gap(baseline.gap)}. By this measure no model here is "
        "worth its vectors."
    ]


def _surely_ahead(gap: Gap) -> bool:
    return gap.interval is not None and gap.interval[0] > 0


def _baseline(advice: Advice) -> list[str]:
    """Say how far free baselines get, wherever the first sentence has not."""
    model, baseline = advice.best_model, advice.best_baseline
    if baseline is None:
        return [
            "No free baseline was evaluated, and no model should be judged without one: add "
            "baseline:genre-year or baseline:lsa."
        ]
    if model is None:
        return [f"The best free baseline is {_scored(baseline)}."]
    if baseline.gap.difference > 0 and not advice.reason:
        return []
    return [
        f"The best free baseline, {_scored(baseline)}, differs from the best model by "
        f"{_gap(baseline.gap)}."
    ]


def _scored(candidate: Candidate) -> str:
    return f"{candidate.name} ({candidate.score:.4f})"


def _gap(gap: Gap) -> str:
    if gap.interval is None:
        return f"{gap.difference:+.4f} (too few items for an interval)"
    return f"{gap.difference:+.4f} [{gap.interval[0]:+.4f}, {gap.interval[1]:+.4f}]"


def _is_told(short: Shortening) -> bool:
    """Tell models whose dimension can be chosen from random vectors, which teach nothing."""
    return short.best.entrant.row.model != "baseline:random"


def _shortening(short: Shortening, advice: Advice) -> str:
    """Say how small one model can be made."""
    best, smallest = short.best, short.smallest
    model = _family_name(best)
    if smallest is best:
        line = f"{model}: {best.dimension:,} is its best dimension ({best.score:.4f})"
        line += " and the smallest evaluated" if short.next_smaller is None else ""
    else:
        line = (
            f"{model}: {smallest.dimension:,} dimensions are not worse than {best.dimension:,}, "
            f"its best: {smallest.score:.4f} against {best.score:.4f}, {_gap(short.gap)}; "
            f"{_bytes_saved(smallest, best)}"
        )
    if short.next_smaller is None or short.next_gap is None:
        return f"{line}."
    return f"{line}; {short.next_smaller.dimension:,} would lose {_gap(short.next_gap)}."


def _family_name(candidate: Candidate) -> str:
    return candidate.name.replace(f"@{candidate.dimension}", "", 1)


def _bytes_saved(smallest: Candidate, best: Candidate) -> str:
    own, other = (c.entrant.row.bytes_per_item for c in (smallest, best))
    return f"{own:,} bytes per item instead of {other:,}"


def _smallest(advice: Advice) -> list[str]:
    lines = []
    model, baseline = advice.smallest(False), advice.smallest(True)
    if model is not None and model is advice.best_model:
        lines.append(f"No smaller model evaluated is within the margin of the best, {model.name}.")
    elif model is not None:
        lines.append(f"Over all, the smallest model not worse than the best is {_choice(model)}.")
    if baseline is not None and advice.best_model is not None:
        lines.append(
            f"The smallest free baseline not worse than the best model is {_choice(baseline)}."
        )
    return lines


def _choice(candidate: Candidate) -> str:
    size = candidate.entrant.row.bytes_per_item
    return f"{_scored(candidate)}, {_gap(candidate.gap)}: {size:,} bytes per item"


def _cheapest(advice: Advice) -> list[str]:
    cheapest = advice.cheapest()
    lines = []
    if cheapest is not None and cheapest is advice.smallest(False):
        lines.append(f"{cheapest.name} is also the cheapest such model: {_cost(cheapest)}.")
    elif cheapest is not None:
        lines.append(
            f"The cheapest model not worse than the best is {_choice(cheapest)}; {_cost(cheapest)}."
        )
    unknown = [c.name for c in advice.candidates if c.usd_per_million is None]
    if unknown:
        lines.append(
            f"Not known, as nothing was spent on it in this run: the cost of {', '.join(unknown)}."
        )
    return lines


def _cost(candidate: Candidate) -> str:
    if not candidate.usd_per_million:
        return "it runs here, so embedding is free"
    return f"USD {candidate.usd_per_million:,.2f} to embed a million items, as spent in this run"


def _choices(advice: Advice) -> list[Candidate]:
    found = (advice.best_model, advice.smallest(False), advice.best_baseline)
    return list(dict.fromkeys(c for c in found if c is not None))


def _memory(advice: Advice, counts: Sequence[int]) -> list[str]:
    """Say what the vectors of the choices above take."""
    lines = []
    for choice in _choices(advice):
        parts = [f"{decimal_bytes(4 * choice.dimension * n)} for {n:,} items" for n in counts]
        lines.append(f"{choice.name} {', '.join(parts)}")
    return [
        f"Memory for the vectors, 4 bytes x dimension x items: {'; '.join(lines)}. What Qdrant "
        f"takes in all is, as a rule of thumb, {OVERHEAD} times that."
    ]


def decimal_bytes(count: float) -> str:
    """Return a number of bytes in decimal units with three digits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 999.5:  # what three digits round to 1000 is 1 of the next unit
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def _time(advice: Advice) -> list[str]:
    shown = [
        f"{choice.name} {choice.query_ms:.2f} ms"
        for choice in _choices(advice)
        if choice.query_ms is not None
    ]
    if not shown:
        return []
    return [f"Time per query, exact search in batches on this machine: {', '.join(shown)}."]


def _behavior(advice: Advice) -> list[str]:
    """Keep what looks at behavior apart: it knows the answer, and nothing of a new item."""
    looking = [_scored(c) for c in advice.candidates if c.behavior]
    if not looking:
        return []
    return [
        f"{', '.join(looking)} looks at behavior, as the truth does, and has nothing to say about "
        "a new item; it is shown for scale and never advised."
    ]
