"""What the terminal UI needs of the rest: plain values and calls. It knows nothing else.

Calls may wait for disk or network, so the UI makes them in threads only. What a user can fix is
a `recdemo.errors.RecdemoError`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]  # done, total; may raise `Stopped`
Steps: TypeAlias = Callable[[str, int, int], None]  # step, done, total; may raise `Stopped`
Notice: TypeAlias = Callable[[str], None]


class Stopped(Exception):
    """Nobody wants the answer any more; raised by a progress callback, through the work."""


class MustAsk(Exception):
    """Money would be spent; the text is the question that a person has to answer first."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is looked at."""

    dataset: str
    n_items: int
    item_word: str  # head of the column of titles: Movie
    store: str
    text: str  # what is embedded
    left: str  # models that are shown when nothing else is asked for
    right: str | None
    no_evaluation: str = ""  # why nothing can be evaluated


@dataclass(frozen=True, slots=True)
class Line:
    """An item in a list."""

    row: int
    title: str
    year: str = ""
    directors: str = ""
    genres: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """An item by itself."""

    line: Line
    synopsis: str  # or whatever is embedded; "" where there is none
    users: int  # who touched it


@dataclass(frozen=True, slots=True)
class Found:
    """What a query finds."""

    lines: tuple[Line, ...]
    total: int  # without the limit
    exact: bool  # False: nothing holds the words, these are spelled nearly so


@dataclass(frozen=True, slots=True)
class Neighbor:
    """An item that a model recommends."""

    line: Line
    distance: float
    in_truth: bool


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a model recommends for an item, best first."""

    row: int
    items: tuple[Neighbor, ...]
    has_truth: bool  # False: the item has no truth list, so no mark means nothing
    recall: float | None = None  # of this item; None: it is no query
    recall_k: int = 100


@dataclass(frozen=True, slots=True)
class Shared:
    """An item of a truth list."""

    line: Line
    overlap: float
    users: int | None  # who touched both; None where the overlap does not tell


@dataclass(frozen=True, slots=True)
class TruthList:
    """The items whose users overlap most with those of one item."""

    row: int
    overlap: str  # jaccard
    items: tuple[Shared, ...]
    reason: str = ""  # why it is empty


@dataclass(frozen=True, slots=True)
class Choice:
    """A model that can be chosen, or could be."""

    model: str  # provider:name@dimension
    state: str  # "at hand", "can be built", or why not and what to do
    usable: bool = True


@dataclass(frozen=True, slots=True)
class Point:
    """A score at one dimension."""

    dimension: int
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """The scores of one model by ascending dimension."""

    label: str
    points: tuple[Point, ...]
    published: bool = False


@dataclass(frozen=True, slots=True)
class Level:
    """A score that holds for every dimension: chance, or a ceiling."""

    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Results:
    """An evaluation."""

    title: str
    heads: tuple[str, ...]
    numeric: tuple[bool, ...]
    ranks: tuple[int, ...]  # where there is little room, columns with the largest go first
    rows: tuple[tuple[str, ...], ...]
    models: tuple[str, ...]  # provider:name@dimension of each row
    measure: str  # Recall@100
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class Services:
    """All that the UI can ask for."""

    open: Callable[[], Facts]  # the first call; the others wait for nothing it has not read
    search: Callable[[str, int], Found]  # query, limit
    item: Callable[[int], Item]
    # model, progress, notices, may it cost money; returns the model with its dimension.
    # Builds the collection that is missing; raises `MustAsk` before it spends anything.
    prepare: Callable[[str, Progress, Notice, bool], str]
    # prepared model, row, k; notices, while another process or a server is waited for
    recommend: Callable[[str, int, int, Notice], Opinion]
    truth: Callable[[int, int], TruthList]  # row, k
    choices: Callable[[], tuple[Choice, ...]]  # at once
    more_choices: Callable[[], tuple[Choice, ...]]  # asks servers which models they have
    results: Callable[[], Results | None]  # of the latest evaluation
    evaluate: Callable[[Steps], None]
    state: Callable[[], Path | None]  # where the UI remembers what it showed; None: nowhere
