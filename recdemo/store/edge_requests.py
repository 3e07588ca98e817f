"""A layout, a search and a filter in the words of the embedded engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import qdrant_edge as qdrant

from recdemo.store import CollectionInfo, Layout, Search
from recdemo.store.selecting import Ask

SMALLEST = 10  # KB of vectors that get an index; below it a search of all is faster anyway

Quantized: TypeAlias = (
    qdrant.ScalarQuantizationConfig
    | qdrant.BinaryQuantizationConfig
    | qdrant.TurboQuantQuantizationConfig
)

_QUANTIZATION: Mapping[str, Quantized] = {
    "scalar": qdrant.ScalarQuantizationConfig(qdrant.ScalarType.Int8, memory=qdrant.Memory.Pinned),
    "binary": qdrant.BinaryQuantizationConfig(memory=qdrant.Memory.Pinned),
    "turbo": qdrant.TurboQuantQuantizationConfig(
        bits=qdrant.TurboQuantBitSize.Bits4, memory=qdrant.Memory.Pinned
    ),
}


def config(info: CollectionInfo, layout: Layout) -> qdrant.EdgeConfig:
    """Return how the engine is to lay a collection out.

    An index is built only when the engine is told to optimize, so a layout without one needs no
    threshold. The engine's write-ahead log is left out (see `recdemo.store.edge`).
    """
    if not layout.is_optimized:
        flat = qdrant.EdgeVectorParams(size=info.dimension, distance=qdrant.Distance.Euclid)
        return qdrant.EdgeConfig(vectors=flat, wal_enabled=False)
    return qdrant.EdgeConfig(
        vectors=qdrant.EdgeVectorParams(
            size=info.dimension,
            distance=qdrant.Distance.Euclid,
            hnsw_config=qdrant.HnswIndexConfig(layout.m or 0, layout.ef_construct, SMALLEST),
            quantization_config=_QUANTIZATION.get(layout.quantization),
        ),
        optimizers=qdrant.EdgeOptimizersConfig(
            indexing_threshold=SMALLEST, default_segment_number=1
        ),
        wal_enabled=False,
    )


def params(search: Search) -> qdrant.SearchParams:
    """Return how the engine is to search; an exact search looks at the full vectors only."""
    if search.exact:
        return qdrant.SearchParams(exact=True)
    return qdrant.SearchParams(
        hnsw_ef=search.hnsw_ef,
        quantization=qdrant.QuantizationSearchParams(
            rescore=search.rescore, oversampling=search.oversampling if search.rescore else None
        ),
    )


@dataclass(frozen=True, slots=True)
class Asking:
    """What is the same for all queries of a call; to make it anew for each batch takes long."""

    limit: int
    exact: bool
    params: qdrant.SearchParams
    rows_filter: qdrant.Filter | None


def asking(ask: Ask, search: Search) -> Asking:
    """Return a question in the words of the engine, without the vectors."""
    return Asking(ask.limit, search.exact, params(search), rows_filter(ask))


def rows_filter(ask: Ask) -> qdrant.Filter | None:
    """Return the filter on the rows that may be found, or on those that may not."""
    if ask.only is not None:
        return qdrant.Filter(must=[qdrant.HasIdCondition(set(ask.only))])
    if ask.without is not None:
        return qdrant.Filter(must_not=[qdrant.HasIdCondition(set(ask.without))])
    return None
