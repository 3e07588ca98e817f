"""A Qdrant cluster: whether it can hold a collection as a layout asks for.

A single node takes any number of shards and of replicas without a word, and has neither use nor
safety of them; a cluster does the same with more replicas than it has nodes. So what is asked for
is held against the nodes before anything is written.
"""

from recdemo.errors import StoreError
from recdemo.store import Layout
from recdemo.store.connection import Connection
from recdemo.store.remote import Found


def check_nodes(connection: Connection, layout: Layout) -> None:
    """Refuse a layout that the server has too few nodes for; without wishes none is asked."""
    if layout.shards is None and layout.replicas is None:
        return
    url = connection.location.url
    told = connection.attempt(lambda: connection.client.cluster_status())
    peers = getattr(told, "peers", None)  # a server that is no cluster has none
    if peers is None:
        raise StoreError(
            f"the Qdrant at {url} is a single node, which has no use for shards and replicas; "
            "leave out --shards and --replicas, or name a cluster with --store"
        )
    if layout.replicas is not None and layout.replicas > len(peers):
        raise StoreError(
            f"cannot keep {layout.replicas} replicas: the cluster at {url} has {len(peers)} "
            f"{'node' if len(peers) == 1 else 'nodes'}; give --replicas {len(peers)} or fewer"
        )


def check_laid_out(found: Found, layout: Layout) -> None:
    """Refuse to pass over what a layout asks for because a collection is there already."""
    asked = {"shards": layout.shards, "replicas": layout.replicas}
    there = {"shards": found.shards, "replicas": found.replicas}
    for what, number in asked.items():
        if number is not None and there[what] != number:
            raise StoreError(
                f"the collection {found.name!r} at {found.url} is there already, with "
                f"{there[what]} {what}, not {number}; remove it with 'recdemo collections delete "
                f"{found.name}' to have it laid out anew"
            )
