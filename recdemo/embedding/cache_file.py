"""The SQLite file behind the cache of embeddings: how it is opened, and what if it is damaged.

Every row carries a checksum over its model, its text and its vector, so whatever a disk does to
the file, no vector is ever served that was not written. A file that SQLite itself cannot make
sense of is set aside under another name, after all that can still be read has been copied.
"""

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from filelock import FileLock

from recdemo.errors import StoreError

Row: TypeAlias = tuple[Any, ...]

VERSION = 1  # of the schema; a larger one was written by a newer recdemo
PATIENCE = 30.0  # seconds to wait for another process that writes

# The vector comes last, so that what is before it is read without it.
_SCHEMA = """
CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    provider TEXT NOT NULL, name TEXT NOT NULL, revision TEXT NOT NULL,
    dimension INTEGER, prefix TEXT NOT NULL, rule TEXT NOT NULL
);
CREATE TABLE vectors (
    model INTEGER NOT NULL, text BLOB NOT NULL, written INTEGER NOT NULL,
    checksum BLOB NOT NULL, vector BLOB NOT NULL,
    UNIQUE (model, text)
);
CREATE TABLE asked (
    model INTEGER NOT NULL, catalog TEXT NOT NULL, texts BLOB NOT NULL,
    PRIMARY KEY (model, catalog)
);
"""
_MODEL = "key, provider, name, revision, dimension, prefix, rule"
_PAGE = 16384  # bytes; a vector of 3,072 numbers fits into one page
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_FARTHEST = 2**40  # rows, beyond which nothing is looked for


def checksum(key: bytes, text: bytes, vector: bytes) -> bytes:
    """Return what binds a vector to its model and its text, 16 bytes."""
    return hashlib.blake2b(key + text + vector, digest_size=16).digest()


def open_file(path: Path) -> sqlite3.Connection:
    """Open the file, made if it is not there; one of a newer recdemo is a `StoreError`.

    Damage raises a `sqlite3.DatabaseError` for which `is_damage` holds.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = _connect(path)
    except (OSError, sqlite3.Error) as error:
        raise unusable(path, error) from error
    try:
        version = _version(connection)
        if version == 0:
            with locked(path):
                _create(connection, path)
        elif version > VERSION:
            raise StoreError(
                f"the cache {path} was written by a newer recdemo; update recdemo, or set "
                "RECDEMO_HOME to another folder"
            )
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error) and not is_damage(error):
            raise unusable(path, error) from error
        raise
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    # The connection may be closed by another thread: the one that lets go of a generator.
    connection = sqlite3.connect(
        path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _create(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection):  # another process was faster
        return
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    if "vectors" in tables:  # ours; the header is damaged
        connection.execute(f"PRAGMA user_version = {VERSION}")
        return
    if tables:
        raise StoreError(
            f"{path} is not a cache of recdemo and was left as it is; move it away, or set "
            "RECDEMO_HOME to another folder"
        )
    connection.execute(f"PRAGMA page_size = {_PAGE}")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")  # readers and a writer side by side
    connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be the only process that makes the file, or sets it aside."""
    try:
        with FileLock(f"{path}.lock", timeout=PATIENCE):
            yield
    except (OSError, TimeoutError) as error:
        raise unusable(path, error) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all that is done in the block, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # on a full disk SQLite has gone back by itself
            connection.execute("ROLLBACK")
        raise


def is_damage(error: sqlite3.Error) -> bool:
    """Tell a file that SQLite cannot make sense of from other faults."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and (code & 0xFF in _DAMAGE or code == sqlite3.SQLITE_IOERR_SHORT_READ)


def unusable(path: Path, error: Exception) -> StoreError:
    """Return the line for a fault that is not damage: no room, no rights, no patience."""
    code = getattr(error, "sqlite_errorcode", None)
    code = None if code is None else code & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StoreError(
            f"no room for embeddings in {path}: {error}; what was written is kept, make room or "
            "set RECDEMO_HOME to a folder on another disk"
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or isinstance(error, TimeoutError):
        return StoreError(
            f"another process has held the cache {path} for {PATIENCE:.0f} s; try again later"
        )
    reason = getattr(error, "strerror", None) or str(error)
    return StoreError(
        f"cannot use the cache {path}: {reason.lower()}; set RECDEMO_HOME to a folder where "
        "recdemo may write"
    )


def identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one that took its name."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def set_aside(path: Path, opened: tuple[int, int] | None) -> tuple[Path, int] | None:
    """Give a damaged file another name, and copy what is good of it into a new one.

    Args:
        opened: the identity of the file that was found damaged.

    Returns:
        The new name and the number of vectors copied; None where another process was faster.
    """
    with locked(path):
        if identity(path) != opened:
            return None
        now = datetime.now(UTC)
        name = f"{path.stem}.damaged-{now:%Y%m%dT%H%M%S}-{secrets.token_hex(2)}{path.suffix}"
        aside = path.with_name(name)
        for end in ("-wal", "-shm", ""):  # the log belongs to its file
            if os.path.exists(f"{path}{end}"):
                os.rename(f"{path}{end}", f"{aside}{end}")
        try:
            with closing(_connect(path)) as fresh:
                _create(fresh, path)
                return aside, _copy(aside, fresh)
        except sqlite3.Error as error:
            raise StoreError(f"{unusable(path, error)}; what was there is in {aside}") from error


def _copy(aside: Path, fresh: sqlite3.Connection) -> int:
    """Copy every row whose checksum holds; return their number."""
    good = 0
    with closing(_connect(aside)) as damaged, transaction(fresh):
        damaged.execute("PRAGMA writable_schema = ON")  # has a file read that was cut short
        models = list(_readable(damaged, "models", _MODEL))
        fresh.executemany("INSERT OR IGNORE INTO models VALUES (?, ?, ?, ?, ?, ?, ?, ?)", models)
        keys = {row[0]: row[1] for row in models}
        for _, *row in _readable(damaged, "vectors", "model, text, written, checksum, vector"):
            model, text, _, check, vector = row
            whole = isinstance(text, bytes) and isinstance(vector, bytes)
            if whole and model in keys and check == checksum(keys[model], text, vector):
                fresh.execute("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?, ?)", row)
                good += 1
    return good


def _readable(connection: sqlite3.Connection, table: str, columns: str) -> Iterator[Row]:
    """Yield the row id and the columns of all rows that can be read, leaping over the others."""
    last, leap = 0, 0
    while last + leap < _FARTHEST:
        query = f"SELECT rowid, {columns} FROM {table} WHERE rowid > ? ORDER BY rowid"
        try:
            for row in connection.execute(query, (last + leap,)):
                yield row
                if row[0] > last:  # in a damaged file even this need not be so
                    last, leap = row[0], 0
            return
        except sqlite3.DatabaseError:
            leap = 2 * leap or 1
