"""The cache of embeddings: what a service has answered is never asked, and paid, again.

The key of a vector is all that it depends on: the model with its revision, the dimension that
was asked for, the prefix, what is done with texts that are too long, and the text as sent.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from recdemo.embedding.cache_file import (
    checksum,
    identity,
    is_damage,
    open_file,
    set_aside,
    transaction,
    unusable,
)
from recdemo.embedding.service import FloatArray
from recdemo.errors import EmbeddingError
from recdemo.settings import settings

Notice: TypeAlias = Callable[[str], None]
T = TypeVar("T")

FILE = "embeddings.sqlite"
WHOLE, CUT = "whole", "cut"  # what became of texts beyond the context of the model
_AT_ONCE = 500  # texts looked up by one query


@dataclass(frozen=True, slots=True)
class ModelKey:
    """All that a vector depends on, but for the text."""

    provider: str
    name: str
    revision: str
    dimension: int | None  # that was asked for; None: the model's own
    prefix: str
    rule: str = WHOLE

    @property
    def model(self) -> str:
        """``provider:name``."""
        return f"{self.provider}:{self.name}"

    def digest(self) -> bytes:
        """Return the hash of all fields, 32 bytes."""
        fields = [self.provider, self.name, self.revision, self.dimension, self.prefix, self.rule]
        return hashlib.sha256(json.dumps(fields).encode()).digest()


def text_digest(text: str) -> bytes:
    """Return the hash of a text as it is sent, 32 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What the cache has of the texts it was asked for."""

    positions: NDArray[np.int64]  # (f,) in the texts asked for
    vectors: FloatArray  # (f, dimension)


class Cache:
    """Vectors by model and text; several processes may use the same file.

    Args:
        on_notice: is told of damage, and of what was done about it.
    """

    def __init__(self, path: Path, on_notice: Notice = lambda message: None) -> None:
        self.path = path
        self._on_notice = on_notice
        self._connection = self._open()
        self._lengths: dict[bytes, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def read(self, key: ModelKey, texts: Sequence[bytes]) -> Found:
        """Return the vectors that are there; damaged ones are dropped, and that is said.

        Args:
            texts: digests, each once.
        """
        return self.attempt(lambda connection: self._read(connection, key, texts))

    def has(self, key: ModelKey, texts: Sequence[bytes]) -> set[bytes]:
        """Return which of the digests are there, without looking at their vectors."""

        def look(connection: sqlite3.Connection) -> set[bytes]:
            model = _model(connection, key)
            query = "SELECT text FROM vectors WHERE model = ? AND text IN ({})"
            return {row[0] for row in _chunks(connection, query, model, texts)}

        return self.attempt(look)

    def write(self, key: ModelKey, texts: Sequence[bytes], vectors: FloatArray) -> None:
        """Keep the vectors of one answer, all or none of them; what is there stays.

        Args:
            texts: digests.
            vectors: ``(len(texts), dimension)``, checked.
        """
        length = self.length(key)
        if length not in (None, vectors.shape[1]):
            raise EmbeddingError(
                f"{key.model} gave vectors of {vectors.shape[1]} numbers, and of {length} before; "
                f"if the model was changed, remove what is kept of the old one with "
                f"'recdemo cache prune --model {key.model}'"
            )
        digest, now = key.digest(), int(time.time())
        blobs = [row.tobytes() for row in np.ascontiguousarray(vectors, "<f4")]

        def put(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                model = _ensure_model(connection, key)
                connection.executemany(
                    "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?, ?)",
                    [
                        (model, text, now, checksum(digest, text, blob), blob)
                        for text, blob in zip(texts, blobs, strict=True)
                    ],
                )

        self.attempt(put)

    def length(self, key: ModelKey) -> int | None:
        """Return how many numbers the vectors of a model have; None if there are none."""
        digest = key.digest()
        if digest not in self._lengths:
            text = self.attempt(lambda connection: _first_text(connection, key))
            found = self.read(key, [] if text is None else [text])
            if not len(found.positions):
                return None
            self._lengths[digest] = found.vectors.shape[1]
        return self._lengths[digest]

    def texts(self, key: ModelKey) -> list[bytes]:
        """Return the digests of all texts that are there, in the order they were written."""
        query = "SELECT text FROM vectors WHERE model = ? ORDER BY rowid"
        return self.attempt(
            lambda connection: [r[0] for r in connection.execute(query, (_model(connection, key),))]
        )

    def revisions(self, key: ModelKey) -> list[str]:
        """Return the revisions with vectors of a model otherwise like *key*, the newest first."""
        query = """
            SELECT revision FROM models WHERE provider = ? AND name = ? AND dimension IS ?
            AND prefix = ? AND rule = ? ORDER BY id DESC"""
        values = (key.provider, key.name, key.dimension, key.prefix, key.rule)
        return self.attempt(lambda connection: [r[0] for r in connection.execute(query, values)])

    def note_asked(self, key: ModelKey, catalog: str, texts: Sequence[bytes]) -> None:
        """Remember which texts a catalog asks for now, so that others can be pruned."""
        starts = np.sort(np.frombuffer(b"".join(text[:8] for text in texts), "<u8")).tobytes()

        def note(connection: sqlite3.Connection) -> None:
            model = _model(connection, key)
            query = "SELECT texts FROM asked WHERE model IS ? AND catalog = ?"
            before = connection.execute(query, (model, catalog)).fetchone()
            if model is not None and (before is None or before[0] != starts):
                with transaction(connection):
                    values = (model, catalog, starts)
                    connection.execute("INSERT OR REPLACE INTO asked VALUES (?, ?, ?)", values)

        self.attempt(note)

    def attempt(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do *work*; where the file is found damaged, set it aside and do it once more."""
        try:
            return work(self._connection)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise unusable(self.path, error) from error
        self._replace()
        try:
            return work(self._connection)
        except sqlite3.Error as error:
            raise unusable(self.path, error) from error

    def _open(self) -> sqlite3.Connection:
        self._identity = identity(self.path)
        try:
            connection = open_file(self.path)
        except sqlite3.Error:  # damaged; all else is a StoreError by now
            self._set_aside()
            connection = open_file(self.path)
        self._identity = identity(self.path)
        return connection

    def _replace(self) -> None:
        self._connection.close()
        self._set_aside()
        self._lengths.clear()
        self._connection = self._open()

    def _set_aside(self) -> None:
        found = set_aside(self.path, self._identity)
        if found is not None:
            aside, good = found
            self._on_notice(
                f"the cache {self.path} is damaged and was set aside as {aside.name}; {good:,} "
                "vectors could be read and are kept, the others are embedded again"
            )

    def _read(self, connection: sqlite3.Connection, key: ModelKey, texts: Sequence[bytes]) -> Found:
        places = {text: i for i, text in enumerate(texts)}
        digest, model = key.digest(), _model(connection, key)
        query = "SELECT text, checksum, vector FROM vectors WHERE model = ? AND text IN ({})"
        positions: list[int] = []
        good: list[bytes] = []
        bad: list[tuple[int | None, bytes]] = []
        for text, check, vector in _chunks(connection, query, model, texts):
            place = places.pop(text, None)
            fits = isinstance(vector, bytes) and (not good or len(vector) == len(good[0]))
            if place is not None and fits and check == checksum(digest, text, vector):
                positions.append(place)
                good.append(vector)
            else:
                bad.append((model, text))
        if bad:
            with transaction(connection):
                connection.executemany("DELETE FROM vectors WHERE model = ? AND text = ?", bad)
            self._on_notice(
                f"{len(bad):,} of {len(texts):,} vectors of {key.model} in the cache {self.path} "
                "were damaged; they are embedded again"
            )
        vectors = np.frombuffer(b"".join(good), "<f4").reshape(len(good), -1) if good else _NONE
        return Found(np.array(positions, np.int64), vectors.astype(np.float32, copy=False))


