"""What charts of a run show, as plain series; a terminal can draw the same series its own way.

`recdemo.charts.drawing` draws them with Altair, `recdemo.charts.saving` writes files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recdemo.benchmark import ANY_TEXT
from recdemo.dimensions import SERVICE, kind_of
from recdemo.protocols import ONE_SHOT_FULL, OVERLAP
from recdemo.runs import Published, Row, Run

_BASELINE = "baseline:"
_FLOAT32 = 4  # bytes
_LONGEST = 28  # characters of a text's name in a label; a template can be much longer
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Measure:
    """The score that is drawn."""

    title: str  # as in "Recall@100"
    name: str  # recall or ndcg
    k: int
    protocol: str

    def of(self, row: Row) -> float:
        """Return the score of a row."""
        values: Mapping[int, float] = getattr(row, self.name)
        return values[self.k]

    @property
    def key(self) -> str:
        """The measure as intervals and chances are kept by, ``recall@100`` say."""
        return f"{self.name}@{self.k}"


@dataclass(frozen=True, slots=True)
class Series:
    """The scores of one model on one text, by ascending dimension."""

    model: str  # provider:name
    text: str  # name or template; "" where published
    published: bool
    dimensions: tuple[int, ...]
    values: tuple[float, ...]
    lows: tuple[float | None, ...]  # ends of the 95 % interval; None where there is none
    highs: tuple[float | None, ...]
    hows: tuple[str, ...]  # native, api, matryoshka, truncated or published
    bytes_per_item: tuple[int, ...]
    costs: tuple[float | None, ...]  # USD to embed a million items; None where unknown
    label: str  # tells it from all other series of the run

    @property
    def is_mark(self) -> bool:
        """Whether it is a free baseline of one dimension: a mark to measure the others by."""
        return self.model.startswith(_BASELINE) and len(self.values) == 1

    @property
    def short(self) -> str:
        """The label without the provider, as in ``genre-year``."""
        return self.label.partition(":")[2]


@dataclass(frozen=True, slots=True)
class Reference:
    """A level that holds for every dimension."""

    label: str
    value: float
    low: float | None = None  # ends of the 95 % interval
    high: float | None = None
    is_ceiling: bool = False


def measure_of(run: Run) -> Measure:
    """Return the score to draw: recall; for the one-shot protocol nDCG among all items."""
    k = run.headline
    if run.one_shot:
        return Measure(f"full nDCG@{k}", "ndcg", k, ONE_SHOT_FULL)
    return Measure(f"Recall@{k}", "recall", k, OVERLAP)


def series_of(run: Run) -> tuple[Series, ...]:
    """Return what a chart of the run shows: measured series best first, then published ones.

    Only rows of the first truth: scores by another one are not comparable with them.
    """
    measure, rows = measure_of(run), drawn_rows(run)
    k = measure.k
    measured: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        measured.setdefault((row.model, row.text, row.prefix), []).append(row)
    published: dict[str, list[Published]] = {}
    for stated in run.published:
        if measure.protocol == OVERLAP and k in stated.recall:
            published.setdefault(stated.model, []).append(stated)
    texts = len({row.text for row in rows}) > 1
    prefixes = len({row.prefix for row in rows}) > 1
    return (
        *(
            _measured(group, measure, run.dataset.items, _Names(texts, prefixes))
            for group in measured.values()
        ),
        *(_published(group, k) for group in published.values()),
    )


def drawn_rows(run: Run) -> list[Row]:
    """Return the rows that a chart shows: those of one truth and one protocol."""
    protocol, overlap = measure_of(run).protocol, run.rows[0].truth
    return [row for row in run.rows if row.protocol == protocol and row.truth == overlap]


@dataclass(frozen=True, slots=True)
class _Names:
    """What must be said of a series besides its model to tell it from the others."""

    texts: bool
    prefixes: bool

    def label(self, row: Row) -> str:
        parts = [row.model]
        parts += [_short(row.text)] if self.texts and row.text != ANY_TEXT else []
        parts += [f"prefix {_short(row.prefix)!r}"] if self.prefixes and row.prefix else []
        return " · ".join(parts)


def _measured(rows: Sequence[Row], measure: Measure, items: int, names: _Names) -> Series:
    rows = sorted(rows, key=lambda row: row.dimension)
    ends = [row.interval.get(measure.key) or (None, None) for row in rows]
    first = rows[0]
    return Series(
        model=first.model,
        text=first.text,
        published=False,
        dimensions=tuple(row.dimension for row in rows),
        values=tuple(measure.of(row) for row in rows),
        lows=tuple(low for low, _ in ends),
        highs=tuple(high for _, high in ends),
        hows=tuple(row.how for row in rows),
        bytes_per_item=tuple(row.bytes_per_item for row in rows),
        costs=(_cost(rows, items),) * len(rows),
        label=names.label(first),
    )


def _cost(rows: Sequence[Row], items: int) -> float | None:
    """Return what a million items cost, 0 on one's own machine.

    Vectors that come from the cache cost nothing more, so the most that any dimension has cost
    is taken, and where a service has cost nothing, what it costs is not known.
    """
    if kind_of(rows[0].model) != SERVICE:
        return 0.0
    return max(row.cost_usd or 0 for row in rows) / items * _MILLION or None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _published(rows: Sequence[Published], k: int) -> Series:
    rows = sorted(rows, key=lambda row: row.dimension)
    nothing = (None,) * len(rows)
    return Series(
        model=rows[0].model,
        text="",
        published=True,
        dimensions=tuple(row.dimension for row in rows),
        values=tuple(row.recall[k] for row in rows),
        lows=nothing,
        highs=nothing,
        hows=("published",) * len(rows),
        bytes_per_item=tuple(_FLOAT32 * row.dimension for row in rows),
        costs=nothing,
        label=f"{rows[0].model}, published",
    )


def references_of(run: Run) -> tuple[Reference, ...]:
    """Return chance and ceiling of the run, as far as they are known."""
    measure, row = measure_of(run), drawn_rows(run)[0]
    chance = row.chance.get(measure.key, run.chance.get(measure.k))
    levels = [] if chance is None else [Reference("chance", chance)]
    if run.ceiling is not None:
        lower, upper = run.ceiling.lower, run.ceiling.upper
        levels += [
            Reference("ceiling, halves", sum(lower) / len(lower), is_ceiling=True),
            Reference("ceiling, bootstrap", sum(upper) / len(upper), is_ceiling=True),
        ]
    return tuple(levels)


def describe(run: Run) -> str:
    """Say in words what the chart shows, for those who cannot see it."""
    parts = []
    for series in series_of(run):
        first, last = series.dimensions[0], series.dimensions[-1]
        text = f"{series.label} {series.values[0]:.4f} at {first}"
        parts.append(text + (f" to {series.values[-1]:.4f} at {last}" if last != first else ""))
    levels = [f"{level.label} {level.value:.4f}" for level in references_of(run)]
    return f"{measure_of(run).title} by dimension: " + "; ".join(parts + levels)


def write_chart(run: Run, path: Path) -> None:
    """Draw all charts of a run into one file: SVG, PNG or HTML, by the ending of its name."""
    from recdemo.charts.drawing import figures_of, one_below_another
    from recdemo.charts.saving import check_ending, save, save_page

    if check_ending(path) == "html":
        save_page(figures_of(run), path)
    else:
        save(one_below_another(run), path)
