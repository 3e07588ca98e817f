"""The folder of an embedded collection: what lies in it, whose it is, and in which state.

shard/            the engine's own files
vectors.npy       (count, dimension) float32, in the order of the rows
rows.npy          (count,) int32, ascending
collection.json   the `CollectionInfo` and the number of this format
"""

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from recdemo.errors import StoreError
from recdemo.store import FORMAT, CollectionInfo, Layout, parse_info
from recdemo.store.locks import is_being_built
from recdemo.store.states import State, check_same

SHARD, VECTORS, ROWS, INFO = "shard", "vectors.npy", "rows.npy", "collection.json"
TEMPORARY = ".tmp-"  # between the name and a random end, while a collection is built or removed

_OURS = {SHARD, VECTORS, ROWS, INFO}
_ROOM = 64 * 2**20  # bytes beside the vectors: the engine makes files of 32 MB, mostly holes


@dataclass(frozen=True, slots=True)
class Found:
    """What lies in the place of a collection."""

    path: Path
    state: State
    info: CollectionInfo | None = None  # where the state is complete, and mostly if incomplete


def look(path: Path) -> Found:
    """Tell what lies at *path*, by its ``collection.json``; the vectors are not looked at."""
    with file_errors(path):
        if not path.is_dir():
            return Found(path, State.FOREIGN if os.path.lexists(path) else State.ABSENT)
        names = {entry.name for entry in path.iterdir()}
        content = (path / INFO).read_bytes() if INFO in names else None
    ours = not names or (SHARD in names and names <= _OURS)
    if content is None:
        return Found(path, State.INCOMPLETE if ours else State.FOREIGN)
    try:
        values = json.loads(content)
    except ValueError:  # not JSON, or not UTF-8
        return Found(path, State.DAMAGED if ours else State.FOREIGN)
    if not isinstance(values, dict) or not {"format", "fingerprint"} <= values.keys():
        return Found(path, State.FOREIGN)
    if isinstance(values["format"], int) and values["format"] > FORMAT:
        return Found(path, State.NEWER)
    info = parse_info(values)
    if info is None:
        return Found(path, State.DAMAGED)
    info = replace(info, name=path.name)  # a copied folder goes by the name that it has now
    if not info.complete:
        return Found(path, State.INCOMPLETE, info)
    return Found(path, State.COMPLETE, info) if names >= _OURS else Found(path, State.DAMAGED)


def refusal(found: Found) -> StoreError:
    """Return the error that says why the collection cannot be used, and what to do."""
    path = found.path
    return StoreError(
        {
            State.ABSENT: f"no collection {path.name!r} in {path.parent}",
            State.FOREIGN: f"{path} is not a collection of recdemo and was left as it is; "
            "move it away, or set RECDEMO_HOME to another folder",
            State.NEWER: f"the collection {path} was made by a newer recdemo; update recdemo, "
            "or remove the folder to have it built anew",
            State.INCOMPLETE: f"the collection {path} is incomplete; load its model again",
        }.get(found.state, _damaged(path))
    )


def damaged(path: Path) -> StoreError:
    """Return the error for a collection whose files do not fit together."""
    return refusal(Found(path, State.DAMAGED))


def _damaged(path: Path) -> str:
    return (
        f"the collection {path} is damaged; remove it with 'recdemo collections delete "
        f"{path.name}', and whatever asks for it next builds it anew"
    )


def complete(path: Path) -> CollectionInfo:
    """Return what the complete collection at *path* holds; anything else is an error."""
    found = look(path)
    if found.state is not State.COMPLETE or found.info is None:
        raise refusal(found)
    return found.info


def is_built(path: Path, info: CollectionInfo) -> bool:
    """Tell whether *info* is there, complete; what is in its place but not it is an error."""
    found = look(path)
    if found.state in (State.ABSENT, State.INCOMPLETE):
        return False
    if found.info is None:
        raise refusal(found)
    check_same(found.info, info, f"the collection {path}")
    return True


def check_ours(path: Path) -> None:
    """Refuse to go on where no collection lies, or one that is not this recdemo's to remove."""
    found = look(path)
    if found.state in (State.ABSENT, State.FOREIGN, State.NEWER):
        raise refusal(found)


def write_info(path: Path, info: CollectionInfo) -> None:
    """Write ``collection.json``."""
    with file_errors(path), (path / INFO).open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, **asdict(info)}, file, indent=1)
        sync(file)


def sync(file: IO[Any]) -> None:
    """Have what was written so far reach the disk, so that a power cut cannot undo it."""
    file.flush()
    os.fsync(file.fileno())


def temporary(path: Path) -> Path:
    """Return a name beside *path* that nobody else has."""
    return path.with_name(f"{path.name}{TEMPORARY}{secrets.token_hex(4)}")


def remove_leftovers(folder: Path, name: str) -> None:
    """Remove what dead builders left in *folder*; the collection *name* is ours to build."""
    for path in folder.glob(f"*{TEMPORARY}*"):
        owner = path.name.split(TEMPORARY)[0]
        ours = look(path).state in (State.INCOMPLETE, State.COMPLETE)
        with file_errors(path):
            if ours and (owner == name or not is_being_built(folder / owner)):
                shutil.rmtree(path, ignore_errors=True)


def bytes_on_disk(path: Path) -> int:
    """Return what the files below *path* take up; the engine's are mostly holes."""
    total = 0
    with file_errors(path):
        for file in path.rglob("*"):
            status = file.lstat()
            total += getattr(status, "st_blocks", -(-status.st_size // 512)) * 512
    return total


def check_room(folder: Path, info: CollectionInfo, layout: Layout) -> None:
    """Refuse to begin a collection that would fill the disk.

    The engine writes through memory-mapped files, and on a full disk those do not raise an
    error: the operating system ends the process.
    """
    copies = 4 if layout.is_optimized else 2  # ours and the engine's, which it writes anew
    needed = copies * info.count * info.dimension * 4 + _ROOM
    with file_errors(folder):
        free = shutil.disk_usage(folder).free
    if free < needed:
        raise StoreError(
            f"no room for the collection {info.name} in {folder}: it needs "
            f"{needed / 2**20:.0f} MB and {free / 2**20:.0f} MB are free; "
            "make room, or set RECDEMO_HOME to a folder on another disk"
        )


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses into a line for the user."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StoreError(
            f"cannot use {error.filename or path}: {reason.lower()}; set RECDEMO_HOME to a folder "
            "where recdemo may write"
        ) from error
