"""The server store: every collection one of a Qdrant server, which a team shares.

Nothing is locked. Who finds an incomplete collection of the same fingerprint writes the same
points over it: so two people who load one model at once both end with a whole one, and what a
dead process left is built anew. The `CollectionInfo` stands in the collection's metadata, and
says ``complete`` only after an exact count.
"""

import re
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr
from qdrant_client import QdrantClient, models

from recdemo.errors import StoreError
from recdemo.store import (
    EXACT,
    PLAIN,
    Batch,
    Candidates,
    CollectionInfo,
    CollectionStatus,
    FloatArray,
    IntArray,
    Layout,
    Neighbors,
    Notice,
    Search,
    check_vectors,
    remote,
    selecting,
    server_requests,
)
from recdemo.store.arriving import Arrivals, parts
from recdemo.store.cluster import check_laid_out, check_nodes
from recdemo.store.connection import Connection, connect
from recdemo.store.location import Location
from recdemo.store.optimizing import until_optimized
from recdemo.store.remote import Found
from recdemo.store.scrolling import scroll
from recdemo.store.states import State

REQUEST_BYTES = 4_500_000  # of a request or an answer; a server takes 32 MB and advises 5
SCROLL_ROWS = 10_000  # ids at a time

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_ID_BYTES, _QUERY_BYTES, _NUMBER_BYTES = 11, 400, 26  # written as JSON, at most
_EUCLID = models.Distance.EUCLID


def open_server(location: Location, key: SecretStr | None, on_wait: Notice) -> "ServerStore":
    """Open the store of the server at *location*, which must answer."""
    return ServerStore(connect(location, key, on_wait))


