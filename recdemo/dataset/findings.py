"""What can be found in a data set, how bad it is, and what evaluation does with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from recdemo.dataset.faults import Fault, Kind

SHOWN = 5  # examples of each finding


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"  # evaluation stops there
    WARNING = "warning"  # evaluation runs; the numbers may mean less than they seem to
    NOTE = "note"  # as it should be in many data sets


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of thing found in one file."""

    kind: str
    severity: Severity
    file: str  # or the text
    count: int
    examples: tuple[str, ...]  # the first ones
    effect: str  # what evaluation does


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE
KINDS: dict[str, tuple[Severity, str]] = {
    "unreadable": (_E, "stops: nothing can be read"),
    Kind.ENCODING: (_E, "stops at the first such line"),
    Kind.BROKEN: (_E, "stops at the first such row"),
    Kind.EMPTY_ID: (_E, "stops at the first such row"),
    Kind.DUPLICATE_ID: (_E, "stops at the first such row"),
    Kind.TIMESTAMP: (_E, "stops at the first such row; --timestamp '' reads without them"),
    Kind.VALUE: (_W, "pays no attention, since any value counts; stops if --min-value is given"),
    "byte-order-mark": (_N, "leaves it out"),
    Kind.BLANKS: (_N, "cuts the blanks off"),
    "ids-alike": (_W, "takes them for different items"),
    "users-alike": (_W, "takes them for different users"),
    "unknown-item": (_W, "leaves their interactions out"),
    "interaction-of-unknown-item": (_W, "leaves them out"),
    "no-interactions": (_E, "stops: without them there is no truth; 'similar' works"),
    "item-without-interactions": (_N, "neither asks for their neighbors nor lets them be found"),
    "item-with-one-user": (_N, "gives them lists full of ties; see --min-interactions"),
    "user-with-one-item": (_N, "counts them as users, though they tie no two items together"),
    "repeated-pair": (_N, "counts only the latest entry of each"),
    "left-out-by-filters": (_N, "leaves them out, as asked for"),
    "too-few-rated-items": (_E, "stops: it needs two at least"),
    "no-shared-users": (_E, "stops: no user touched two rated items, so none has a neighbor"),
    "few-rated-items": (_W, "stops unless a smaller K is given with --k"),
    "no-text": (_E, "stops: it does not know what to embed"),
    "empty-text": (_E, "stops and names the items"),
    "repeated-text": (_W, "gives them equal vectors, so a model cannot tell them apart"),
    "text-of-unknown-item": (_W, "leaves them out"),
}


class Findings:
    """Gathers findings; of each kind and file the count and the first examples.

    Args:
        place: the folder or zip; files in it are named without it.
        kinds: what differs from `KINDS`.
    """

    def __init__(self, place: str, kinds: Mapping[str, tuple[Severity, str]]) -> None:
        self._place = place
        self._kinds = {**KINDS, **kinds}
        self._counts: dict[tuple[str, str], int] = {}
        self._examples: dict[tuple[str, str], list[str]] = {}

    def add(self, kind: str, file: str, count: int, examples: Iterable[str]) -> None:
        """Add what was found; nothing where *count* is 0.

        Args:
            examples: taken from as far as there is room.
        """
        if not count:
            return
        key = (kind, file.removeprefix(self._place).lstrip("/\\"))
        self._counts[key] = self._counts.get(key, 0) + count
        kept = self._examples.setdefault(key, [])
        for example in examples:
            if len(kept) >= SHOWN:
                return
            kept.append(example)

    def on_fault(self, fault: Fault) -> None:
        """Add the fault of a line."""
        example = f"{fault.unit} {fault.line}: {fault.message}"
        self.add(fault.kind, fault.name, 1, [example])

    def sorted(self) -> tuple[Finding, ...]:
        """Return the findings, the worst first, otherwise in the order of their kinds."""
        order = list(self._kinds)
        found = [
            Finding(kind, severity, file, count, tuple(self._examples[kind, file]), effect)
            for (kind, file), count in self._counts.items()
            for severity, effect in [self._kinds[kind]]
        ]
        severities = list(Severity)
        return tuple(
            sorted(found, key=lambda f: (severities.index(f.severity), order.index(f.kind)))
        )
