"""Services of the UI that answer from memory, and can be held up."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from recdemo.errors import EmbeddingError
from recdemo.ui.services import (
    Choice,
    Curve,
    Facts,
    Found,
    Item,
    Level,
    Line,
    MustAsk,
    Neighbor,
    Notice,
    Opinion,
    Point,
    Progress,
    Results,
    Services,
    Shared,
    Steps,
    TruthList,
)

TITLES = ("Ant", "Bee", "Cat", "Dog", "Eel", "Fox")
RESULTS = Results(
    title="tiny, 2026-11-30 12:00 UTC",
    heads=("Model", "Dim", "Recall@100"),
    numeric=(False, True, True),
    ranks=(0, 0, 0),
    rows=(("a:one", "8", "0.3000"), ("a:two", "16", "0.2000"), ("b:big", "1,024", "0.1000")),
    models=("a:one@8", "a:two@16", "b:big@1024"),
    measure="Recall@100",
    curves=(Curve("a:one", (Point(8, 0.3, 0.28, 0.32), Point(16, 0.2))),
            Curve("z:old, published", (Point(8, 0.15),), True)),
    levels=(Level("chance", 0.02), Level("ceiling", 0.9)),
)  # fmt: skip


class FakeServices:
    """Items in a row; a model recommends the items after the one asked about.

    Attributes:
        asked: what was asked for, in order.
        gates: a model's build or an item's answer waits for its event.
    """

    def __init__(self, titles: Sequence[str] = TITLES, state: Path | None = None) -> None:
        self.lines = [
            Line(row, title, str(1990 + row), "Ann Doe", "Drama")
            for row, title in enumerate(titles)
        ]
        self.state = state
        self.asked: list[tuple[object, ...]] = []
        self.gates: dict[object, threading.Event] = {}
        self.faults: dict[str, str] = {}
        self.latest: Results | None = RESULTS
        self.facts = Facts("tiny", len(titles), "Movie", "memory", "card", "a:one@8", "a:two@16")

    def services(self) -> Services:
        return Services(
            open=lambda: self.facts,
            search=self.search,
            item=lambda row: Item(self.lines[row], f"About {self.lines[row].title}.", 7),
            prepare=self.prepare,
            recommend=self.recommend,
            truth=self.truth,
            choices=lambda: (Choice("a:one@8", "at hand"), Choice("b:big@1024", "can be built")),
            more_choices=lambda: (Choice("c:far", "no key; set C_API_KEY", usable=False),),
            results=lambda: self.latest,
            evaluate=self.evaluate,
            state=lambda: self.state,
        )

    def search(self, query: str, limit: int) -> Found:
        self.asked.append(("search", query))
        found = [line for line in self.lines if query.lower() in line.title.lower()]
        found = found if query.strip() else []
        return Found(tuple(found[:limit]), len(found), True)

    def prepare(self, model: str, progress: Progress, notice: Notice, may_pay: bool) -> str:
        self.asked.append(("prepare", model, may_pay))
        if model in self.faults:
            raise EmbeddingError(self.faults[model])
        if model.startswith("paid:") and not may_pay:
            raise MustAsk("This costs $1. Do it?")
        if model in self.gates:
            progress(3, 10)
            self._wait(self.gates[model], lambda: progress(3, 10))
        return model

    def recommend(self, model: str, row: int, k: int, notice: Notice) -> Opinion:
        self.asked.append(("recommend", model, row, k))
        if (model, row) in self.gates:
            self.gates[model, row].wait(20)
        step = 1 if model == "a:one@8" else 2
        order = [self.lines[(row + i * step) % len(self.lines)] for i in range(1, 4)]
        items = [Neighbor(line, i / 2, i == 1) for i, line in enumerate(order, 1)]
        return Opinion(row, tuple(items[:k]), True, 0.25)

    def truth(self, row: int, k: int) -> TruthList:
        return TruthList(row, "jaccard", (Shared(self.lines[(row + 1) % len(self.lines)], 0.5, 4),))

    def evaluate(self, steps: Steps) -> None:
        self.asked.append(("evaluate",))
        steps("a:one", 1, 3)
        if "evaluate" in self.gates:
            self._wait(self.gates["evaluate"], lambda: steps("a:one", 1, 3))
        self.latest = replace(RESULTS, title="a new one")

    @staticmethod
    def _wait(gate: threading.Event, check: Callable[[], None]) -> None:
        """Wait for the gate as work does that looks now and then whether it is still wanted."""
        for _ in range(2000):
            if gate.wait(0.01):
                return
            check()
