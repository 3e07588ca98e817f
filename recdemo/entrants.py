"""The rows that are held against each other: chosen from runs, named apart, and comparable."""

import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recdemo.embedding.baseline import BEHAVIOR
from recdemo.errors import DatasetError
from recdemo.runs import Row, Run
from recdemo.scoring.sampling import Strata

MEASURES = {"recall": "Recall", "ndcg": "nDCG"}
_SHORTEST = 100  # truth lists are at least this long, whatever the K of a run
_ANY = "any"  # the text of a row that reads none


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rows of runs are meant; what is empty leaves all."""

    models: tuple[str, ...] = ()  # provider:name, or with @dimension or @D1,D2
    texts: tuple[str, ...] = ()
    truth: str | None = None
    protocol: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Entrant:
    """One row with the run it comes from and a name that no other has."""

    name: str  # provider:name@dimension, and what else tells it apart
    row: Row
    run: Run

    @property
    def looks_at_behavior(self) -> bool:
        """Whether it is a baseline that knows what the truth is made of."""
        return BEHAVIOR in self.row.note

    def values(self, measure: str, k: int) -> NDArray[np.float64]:
        """Return the scores per query, ``(q,)``; *measure* is ``recall`` or ``ndcg``."""
        scores = self.row.scores
        if scores is None or k not in scores.ks:
            raise ValueError(f"{self.name} has no scores per query at {k}")
        values: NDArray[np.float64] = getattr(scores, measure)[:, scores.ks.index(k)]
        return values

    def chance(self, measure: str, k: int) -> float | None:
        """Return what a model that knows nothing scores; None where that is not known.

        For the overlap protocol nDCG has the chance of recall: exactly where the truth lists
        are full, and within 1e-4 on MovieLens 1M.
        """
        own = self.row.chance.get(f"{measure}@{k}")
        if own is not None or self.row.protocol != "overlap":
            return own
        facts = self.run.truths.get(self.row.truth)
        return (facts.chance if facts else self.run.chance).get(k)


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Rows that may be compared, best first, and by what."""

    entrants: tuple[Entrant, ...]
    measure: str  # recall or ndcg
    k: int
    repeated: int = 0  # rows that several runs hold with the same scores; taken once

    @property
    def title(self) -> str:
        """The measure as in a heading: ``Recall@100``."""
        return f"{MEASURES[self.measure]}@{self.k}"

    @property
    def unit(self) -> str:
        """What is asked for: ``items``, sampled or all, or ``users`` of the one-shot protocol."""
        if self.entrants[0].row.protocol != "overlap":
            return "users"
        return "items" if self.strata is None else "sampled items"

    @property
    def strata(self) -> Strata | None:
        """How the queries were drawn; None where they are all."""
        return self.entrants[0].row.known_scores.strata

    def values(self) -> NDArray[np.float64]:
        """Return the scores per query, ``(q, rows)``."""
        return np.column_stack([e.values(self.measure, self.k) for e in self.entrants])

    def find(self, name: str) -> int:
        """Return the place of the row that *name* means; several or none is a `DatasetError`."""
        exact = [i for i, e in enumerate(self.entrants) if e.name == name]
        found = exact or [i for i, e in enumerate(self.entrants) if _is_model(e.row, name)]
        if len(found) == 1:
            return found[0]
        names = ", ".join(e.name for e in self.entrants)
        count = f"{len(found)} rows fit" if found else "no row fits"
        raise DatasetError(f"{count} {name!r}; expected one of {names}")


def open_field(
    runs: Sequence[Run],
    choice: Choice | None = None,
    measure: str | None = None,
    k: int | None = None,
) -> Field:
    """Choose rows of runs, and refuse to hold against each other what asks different things.

    Args:
        measure: ``recall`` or ``ndcg``; by default that of the protocol.
        k: by default the one that the runs are sorted by.
    """
    chosen = _choose(runs, choice or Choice())
    _check_same("truth", chosen, lambda e: e.row.truth, "choose one with --truth")
    _check_same("protocol", chosen, lambda e: e.row.protocol, "choose one with --protocol")
    measure = measure or ("recall" if chosen[0].row.protocol == "overlap" else "ndcg")
    k = _check_k(chosen, k)
    _check_questions(chosen)
    different = _once(chosen, measure, k)
    ordered = sorted(different, key=lambda e: -float(e.values(measure, k).mean()))
    return Field(_named(ordered), measure, k, len(chosen) - len(different))


def _choose(runs: Sequence[Run], choice: Choice) -> list[Entrant]:
    rows = [Entrant("", row, run) for run in runs for row in run.rows]
    ids = ", ".join(run.id for run in runs)
    for model in choice.models:
        if not any(_is_model(e.row, model) for e in rows):
            labels = ", ".join(dict.fromkeys(e.row.label for e in rows))
            raise DatasetError(f"no row of {model!r} in {ids}; there is {labels}")
    chosen = [e for e in rows if _is_chosen(e.row, choice)]
    if not chosen:
        kinds = dict.fromkeys(f"{e.row.text}, {e.row.truth or 'no truth lists'}, {e.row.protocol}"
                              for e in rows)  # fmt: skip
        raise DatasetError(
            f"no row in {ids} has the chosen text, truth and protocol; there is {'; '.join(kinds)}"
        )
    return chosen


def _is_chosen(row: Row, choice: Choice) -> bool:
    return (
        (not choice.models or any(_is_model(row, model) for model in choice.models))
        and (not choice.texts or row.text in (*choice.texts, _ANY))
        and choice.truth in (None, row.truth)
        and choice.protocol in (None, row.protocol)
    )


