"""What stands in the place of a collection, whether a folder or on a server: its states."""

from enum import Enum

from recdemo.errors import StoreError
from recdemo.store import CollectionInfo


class State(Enum):
    """What stands in the place of a collection, as recdemo sees it."""

    ABSENT = "absent"
    FOREIGN = "foreign"
    NEWER = "newer"
    DAMAGED = "damaged"
    INCOMPLETE = "incomplete"
    COMPLETE = "complete"


def check_same(there: CollectionInfo, wanted: CollectionInfo, where: str) -> None:
    """Refuse a complete collection that holds something else than its name promises.

    Args:
        where: the collection for the user, as in ``the collection 'a' at http://b``.
    """
    is_there, is_wanted = (
        (each.fingerprint, each.dimension, each.count, each.distance) for each in (there, wanted)
    )
    if is_there != is_wanted:
        raise StoreError(
            f"{where} holds something else: fingerprint, dimension, count and distance are "
            f"{is_there}, expected {is_wanted}; remove it with 'recdemo collections delete "
            f"{there.name}' to have it built anew"
        )