_NONE: FloatArray = np.zeros((0, 0), np.float32)


def open_cache(on_notice: Notice = lambda message: None) -> Cache:
    """Open the cache under ``RECDEMO_HOME``."""
    return Cache(settings().home / FILE, on_notice)


def _model(connection: sqlite3.Connection, key: ModelKey) -> int | None:
    row = connection.execute("SELECT id FROM models WHERE key = ?", (key.digest(),)).fetchone()
    return None if row is None else int(row[0])


def _ensure_model(connection: sqlite3.Connection, key: ModelKey) -> int:
    values = (key.digest(), key.provider, key.name, key.revision, key.dimension, key.prefix,
              key.rule)  # fmt: skip
    connection.execute("INSERT OR IGNORE INTO models VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", values)
    model = _model(connection, key)
    if model is None:  # just written
        raise ValueError(f"no row of {key.model} in the cache")
    return model


def _first_text(connection: sqlite3.Connection, key: ModelKey) -> bytes | None:
    query = "SELECT text FROM vectors WHERE model = ? LIMIT 1"
    row = connection.execute(query, (_model(connection, key),)).fetchone()
    return None if row is None else row[0]


def _chunks(
    connection: sqlite3.Connection, query: str, model: int | None, texts: Sequence[bytes]
) -> Iterator[tuple[bytes, ...]]:
    """Yield the rows of many texts, some hundred by one query."""
    for start in range(0, 0 if model is None else len(texts), _AT_ONCE):
        part = texts[start : start + _AT_ONCE]
        yield from connection.execute(query.format(",".join("?" * len(part))), (model, *part))