def _is_model(row: Row, name: str) -> bool:
    model, _, dimensions = name.partition("@")
    wanted = [part.strip() for part in dimensions.split(",")] if dimensions else []
    return row.model == model and (not wanted or str(row.dimension) in wanted)


def _check_same(
    what: str, entrants: Sequence[Entrant], key: Callable[[Entrant], object], remedy: str = ""
) -> None:
    """Refuse rows that differ in *key*, naming one of each."""
    found: dict[object, Entrant] = {}
    for entrant in entrants:
        found.setdefault(key(entrant), entrant)
    if len(found) < 2:
        return
    (one, a), (other, b), *_ = found.items()
    where = "" if a.run.id == b.run.id else f" (runs {a.run.id} and {b.run.id})"
    end = f"; {remedy}" if remedy else ""
    raise DatasetError(
        f"cannot compare rows of different {what}: {a.row.label} has {one}, "
        f"{b.row.label} has {other}{where}{end}"
    )


def _check_k(entrants: Sequence[Entrant], k: int | None) -> int:
    shared = set.intersection(*(set(e.row.recall) for e in entrants))
    known = ", ".join(map(str, sorted(shared))) or "none"
    if k is not None:
        if k not in shared:
            raise DatasetError(f"not all rows have K = {k}; all have {known}")
        return k
    _check_same("K", entrants, lambda e: e.run.headline, f"with --k, all have {known}")
    k = entrants[0].run.headline
    return k if k in shared else max(entrants[0].row.recall)


def _check_questions(entrants: Sequence[Entrant]) -> None:
    """Refuse rows of another data set, truth lists or query items."""
    for entrant in entrants:
        if entrant.row.scores is None:
            raise DatasetError(
                f"run {entrant.run.id} has no values per item for {entrant.row.label}: the .npz "
                "beside it is gone; evaluate again"
            )
    _check_same("catalog", entrants, lambda e: _facts(e.run))
    for name in dict.fromkeys(name for e in entrants for name in e.run.hashes):
        _check_hash(name, entrants)
    remedy = "evaluate both with the same --sample, or both without"
    _check_same("query items", entrants, lambda e: _queries(e.row), remedy)


def _check_hash(name: str, entrants: Sequence[Entrant]) -> None:
    """Refuse rows whose runs hold another hash of the same; texts may differ.

    The hash of truth lists covers as many places as were built, so only those of the same
    length can be held against each other.
    """
    what, _, which = name.partition(" ")
    if what == "texts" or (what == "truth" and which != entrants[0].row.truth):
        return
    groups: dict[int, list[Entrant]] = {}
    for entrant in entrants:
        if name in entrant.run.hashes:
            length = max(_SHORTEST, *entrant.run.ks) if what == "truth" else 0
            groups.setdefault(length, []).append(entrant)
    label = "truth lists" if what == "truth" else name
    for group in groups.values():
        _check_same(label, group, lambda e: f"those of hash {e.run.hashes[name][:8]}")


def _facts(run: Run) -> str:
    facts = run.dataset
    return (
        f"{facts.name} with {facts.items:,} items, {facts.rated:,} of them rated, "
        f"{facts.users:,} users and {facts.interactions:,} interactions"
    )


def _queries(row: Row) -> str:
    queries = np.zeros(0) if row.scores is None else row.scores.queries
    return f"{len(queries):,} (checksum {zlib.crc32(queries.tobytes()):08x})"


def _once(entrants: Sequence[Entrant], measure: str, k: int) -> list[Entrant]:
    """Leave out a row that an earlier run holds with the same scores.

    Within a run nothing is left out, so that a model named twice stands against itself.
    """
    kept: list[Entrant] = []
    for entrant in entrants:
        own = entrant.values(measure, k)
        if not any(
            entrant.run is not other.run
            and entrant.row.fingerprint == other.row.fingerprint
            and np.array_equal(own, other.values(measure, k))
            for other in kept
        ):
            kept.append(entrant)
    return kept if len(kept) > 1 else list(entrants)


def _named(entrants: Sequence[Entrant]) -> tuple[Entrant, ...]:
    """Name every row by its label and as little else as tells all of them apart."""
    texts = len({e.row.text for e in entrants if e.row.text != _ANY}) > 1
    names = [
        f"{e.row.label} {e.row.text}" if texts and e.row.text != _ANY else e.row.label
        for e in entrants
    ]
    for more in (_prefix, _run_id):
        names = _apart(names, [more(e) for e in entrants])
    seen: Counter[str] = Counter()
    result = []
    for name, entrant in zip(names, entrants, strict=True):
        seen[name] += 1
        own = name if seen[name] == 1 else f"{name} #{seen[name]}"
        result.append(replace(entrant, name=own))
    return tuple(result)


def _apart(names: Sequence[str], more: Sequence[str]) -> list[str]:
    """Add *more* to names that several rows share where it differs among them."""
    pairs = list(zip(names, more, strict=True))
    kinds = {name: len({own for other, own in pairs if other == name}) for name in names}
    return [f"{name} {own}" if kinds[name] > 1 else name for name, own in pairs]


def _prefix(entrant: Entrant) -> str:
    return f"prefix {entrant.row.prefix!r}" if entrant.row.prefix else "no prefix"


def _run_id(entrant: Entrant) -> str:
    return f"of {entrant.run.id}"
