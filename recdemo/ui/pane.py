"""One side of the main screen: a model, or the truth, and what it recommends."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import ProgressBar, Static

from recdemo.ui.cells import clean
from recdemo.ui.services import Line, Opinion, TruthList
from recdemo.ui.sheet import Head, Sheet

IN_TRUTH = "✓"
ONLY_HERE = "+"
MARKS = f"""\
{IN_TRUTH}   in the truth list of this item: the items whose users overlap most with its own
vs  the rank of the item in the other list; {ONLY_HERE}: only this side recommends it"""

_TRUTH_NOTES = (
    f"L, R: ranks left and right; {IN_TRUTH} found by either; both: users in common",
    f"L, R: ranks; {IN_TRUTH} found; both: users in common",
    "L, R: ranks; both: users",
)
_WIDE, _WIDEST = 44, 74  # widths of a table from which on it tells more


def _heads(item_word: str, ranks: Sequence[str], tail: Sequence[Head], digits: int) -> list[Head]:
    width = max(3, digits + 1)
    return [
        Head("#", width, right=True, wide_only=True),
        Head("", 2),
        *(Head(title, width, right=True, wide_only=True) for title in ranks),
        Head(item_word, 6, grows=True),
        Head("Year", 5),
        Head(
            "Director", 5, least=_WIDE + 6 * len(tail) - 6, grows=True, names=True, wide_only=True
        ),
        Head("Genre", 5, least=_WIDEST, grows=True),
        *tail,
    ]


class Note(Static):
    """A sentence in more than one length; the longest that fits on a line is shown."""

    def __init__(self) -> None:
        super().__init__(classes="note", markup=False)
        self._texts: tuple[str, ...] = ("",)

    def say(self, *texts: str) -> None:
        """Show one of *texts*, which stand from long to short; a single one may be wrapped."""
        self._texts = tuple(map(clean, texts))
        self.set_class(len(texts) > 1, "-line")
        self._choose()

    def on_resize(self, event: events.Resize) -> None:
        """Choose anew."""
        self._choose()

    def _choose(self) -> None:
        width = self.content_size.width
        fitting = (text for text in self._texts if cell_len(text) <= width)
        self.update(Text(next(fitting, self._texts[-1])))


class ModelPane(Vertical):
    """One side: a model, how far its collection is, and what it recommends.

    The truth list may cover it; what happens to the model meanwhile is shown afterwards.
    """

    class Titled(Message):
        """Something else stands in the pane."""

        def __init__(self, side: str, name: str) -> None:
            super().__init__()
            self.side, self.name = side, name

    def __init__(self, side: str) -> None:
        super().__init__(id=side)
        self.side = side
        self.item_word = "Item"
        self.asked: str | None = None  # the model as asked for
        self.ready: str | None = None  # the same as prepared; None: not yet
        self.covered = False  # by the truth list
        self.opinion: Opinion | None = None  # as the table shows it
        self.about: int | None = None  # the item that the table tells about
        self.rows: list[int] = []  # of the catalog, as the table shows them
        self._note = ""  # what there is to say of the model
        self._waits = ""  # why answers take long
        self._done: tuple[int, int] | None = None  # vectors of its collection, of how many

    def compose(self) -> ComposeResult:
        """Lay out the name, what it says of itself, a bar and the table."""
        yield Static(classes="name", markup=False)
        yield Note()
        yield ProgressBar(show_eta=False)
        yield Sheet(id=f"{self.side}-table")

    def on_descendant_focus(self) -> None:
        """Show where the focus is."""
        self.add_class("-focused")

    def on_descendant_blur(self) -> None:
        """Show that it is elsewhere."""
        self.remove_class("-focused")

    @property
    def table(self) -> Sheet:
        """The table of the pane."""
        return self.query_one(Sheet)

    # --- the model ---

    def use(self, model: str | None) -> None:
        """Begin with a model; None: there is none."""
        self.asked, self.ready, self._done = model, None, None
        self._note = "preparing its collection ..." if model else ""
        self._tell()

    def building(self, model: str, done: int, total: int) -> None:
        """Show how far the collection of a model is, if that is still the one asked for."""
        if model == self.asked and self.ready is None:
            self._done = (done, total)
            self._note = f"building its collection: {done:,} vectors"
            self._tell()

    def prepared(self, asked: str, model: str) -> bool:
        """Take a model as prepared; tell whether that is still the one asked for."""
        if asked != self.asked:
            return False
        self.ready, self._done, self._note = model, None, ""
        self._tell()
        return True

    def fail(self, model: str, reason: str) -> bool:
        """Say why there is nothing to show; tell whether anybody still wants to know."""
        if model not in (self.asked, self.ready):
            return False
        self._done, self._note, self._waits = None, reason, ""
        self._tell()
        return True

    def wait(self, row: int) -> None:
        """Show nothing rather than what was said about another item than *row*."""
        if self.about not in (None, row):
            if self.covered:
                self._clear()
            else:
                self._tell()
            self._say(self._waits or "asking ...")

    def hold_up(self, model: str, reason: str) -> None:
        """Say what answers wait for, until there is one."""
        if model == self.ready:
            self._waits = reason
            if self.about is None and not self.covered:
                self._say(reason)

    def _tell(self) -> None:
        """Show the model without recommendations."""
        if self.covered:
            return
        self._entitle(self.ready or self.asked or "")
        self._say(self._note)
        bar = self.query_one(ProgressBar)
        bar.display = self._done is not None
        if self._done is not None:
            bar.update(total=self._done[1] or None, progress=self._done[0])
        self._clear()

    def _entitle(self, name: str) -> None:
        shown = Text(clean(name), no_wrap=True, overflow="ellipsis")
        self.query_one(".name", Static).update(shown)
        self.post_message(self.Titled(self.side, name))

    def _say(self, *texts: str) -> None:
        self.query_one(Note).say(*texts)

    # --- recommendations ---

    def _clear(self) -> None:
        self.opinion = self.about = None
        self._fill([], [], [], [])

    def cover(self, name: str) -> None:
        """Make room for the truth list."""
        self.covered = True
        self._entitle(name)
        self._say("")
        self.query_one(ProgressBar).display = False
        self._clear()

    def uncover(self) -> None:
        """Show the model again."""
        self.covered = False
        self._tell()

    def show(self, opinion: Opinion, other: Opinion | None) -> None:
        """Show what the model recommends, and where the other model has it."""
        self.opinion, self.about, self._waits = opinion, opinion.row, ""
        ranks = _ranks(other)
        lines = []
        for rank, item in enumerate(opinion.items, 1):
            mark = IN_TRUTH if item.in_truth else ""
            there = str(ranks.get(item.line.row, ONLY_HERE)) if other is not None else ""
            lines.append((str(rank), mark, there, *_line(item.line), _short(item.distance)))
        rows = [item.line.row for item in opinion.items]
        self._fill(rows, ["vs"], [Head("dist", 6, right=True, wide_only=True)], lines)
        only = None if other is None else sum(row not in ranks for row in rows)
        self._say(*_summaries(opinion, only))

    def show_truth(self, truth: TruthList, left: Opinion | None, right: Opinion | None) -> None:
        """Show the truth list, and where the two models have its items."""
        self.opinion, self.about = None, truth.row
        ranks = (_ranks(left), _ranks(right))
        lines = []
        for rank, item in enumerate(truth.items, 1):
            found = [str(each.get(item.line.row, "-")) for each in ranks]
            users = "" if item.users is None else f"{item.users:,}"
            mark = IN_TRUTH if any(item.line.row in each for each in ranks) else ""
            lines.append((str(rank), mark, *found, *_line(item.line), _short(item.overlap), users))
        tail = [
            Head(truth.overlap[:7], 8, right=True, wide_only=True),
            Head("both", 6, least=_WIDE, right=True, wide_only=True),
        ]
        self._fill([item.line.row for item in truth.items], ["L", "R"], tail, lines)
        self._say(*(_TRUTH_NOTES if not truth.reason else (truth.reason,)))

    def _fill(
        self,
        rows: list[int],
        ranks: Sequence[str],
        tail: Sequence[Head],
        lines: Sequence[tuple[str, ...]],
    ) -> None:
        """Fill the table; where it has the same items, with other marks, the cursor stays."""
        stay, self.rows = rows == self.rows, rows
        self.table.fill(_heads(self.item_word, ranks, tail, len(str(len(rows)))), lines, stay)


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


def _summaries(opinion: Opinion, only: int | None) -> tuple[str, ...]:
    """Say how good it is and what the marks are, from long to short."""
    recall = "" if opinion.recall is None else f"recall@{opinion.recall_k} {opinion.recall:.2f}"
    found = sum(item.in_truth for item in opinion.items)
    forms = [
        (
            f"{IN_TRUTH} {found} of {len(opinion.items)} in the truth",
            f"{ONLY_HERE} {only} only here",
        ),
        (f"{IN_TRUTH} {found} in the truth", f"{ONLY_HERE} {only} only here"),
        (f"{IN_TRUTH} {found} in truth", f"{ONLY_HERE} {only} only"),
        (f"{IN_TRUTH} {found}", f"{ONLY_HERE} {only}"),
    ]
    if not opinion.has_truth:
        recall = "no truth list, so nothing is found"
        forms = [("", there) for _, there in forms]
    return tuple(
        " · ".join(part for part in (recall, mark, there if only is not None else "") if part)
        for mark, there in forms
    )
