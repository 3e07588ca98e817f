"""What stands in the place of a collection on a server: whose it is, and in which state."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from recdemo.errors import StoreError
from recdemo.store import FORMAT, CollectionInfo, parse_info
from recdemo.store.states import State, check_same

OURS = "recdemo"  # our key in a collection's metadata


@dataclass(frozen=True, slots=True)
class Found:
    """What stands in the place of a collection."""

    name: str
    url: str  # of the server
    state: State
    info: CollectionInfo | None = None  # where the state is complete or incomplete
    builder: str = ""  # a random word of who began it last
    shards: int | None = None  # parts that it is cut into
    replicas: int | None = None  # nodes that hold each part


def metadata(info: CollectionInfo, builder: str) -> dict[str, Any]:
    """Return what a collection says of itself; written whole each time, merged or not."""
    return {OURS: {"format": FORMAT, **asdict(info), "builder": builder}}


def recognize(
    name: str, url: str, metadata: Mapping[str, Any] | None, dimension: int | None
) -> Found:
    """Tell what a collection is by its metadata.

    Args:
        dimension: of its vectors where they are laid out as ours are, else None.
    """
    values = (metadata or {}).get(OURS)
    if not isinstance(values, Mapping) or not {"format", "fingerprint"} <= values.keys():
        return Found(name, url, State.FOREIGN)
    if isinstance(values["format"], int | float) and values["format"] > FORMAT:
        return Found(name, url, State.NEWER)
    info = parse_info(values)
    if info is None or info.dimension != dimension:
        return Found(name, url, State.DAMAGED)
    state = State.COMPLETE if info.complete else State.INCOMPLETE
    return Found(name, url, state, replace(info, name=name), str(values.get("builder", "")))


def refusal_of(found: Found) -> StoreError:
    """Return the error that says why a collection cannot be used, and what to do."""
    name, url = found.name, found.url
    remove = f"remove it with 'recdemo collections delete {name}'"
    return StoreError(
        {
            State.ABSENT: f"no collection {name!r} at {url}",
            State.FOREIGN: f"the collection {name!r} at {url} is not one of recdemo and was left "
            "as it is; rename or move it, or use another server",
            State.NEWER: f"the collection {name!r} at {url} was made by a newer recdemo; update "
            "recdemo, or use another server",
            State.INCOMPLETE: f"the collection {name!r} at {url} is incomplete; load its model "
            "again",
        }.get(found.state, f"the collection {name!r} at {url} is damaged; {remove}")
    )


def damaged(name: str, url: str) -> StoreError:
    """Return the error for a collection that lacks points, or has some that do not belong."""
    return refusal_of(Found(name, url, State.DAMAGED))


def is_built(found: Found, info: CollectionInfo) -> bool:
    """Tell whether *info* is there, complete; what is in its place but not it is an error."""
    if found.state in (State.ABSENT, State.INCOMPLETE):
        return False
    if found.info is None:
        raise refusal_of(found)
    check_same(found.info, info, f"the collection {found.name!r} at {found.url}")
    return True
