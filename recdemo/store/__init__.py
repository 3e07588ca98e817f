"""Where collections live: the contract that every store keeps, and how one is opened."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_type_hints

import numpy as np
from numpy.typing import NDArray

from recdemo.errors import StoreError

IntArray: TypeAlias = NDArray[np.int32]
FloatArray: TypeAlias = NDArray[np.float32]
Notice: TypeAlias = Callable[[str], None]
Quantization: TypeAlias = Literal["none", "scalar", "binary", "turbo"]

DISTANCE = "euclid"
STUDY = ".study-"  # in the name of a copy that an index study made for itself
FORMAT = 1  # of collection.json; a store with a larger number was made by a newer recdemo


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """What a collection holds, and a fingerprint of all that its vectors depend on."""

    name: str  # readable slug and the first 8 hex digits of the fingerprint
    dataset: str
    text: str  # name or template of the text
    model: str  # provider:name, without the dimension
    prefix: str
    dimension: int
    how: str  # native, api, matryoshka or truncated
    count: int  # points, that is items with a vector
    n_items: int  # items of the catalog
    fingerprint: str  # 64 hex digits
    texts_hash: str  # of item ids and texts; with the fields above it finds a collection offline
    distance: str = DISTANCE
    recdemo: str = ""  # version that wrote it
    created: str = ""  # ISO 8601, UTC
    complete: bool = False  # written last

    @property
    def is_study(self) -> bool:
        """Whether it is the copy of an index study, which nobody else is to use."""
        return STUDY in self.name


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Points on their way into or out of a collection."""

    rows: IntArray  # (b,) point ids
    vectors: FloatArray  # (b, dimension)
    payloads: tuple[Mapping[str, Any], ...] | None = None  # b of them; None when not asked for


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The rows that may be found; a mask over the whole catalog."""

    mask: NDArray[np.bool_]  # (n_items,)


@dataclass(frozen=True, slots=True)
class Layout:
    """How a collection is laid out and indexed; the default has no index and is searched whole.

    Shards and replicas mean something to a cluster only: parts that a collection is cut into,
    and nodes that hold each part.
    """

    m: int | None = None  # links of a point in the HNSW graph; None: no graph is built
    ef_construct: int = 100  # candidates looked at for each point while the graph is built
    quantization: Quantization = "none"  # of the copy of the vectors that is searched first
    shards: int | None = None  # None: as the server is set
    replicas: int | None = None  # None: as the server is set

    @property
    def is_optimized(self) -> bool:
        """Whether the engine works on the points once they are there: a graph, smaller copies."""
        return self.m is not None or self.quantization != "none"


@dataclass(frozen=True, slots=True)
class Search:
    """How a collection is searched.

    Without *exact* the HNSW graph and the quantized vectors are used, where the layout has them.
    """

    exact: bool = True
    hnsw_ef: int | None = None  # candidates kept while the graph is walked; None: the engine's
    rescore: bool = True  # what quantized vectors found is measured again with the full ones
    oversampling: float = 2.0  # how many times as many are found, of which rescoring takes the best


PLAIN = Layout()
EXACT = Search()


@dataclass(frozen=True, slots=True, eq=False)
class Neighbors:
    """The nearest other items of each query row, sorted by (distance, row)."""

    rows: IntArray  # (q, k) padded with -1
    distances: FloatArray  # (q, k) padded with infinity


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """The state of a collection on disk."""

    bytes_on_disk: int
    count: int
    indexed_vectors: int
    state: str  # "complete", "incomplete" or what the server says


class VectorStore(Protocol):
    """Keeps collections of vectors; implementations need not inherit from it."""

    def build(
        self, info: CollectionInfo, batches: Iterable[Batch], *, layout: Layout = PLAIN
    ) -> None:
        """Write a collection whole or not at all; one that is complete stays as it is."""
        ...

    def neighbors(
        self,
        name: str,
        rows: IntArray,
        k: int,
        *,
        candidates: Candidates | None = None,
        search: Search = EXACT,
    ) -> Neighbors:
        """Find the *k* nearest other items of each row.

        The query item is left out by its id, never by position. Which of several items at
        exactly the last distance are found is up to the engine (see `recdemo.neighbors`). A
        row without a vector finds nothing. Padded where fewer than *k* can be found. A row
        beyond the catalog or a *k* below 1 is a `ValueError`.
        """
        ...

    def seconds(
        self, name: str, rows: IntArray, k: int, *, search: Search = EXACT
    ) -> NDArray[np.float64]:
        """Ask for the *k* nearest of each row on its own, and return how long each took, ``(q,)``.

        The time is from the question to the answer, the collection being open already; 0 for a
        row without a vector. Who asks a second time measures a warm collection.
        """
        ...

    def read(self, name: str, *, payloads: bool = False) -> Iterator[Batch]:
        """Yield all stored points in the order of their rows."""
        ...

    def status(self, name: str) -> CollectionStatus:
        """Tell bytes on disk, count, indexed vectors and state."""
        ...

    def collections(self) -> list[CollectionInfo]:
        """List the collections that recdemo wrote, complete or not, by name."""
        ...

    def delete(self, name: str) -> None:
        """Remove a collection of recdemo's; what is not recdemo's is an error."""
        ...

    def versions(self) -> dict[str, str]:
        """Tell the versions of what the collections live in."""
        ...

    def close(self) -> None:
        """Release what the store holds."""
        ...


def open_store(location: str, on_wait: Notice = lambda message: None) -> VectorStore:
    """Open the store that *location* names, importing only the engine it needs.

    Args:
        location: ``embedded``, or the URL of a Qdrant server.
        on_wait: is told when another process is being waited for.
    """
    if location == "embedded":
        from recdemo.settings import settings
        from recdemo.store.edge import EdgeStore

        return EdgeStore(settings().collections, on_wait)
    from recdemo.store.location import is_server, parse_location

    if is_server(location):
        from recdemo.settings import settings
        from recdemo.store.server import open_server

        address = parse_location(location, settings().store_grpc)
        return open_server(address, settings().store_key, on_wait)
    raise StoreError(f"unknown store {location!r}; expected 'embedded' or http://HOST:6333")


def parse_info(values: Mapping[str, Any]) -> CollectionInfo | None:
    """Return what a collection says of itself; None where that is not what it should be."""
    kinds = get_type_hints(CollectionInfo)
    try:
        info = CollectionInfo(**{name: values[name] for name in kinds if name in values})
    except TypeError:  # a field is missing
        return None
    fits = all(isinstance(getattr(info, name), kind) for name, kind in kinds.items())
    return info if fits else None


def check_alone(layout: Layout) -> None:
    """Refuse shards and replicas, for a store that is no cluster."""
    if layout.shards is not None or layout.replicas is not None:
        raise StoreError(
            "shards and replicas are for a Qdrant cluster; leave out --shards and --replicas, or "
            "name a cluster with --store http://HOST:6333"
        )


def check_vectors(batch: Batch, info: CollectionInfo) -> None:
    """Refuse vectors of another shape, or with NaN or infinity, before they are written."""
    vectors, rows = batch.vectors, batch.rows
    if vectors.dtype != np.float32:  # a larger type could overflow on its way into the store
        raise ValueError(f"{info.model}: expected float32 vectors, got {vectors.dtype}")
    if vectors.shape != (len(rows), info.dimension):
        raise StoreError(
            f"{info.model}: expected vectors of {info.dimension} numbers, got {vectors.shape}"
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = int(rows[~finite][0])
        raise StoreError(f"{info.model}: the vector of row {row} holds NaN or infinity")
    if len(rows) and (int(rows.min()) < 0 or int(rows.max()) >= info.n_items):
        raise StoreError(f"{info.model}: rows beyond the {info.n_items} items of {info.dataset}")
