"""A layout, a search and a filter in the words of the client of a Qdrant server."""

from typing import Any, TypeAlias

from qdrant_client import QdrantClient, models

from recdemo.store import CollectionInfo, IntArray, Layout, Search
from recdemo.store.selecting import Ask

SMALLEST = 10  # KB of vectors that get an index; the least that a server takes
SEGMENTS = 2  # of a collection; each takes open files

_PINNED = models.Memory.PINNED

Quantized: TypeAlias = (
    models.ScalarQuantization | models.BinaryQuantization | models.TurboQuantization
)


def optimizers(layout: Layout) -> models.OptimizersConfigDiff:
    """Return when the server is to build an index: never, or for all but the smallest.

    Distances are exact whatever the size: without a threshold no index is ever built.
    """
    threshold = SMALLEST if layout.is_optimized else 0
    return models.OptimizersConfigDiff(
        indexing_threshold=threshold, default_segment_number=SEGMENTS
    )


def create(
    client: QdrantClient, info: CollectionInfo, layout: Layout, metadata: dict[str, Any]
) -> None:
    """Create a collection as a layout has it."""
    client.create_collection(
        info.name,
        vectors_config=models.VectorParams(size=info.dimension, distance=models.Distance.EUCLID),
        hnsw_config=_hnsw(layout),
        optimizers_config=optimizers(layout),
        quantization_config=_quantization(layout),
        shard_number=layout.shards,
        replication_factor=layout.replicas,
        write_consistency_factor=layout.replicas,  # loaded is what every replica has
        metadata=metadata,
    )


def _hnsw(layout: Layout) -> models.HnswConfigDiff | None:
    if not layout.is_optimized:
        return None
    return models.HnswConfigDiff(
        m=layout.m or 0, ef_construct=layout.ef_construct, full_scan_threshold=SMALLEST
    )


def _quantization(layout: Layout) -> Quantized | None:
    if layout.quantization == "scalar":
        return models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, memory=_PINNED)
        )
    if layout.quantization == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(memory=_PINNED))
    if layout.quantization == "turbo":
        bits = models.TurboQuantBitSize.BITS4
        return models.TurboQuantization(
            turbo=models.TurboQuantQuantizationConfig(bits=bits, memory=_PINNED)
        )
    return None


def queries(rows: IntArray, ask: Ask, search: Search) -> list[models.QueryRequest]:
    """Return the query of each row; all go with the same filter and settings."""
    params, only = _params(search), _rows_filter(ask)
    return [
        models.QueryRequest(query=row, limit=ask.limit, filter=only, params=params)
        for row in rows.tolist()
    ]


def _params(search: Search) -> models.SearchParams:
    if search.exact:  # looks at the full vectors only
        return models.SearchParams(exact=True)
    return models.SearchParams(
        hnsw_ef=search.hnsw_ef,
        quantization=models.QuantizationSearchParams(
            rescore=search.rescore, oversampling=search.oversampling if search.rescore else None
        ),
    )


def _rows_filter(ask: Ask) -> models.Filter | None:
    if ask.only is not None:
        return models.Filter(must=[models.HasIdCondition(has_id=sorted(ask.only))])
    if ask.without is not None:
        return models.Filter(must_not=[models.HasIdCondition(has_id=sorted(ask.without))])
    return None
