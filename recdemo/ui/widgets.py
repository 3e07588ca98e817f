"""What the main screen consists of: the item, and a pane per model."""

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import ProgressBar, Static

from recdemo.ui.cells import clean
from recdemo.ui.services import Facts, Item, Line, Opinion, TruthList
from recdemo.ui.sheet import Head, Sheet

IN_TRUTH = "✓"
ONLY_HERE = "+"
MARKS = f"""\
{IN_TRUTH}   in the truth list of this item: the items whose users overlap most with its own
vs  the rank of the item in the other list; {ONLY_HERE}: only this side recommends it"""

_WIDE, _WIDEST = 44, 74  # widths of a table from which on it tells more


def _heads(item_word: str, ranks: Sequence[str], tail: Sequence[Head]) -> list[Head]:
    return [
        Head("#", 4, right=True),
        Head("", 2),
        *(Head(title, 4, right=True) for title in ranks),
        Head(item_word, 3, grows=True),
        Head("Year", 5),
        Head("Director", 2, least=_WIDE + 6 * len(tail) - 6, grows=True),
        Head("Genre", 2, least=_WIDEST, grows=True),
        *tail,
    ]


class ItemCard(Static):
    """The item that is looked at."""

    def __init__(self) -> None:
        super().__init__(id="item", markup=False)

    def show(self, item: Item) -> None:
        """Show an item: title, year, who made it, how many touched it, what it is about."""
        line = item.line
        title = clean(line.title) + (f" ({clean(line.year)})" if line.year else "")
        facts = [clean(line.directors), clean(line.genres), f"{item.users:,} users"]
        text = Text(title, style="bold")
        text.append("  " + " · ".join(part for part in facts if part), style="not bold")
        text.append("\n" + (clean(item.synopsis) or "no text"), style="not bold")
        self.update(text)


class ModelPane(Vertical):
    """One side: a model, or the truth, and what it recommends."""

    def __init__(self, side: str) -> None:
        super().__init__(id=side)
        self.side = side
        self.item_word = "Item"
        self.opinion: Opinion | None = None
        self.rows: list[int] = []  # of the catalog, as the table shows them

    def compose(self) -> ComposeResult:
        """Lay out the name, what it says of itself, a bar and the table."""
        yield Static(classes="name", markup=False)
        yield Static(classes="note", markup=False)
        yield ProgressBar(show_eta=False)
        yield Sheet(id=f"{self.side}-table")

    @property
    def table(self) -> Sheet:
        """The table of the pane."""
        return self.query_one(Sheet)

    def entitle(self, name: str) -> None:
        """Show the name of the model."""
        self.query_one(".name", Static).update(Text(clean(name), no_wrap=True, overflow="ellipsis"))

    def say(self, text: str) -> None:
        """Show a sentence under the name."""
        self.query_one(".note", Static).update(Text(clean(text)))

    def progress(self, done: int | None, total: int | None = None) -> None:
        """Show how far a collection is; None hides the bar."""
        bar = self.query_one(ProgressBar)
        bar.display = done is not None
        if done is not None:
            bar.update(total=total or None, progress=done)

    def empty(self) -> None:
        """Show no recommendations."""
        self.opinion = None
        self._fill([], [], [], [])

    def show(self, opinion: Opinion, other: Opinion | None) -> None:
        """Show what the model recommends, and where the other model has it."""
        self.opinion = opinion
        ranks = _ranks(other)
        lines = []
        for rank, item in enumerate(opinion.items, 1):
            mark = IN_TRUTH if item.in_truth else ""
            there = str(ranks.get(item.line.row, ONLY_HERE)) if other is not None else ""
            lines.append((str(rank), mark, there, *_line(item.line), _short(item.distance)))
        rows = [item.line.row for item in opinion.items]
        self._fill(rows, ["vs"], [Head("d", 6, right=True)], lines)
        self.say(_summary(opinion))

    def show_truth(self, truth: TruthList, left: Opinion | None, right: Opinion | None) -> None:
        """Show the truth list, and where the two models have its items."""
        self.opinion = None
        ranks = (_ranks(left), _ranks(right))
        lines = []
        for rank, item in enumerate(truth.items, 1):
            found = [str(each.get(item.line.row, "-")) for each in ranks]
            users = "" if item.users is None else f"{item.users:,}"
            mark = IN_TRUTH if any(item.line.row in each for each in ranks) else ""
            lines.append((str(rank), mark, *found, *_line(item.line), _short(item.overlap), users))
        tail = [
            Head(truth.overlap[:7], 8, right=True),
            Head("both", 6, least=_WIDE, right=True),
        ]
        self._fill([item.line.row for item in truth.items], ["L", "R"], tail, lines)
        self.say(truth.reason or "L, R: ranks left and right; both: users")

    def _fill(
        self,
        rows: list[int],
        ranks: Sequence[str],
        tail: Sequence[Head],
        lines: Sequence[tuple[str, ...]],
    ) -> None:
        """Fill the table; where it has the same items, with other marks, the cursor stays."""
        stay, self.rows = rows == self.rows, rows
        self.table.fill(_heads(self.item_word, ranks, tail), lines, stay)


def _line(line: Line) -> tuple[str, ...]:
    return (line.title, line.year, line.directors, line.genres)


def _short(value: float) -> str:
    """Return a number in five columns: as many digits behind the point as fit."""
    digits = max(0, 3 - len(str(int(value))) + 1)
    return f"{value:.{digits}f}"


def _ranks(opinion: Opinion | None) -> dict[int, int]:
    if opinion is None:
        return {}
    return {item.line.row: rank for rank, item in enumerate(opinion.items, 1)}


def _summary(opinion: Opinion) -> str:
    if not opinion.has_truth:
        return "no truth list, so nothing is marked"
    found = sum(item.in_truth for item in opinion.items)
    recall = "" if opinion.recall is None else f" · recall@{opinion.recall_k} {opinion.recall:.2f}"
    return f"{found} of {len(opinion.items)} in the truth{recall}"


def top_line(facts: Facts) -> str:
    """Return what is looked at in one line."""
    items = f"{facts.n_items:,} {facts.item_word.lower()}s"
    return " · ".join((facts.dataset, items, facts.text, facts.store))