class ServerStore:
    """Keeps collections on a Qdrant server; several processes and people may use it at once.

    Args:
        connection: is closed with the store.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection, self._attempt = connection, connection.attempt
        self._rows: dict[str, IntArray] = {}  # fingerprint -> rows with a vector

    @property
    def _client(self) -> QdrantClient:
        return self._connection.client  # of the node that is asked at present

    @property
    def _url(self) -> str:
        return self._connection.location.url

    def build(
        self, info: CollectionInfo, batches: Iterable[Batch], *, layout: Layout = PLAIN
    ) -> None:
        """Write a collection whole or not at all; one that is complete stays as it is."""
        found = self._look(info.name)
        if found.info is not None:  # incomplete, too: it is written on as it was laid out
            check_laid_out(found, layout)
        if remote.is_built(found, info):
            return
        check_nodes(self._connection, layout)
        builder, arrivals = secrets.token_hex(8), Arrivals(info)
        try:
            if not self._begin(info, builder, layout):
                return
            for batch in batches:
                check_vectors(batch, info)
                arrivals.add(batch)
                for part in parts(batch, REQUEST_BYTES):
                    self._upsert(info.name, part)
            arrivals.check_all_came()
            count = self._count(info.name)
            if count != info.count:
                raise StoreError(
                    f"{info.name}: the server kept {count} of {info.count} points; load again"
                )
            if layout.is_optimized:
                until_optimized(self._connection, info.name, layout)
            self._describe(replace(info, complete=True), builder)
        except BaseException:  # Ctrl-C, too
            self._clear_away(info.name, builder)
            raise

    def neighbors(
        self,
        name: str,
        rows: IntArray,
        k: int,
        *,
        candidates: Candidates | None = None,
        search: Search = EXACT,
    ) -> Neighbors:
        """Find the *k* nearest other items of each row."""
        info = self._whole(name)
        selecting.check_question(info, rows, k, candidates)
        stored = self._stored(info)
        may = np.zeros(info.n_items, bool)
        may[stored] = True if candidates is None else candidates.mask[stored]
        askable = np.flatnonzero(selecting.positions(stored, rows, info.n_items) >= 0)
        ask = selecting.plan(stored, k, candidates)
        found = selecting.nothing(len(rows), k)
        # every query has the filter along
        most = REQUEST_BYTES // (_QUERY_BYTES + _ID_BYTES * ask.n_filtered)
        for part in selecting.cut(len(askable) if ask.limit else 0, info, ask.limit, most):
            own = rows[askable[part]]
            lengths, others, distances = self._ask(name, own, ask, search)
            expected = np.minimum(ask.limit, int(may.sum()) - may[own])  # never finds itself
            if search.exact and (lengths != expected).any():
                raise remote.damaged(name, self._url)
            best = selecting.best_first(own, lengths, others, distances, k, search)
            found.rows[askable[part]] = best.rows
            found.distances[askable[part]] = best.distances
        return found

    def seconds(
        self, name: str, rows: IntArray, k: int, *, search: Search = EXACT
    ) -> NDArray[np.float64]:
        """Ask for the neighbors of each row on its own, and return how long each took, ``(q,)``."""
        info = self._whole(name)
        selecting.check_question(info, rows, k, None)
        stored = self._stored(info)
        askable = selecting.positions(stored, rows, info.n_items) >= 0
        ask, took = selecting.plan(stored, k, None), np.zeros(len(rows))
        for i in np.flatnonzero(askable):
            started = time.perf_counter()
            self._ask(name, rows[i : i + 1], ask, search)
            took[i] = time.perf_counter() - started
        return took

    def read(self, name: str, *, payloads: bool = False) -> Iterator[Batch]:
        """Yield all stored points in the order of their rows."""
        info = self._whole(name)
        each = _NUMBER_BYTES * info.dimension + _QUERY_BYTES
        limit = max(1, REQUEST_BYTES // each)
        return scroll(self._connection, info, limit, vectors=True, payloads=payloads)

    def status(self, name: str) -> CollectionStatus:
        """Tell bytes, count, indexed vectors and state.

        A server does not tell what a collection takes up. The bytes are those of the vectors,
        ids and versions of its points, the least there can be.
        """
        found = self._look(name)
        if found.info is None:
            raise remote.refusal_of(found)
        if found.state is State.INCOMPLETE:
            return CollectionStatus(0, 0, 0, found.state.value)
        told = self._attempt(lambda: self._client.get_collection(name))
        count = self._count(name)
        state = {"yellow": "optimizing", "red": "damaged"}  # else it can be asked as it is
        return CollectionStatus(
            count * (4 * found.info.dimension + 16),
            count,
            (told and told.indexed_vectors_count) or 0,
            state.get(told.status.value if told else "red", "complete"),
        )

    def collections(self) -> list[CollectionInfo]:
        """List the collections that recdemo wrote, complete or not, by name.

        Left out are those that nobody can tell about: damaged, or made by a newer recdemo.
        """
        told = self._attempt(lambda: self._client.get_collections())
        names = sorted(each.name for each in told.collections) if told else []
        found = [self._look(name).info for name in names]
        return [info for info in found if info is not None]

    def delete(self, name: str) -> None:
        """Remove a collection of recdemo's; what is not recdemo's is an error."""
        found = self._look(name)
        if found.state in (State.ABSENT, State.FOREIGN, State.NEWER):
            raise remote.refusal_of(found)
        self._attempt(lambda: self._client.delete_collection(name))

    def versions(self) -> dict[str, str]:
        """Tell the versions of server and client."""
        return {"qdrant": self._connection.version, "qdrant-client": version("qdrant-client")}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _look(self, name: str) -> Found:
        if not _NAME.fullmatch(name):
            raise StoreError(f"no collection can have the name {name!r}")
        told = self._attempt(lambda: self._client.get_collection(name), none_if=404)
        if told is None:
            return Found(name, self._url, State.ABSENT)
        vectors = told.config.params.vectors
        dimension = None
        if isinstance(vectors, models.VectorParams) and vectors.distance is _EUCLID:
            dimension = vectors.size
        found = remote.recognize(name, self._url, told.config.metadata, dimension)
        params = told.config.params
        return replace(found, shards=params.shard_number, replicas=params.replication_factor)

    def _whole(self, name: str) -> CollectionInfo:
        """Return what a complete collection holds, if all of it is there."""
        found = self._look(name)
        if found.state is not State.COMPLETE or found.info is None:
            raise remote.refusal_of(found)
        if self._count(name) != found.info.count:
            raise remote.damaged(name, self._url)
        return found.info

    def _begin(self, info: CollectionInfo, builder: str, layout: Layout) -> bool:
        """Have an incomplete collection to write into; False where another was faster."""
        started = replace(info, complete=False)
        found = self._look(info.name)
        if found.info is not None and found.info.fingerprint != info.fingerprint:
            self.delete(info.name)  # incomplete, and of other vectors
        self._attempt(
            lambda: server_requests.create(
                self._client, started, layout, remote.metadata(started, builder)
            ),
            none_if=409,  # there already: left incomplete, or begun by another this moment
        )
        if remote.is_built(self._look(info.name), info):
            return False
        self._describe(started, builder)
        return True

    def _describe(self, info: CollectionInfo, builder: str) -> None:
        values = remote.metadata(info, builder)
        self._attempt(lambda: self._client.update_collection(info.name, metadata=values))

    def _clear_away(self, name: str, builder: str) -> None:
        """Remove what a build has begun, unless another builds on; a server may be away."""
        with suppress(StoreError):
            found = self._look(name)
            if found.state is State.INCOMPLETE and found.builder == builder:
                self.delete(name)

    def _upsert(self, name: str, batch: Batch) -> None:
        points = models.Batch(
            ids=batch.rows.tolist(),
            vectors=batch.vectors.tolist(),
            payloads=[dict(payload) for payload in batch.payloads or ()] or None,
        )
        self._attempt(lambda: self._client.upsert(name, points, wait=True))

    def _count(self, name: str) -> int:
        told = self._attempt(lambda: self._client.count(name, exact=True))
        return told.count if told else 0

    def _stored(self, info: CollectionInfo) -> IntArray:
        """Return the rows with a vector, ``(count,)``; collections never change."""
        if info.count == info.n_items:
            return np.arange(info.n_items, dtype=np.int32)
        if info.fingerprint not in self._rows:
            batches = scroll(self._connection, info, SCROLL_ROWS, vectors=False, payloads=False)
            rows = [np.zeros(0, np.int32), *(batch.rows for batch in batches)]
            self._rows[info.fingerprint] = np.concatenate(rows)
        return self._rows[info.fingerprint]

    def _ask(
        self, name: str, rows: IntArray, ask: selecting.Ask, search: Search
    ) -> tuple[selecting.Positions, IntArray, FloatArray]:
        """Return how many answers came for each row, their rows and their distances."""
        requests = server_requests.queries(rows, ask, search)
        told = self._attempt(lambda: self._client.query_batch_points(name, requests))
        answers = [each.points for each in told or ()]
        points = [point for each in answers for point in each]
        lengths = np.fromiter(map(len, answers), np.intp, len(answers))
        others = np.fromiter(map(attrgetter("id"), points), np.int32, len(points))
        distances = np.fromiter(map(attrgetter("score"), points), np.float32, len(points))
        return lengths, others, distances
