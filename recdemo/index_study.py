"""What approximate search costs: recall, speed and bytes of HNSW graphs and quantized copies.

The vectors of a loaded collection are copied into collections of other layouts, which are asked,
compared with the exact search, and deleted. The copies hold the rated items only: then nothing
has to be filtered, which would change how a graph is walked, and the exact search finds what an
evaluation finds. Evaluation itself stays exact.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recdemo.errors import StoreError
from recdemo.neighbors import nearest_with_ties
from recdemo.scoring.recall import score_lists
from recdemo.scoring.statistics import intervals
from recdemo.store import (
    EXACT,
    PLAIN,
    CollectionInfo,
    IntArray,
    Layout,
    Neighbors,
    Quantization,
    Search,
    VectorStore,
)
from recdemo.store.sizes import memory_per_item
from recdemo.study_copies import copied, remove_dead
from recdemo.truth import Truth

Progress: TypeAlias = Callable[[str, int, int], None]  # what is worked on, done, total
FloatArray: TypeAlias = NDArray[np.float64]

TIMED = 200  # queries whose time is taken, each on its own
SEED = 20250705
MOST_EF = 2**16  # beyond which a search of all is faster whatever the catalog


@dataclass(frozen=True, slots=True)
class Plan:
    """What a study looks at."""

    k: int
    efs: tuple[int, ...]  # candidates kept while the graph is walked, each above k
    ms: tuple[int, ...]  # links of a point
    quantizations: tuple[Quantization, ...]  # at the middle m and ef, with and without rescoring


@dataclass(frozen=True, slots=True, eq=False)
class StudyRow:
    """How one layout does, searched in one way."""

    model: str
    dimension: int
    how: str  # native, api, matryoshka or truncated
    quantization: Quantization
    m: int | None  # None: the exact search
    ef: int | None
    rescored: bool | None  # None where nothing is quantized
    k: int
    queries: int
    of_exact: float  # share of the exact K nearest that is found
    recall: float  # Recall@K by the truth
    interval: tuple[float, float] | None  # of it, 95 %; None for too few queries
    chance: float  # what Recall@K is by chance
    scores: FloatArray = field(repr=False)  # (q,) Recall@K of each query item
    per_second: float  # queries, one after the other
    p50: float  # milliseconds of a query
    p95: float
    bytes_per_item: float  # in memory: what is searched, and the links of the graph
    disk_bytes_per_item: float  # as the store tells
    build_seconds: float
    indexed: int  # vectors in the graph

    @property
    def way(self) -> str:
        """How it was searched, as in ``HNSW m 16, ef 256, scalar, rescored``."""
        if self.m is None:
            return "exact"
        parts = [f"HNSW m {self.m}", f"ef {self.ef}"]
        if self.rescored is not None:
            parts += [self.quantization, "rescored" if self.rescored else "not rescored"]
        return ", ".join(parts)


def default_efs(k: int) -> tuple[int, ...]:
    """Return the powers of two above *k*, three of them: 128, 256 and 512 for 100."""
    first: int = 2 ** k.bit_length()
    return (first, 2 * first, 4 * first)


def check_plan(plan: Plan) -> None:
    """Refuse a plan that no engine could carry out, or that would not show what it says."""
    for ef in plan.efs:
        if ef <= plan.k:
            raise StoreError(
                f"cannot find {plan.k} neighbors among {ef} candidates; give --ef numbers above "
                f"{plan.k}, as in {','.join(map(str, default_efs(plan.k)))}"
            )
        if ef > MOST_EF:
            raise StoreError(f"cannot keep {ef} candidates; give --ef numbers up to {MOST_EF}")
    for m in plan.ms:
        if not 2 <= m <= 256:
            raise StoreError(f"cannot build a graph with {m} links; give --m numbers from 2 to 256")


def study(
    store: VectorStore,
    info: CollectionInfo,
    truth: Truth,
    queries: IntArray,
    plan: Plan,
    on_progress: Progress = lambda what, done, total: None,
) -> list[StudyRow]:
    """Study one complete collection; copies are deleted whatever happens.

    Args:
        truth: lists of at least *k*.
        queries: ``(q,)`` rows of items with a truth list.

    Raises:
        StoreError: where no index was used, so that the numbers would be those of exact search.
    """
    check_plan(plan)
    remove_dead(store)
    layouts = list(_layouts(plan))
    study = _Study(store, info, truth, queries, plan)
    rows: list[StudyRow] = []
    for i, (layout, searches) in enumerate([(PLAIN, [EXACT]), *layouts]):
        on_progress(_words(layout), i, len(layouts) + 1)
        rows += study.rows(layout, searches)
    on_progress("done", len(layouts) + 1, len(layouts) + 1)
    return rows


def _layouts(plan: Plan) -> Iterator[tuple[Layout, list[Search]]]:
    if "none" in plan.quantizations:
        for m in plan.ms:
            yield Layout(m), [Search(exact=False, hnsw_ef=ef) for ef in plan.efs]
    m, ef = plan.ms[len(plan.ms) // 2], plan.efs[len(plan.efs) // 2]
    for quantization in plan.quantizations:
        if quantization != "none":
            ways = (Search(exact=False, hnsw_ef=ef, rescore=rescore) for rescore in (True, False))
            yield Layout(m, quantization=quantization), list(ways)


def _words(layout: Layout) -> str:
    quantized = "" if layout.quantization == "none" else f", {layout.quantization}"
    return "exact" if layout.m is None else f"m {layout.m}{quantized}"


class _Study:
    """One collection, and what the exact search finds in it."""

    def __init__(
        self,
        store: VectorStore,
        info: CollectionInfo,
        truth: Truth,
        queries: IntArray,
        plan: Plan,
    ) -> None:
        self._store, self._info, self._truth = store, info, truth
        self._queries, self._plan = queries, plan
        self._exact: list[Neighbors] = []
        random = np.random.default_rng(SEED)
        n_timed = min(TIMED, len(queries))
        self._timed: IntArray = np.sort(random.choice(queries, n_timed, replace=False))

    def rows(self, layout: Layout, searches: Sequence[Search]) -> Iterator[StudyRow]:
        """Copy the collection into a layout, search it in every way, and delete it again."""
        started = time.perf_counter()
        with copied(self._store, self._info, self._truth.rated, layout) as copy:
            took = time.perf_counter() - started
            status = self._store.status(copy.name)
            if layout.is_optimized and not status.indexed_vectors:
                raise StoreError(
                    f"no index was used for {self._info.model} at {self._info.dimension}: the "
                    f"store built none for {copy.count:,} vectors, so this would be the exact "
                    "search once more; study a larger collection, or a store that builds indexes"
                )
            for search in searches:
                yield self._row(layout, search, copy, took, status.bytes_on_disk)

    def _row(
        self, layout: Layout, search: Search, copy: CollectionInfo, took: float, disk: int
    ) -> StudyRow:
        plan, info = self._plan, self._info
        lists = self._lists(copy.name, search)
        if search.exact:
            self._exact = lists
        scores = score_lists(
            self._truth, self._queries, ((n.rows, n.distances) for n in lists), (plan.k,)
        )
        seconds = self._seconds(copy.name, search)
        return StudyRow(
            model=info.model,
            dimension=info.dimension,
            how=info.how,
            quantization=layout.quantization,
            m=layout.m,
            ef=search.hnsw_ef,
            rescored=search.rescore if layout.quantization != "none" else None,
            k=plan.k,
            queries=len(self._queries),
            of_exact=_of_exact(lists, self._exact, plan.k),
            recall=scores.means("recall")[plan.k],
            interval=intervals(scores.recall)[0],
            chance=plan.k / (self._truth.n_rated - 1),
            scores=scores.recall[:, 0],
            per_second=1 / float(seconds.mean()),
            p50=1000 * float(np.quantile(seconds, 0.5)),
            p95=1000 * float(np.quantile(seconds, 0.95)),
            bytes_per_item=memory_per_item(layout, info.dimension, copy.count),
            disk_bytes_per_item=disk / max(copy.count, 1),
            build_seconds=took,
            indexed=self._store.status(copy.name).indexed_vectors,
        )

    def _lists(self, name: str, search: Search) -> list[Neighbors]:
        if search.exact:
            return list(nearest_with_ties(self._store, name, self._queries, self._plan.k))
        found = self._store.neighbors(name, self._queries, self._plan.k, search=search)
        # The order is what the engine makes of it; estimated distances say no more.
        places = np.broadcast_to(np.arange(self._plan.k, dtype=np.float32), found.rows.shape)
        return [Neighbors(found.rows, np.where(found.rows >= 0, places, np.float32(np.inf)))]

    def _seconds(self, name: str, search: Search) -> NDArray[np.float64]:
        """Take the time of queries, each asked on its own in a collection that is warm."""
        for _ in range(2):
            seconds = self._store.seconds(name, self._timed, self._plan.k, search=search)
        asked: NDArray[np.float64] = seconds[seconds > 0]
        if not len(asked):
            raise StoreError(f"{self._info.model}: none of the query items has a vector")
        return asked


def _of_exact(lists: Sequence[Neighbors], exact: Sequence[Neighbors], k: int) -> float:
    """Return the share of the *k* exact neighbors that was found, averaged over the queries.

    All items at exactly the k-th distance count as right, at most *k* of them together.
    """
    found = np.concatenate([part.rows[:, :k] for part in lists])
    shares, start = [], 0
    for part in exact:
        for own, right in zip(found[start : start + len(part.rows)], part.rows, strict=True):
            most = min(k, int((right >= 0).sum()))
            if most:
                hits = np.isin(own[own >= 0], right).sum()
                shares.append(min(int(hits), most) / most)
        start += len(part.rows)
    return float(np.mean(shares)) if shares else 0.0
