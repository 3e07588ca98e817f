"""What the cache holds, and what of it can go."""

import sqlite3
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from recdemo.embedding.cache import Cache, ModelKey
from recdemo.embedding.cache_file import transaction

DAY = 86400  # seconds


@dataclass(frozen=True, slots=True)
class Held:
    """What the cache has of one model."""

    key: ModelKey
    count: int
    bytes: int  # of the vectors
    first: str  # ISO 8601, UTC
    last: str


@dataclass(frozen=True, slots=True)
class Stale:
    """What can go of one model."""

    key: ModelKey
    count: int


def held(cache: Cache, model: str | None = None) -> list[Held]:
    """Return what the cache has, by model; *model* is ``provider:name``, None for all."""
    query = """
        SELECT provider, name, revision, dimension, prefix, rule,
            count(*), sum(length(vector)), min(written), max(written)
        FROM models JOIN vectors ON vectors.model = models.id
        GROUP BY models.id ORDER BY provider, name, models.id"""
    rows = cache.attempt(lambda connection: connection.execute(query).fetchall())
    found = [Held(ModelKey(*row[:6]), row[6], row[7], _day(row[8]), _day(row[9])) for row in rows]
    return [each for each in found if model in (None, each.key.model)]


def prune(
    cache: Cache,
    model: str | None = None,
    older_than: int | None = None,
    *,
    only_look: bool = False,
) -> list[Stale]:
    """Remove vectors, and return how many of each model.

    Without *model* and *older_than* those of texts that a catalog asked for once, and that no
    catalog asks for as it is now.

    Args:
        model: ``provider:name``.
        older_than: days since a vector was written.
        only_look: remove nothing.
    """

    def work(connection: sqlite3.Connection) -> list[Stale]:
        found = []
        for row in connection.execute(
            "SELECT id, provider, name, revision, dimension, prefix, rule FROM models"
        ).fetchall():
            key = ModelKey(*row[1:])
            if model not in (None, key.model):
                continue
            if model is None and older_than is None:
                texts = _unasked(connection, row[0])
            else:
                texts = _older(connection, row[0], older_than)
            if texts:
                found.append(Stale(key, len(texts)))
            if not only_look:
                _remove(connection, row[0], texts)
        return found

    stale = cache.attempt(work)
    if stale and not only_look:
        cache.attempt(lambda connection: connection.execute("PRAGMA incremental_vacuum").fetchall())
    return stale


def _unasked(connection: sqlite3.Connection, model: int) -> list[bytes]:
    """Return the texts of a model that no catalog asks for; none where none ever asked."""
    asked = connection.execute("SELECT texts FROM asked WHERE model = ?", (model,)).fetchall()
    if not asked:
        return []
    wanted = np.unique(np.concatenate([np.frombuffer(row[0], "<u8") for row in asked]))
    query = "SELECT text FROM vectors WHERE model = ?"
    texts = [row[0] for row in connection.execute(query, (model,))]
    starts = np.frombuffer(b"".join(text[:8] for text in texts), "<u8")
    return [texts[i] for i in np.flatnonzero(~np.isin(starts, wanted))]


def _older(connection: sqlite3.Connection, model: int, days: int | None) -> list[bytes]:
    before = int(time.time()) + 1 if days is None else int(time.time()) - days * DAY
    query = "SELECT text FROM vectors WHERE model = ? AND written < ?"
    return [row[0] for row in connection.execute(query, (model, before))]


def _remove(connection: sqlite3.Connection, model: int, texts: list[bytes]) -> None:
    with transaction(connection):
        connection.executemany(
            "DELETE FROM vectors WHERE model = ? AND text = ?", [(model, text) for text in texts]
        )
        left = connection.execute("SELECT 1 FROM vectors WHERE model = ? LIMIT 1", (model,))
        if left.fetchone() is None:
            connection.execute("DELETE FROM asked WHERE model = ?", (model,))
            connection.execute("DELETE FROM models WHERE id = ?", (model,))


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
