"""Waiting for a server that builds the graph and the quantized copies of a collection."""

import time

from recdemo.errors import StoreError
from recdemo.store import Layout, remote, server_requests
from recdemo.store.connection import Connection

PATIENCE = 3600.0  # seconds
POLL = 0.5  # seconds between two looks


def until_optimized(connection: Connection, name: str, layout: Layout) -> None:
    """Wait until the server says that it is done; after an hour that is an error.

    Its status is gone by. The number of indexed vectors is approximate, and stays 0 where a
    collection is too small for an index.
    """
    url = connection.location.url
    wish = server_requests.optimizers(layout)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        told = connection.attempt(lambda: connection.client.get_collection(name))
        status = told.status.value if told else "red"
        if status == "green":
            return
        if status == "red":
            raise remote.damaged(name, url)
        if status == "grey":  # it goes on when it is told something; what it knows already will do
            connection.attempt(
                lambda: connection.client.update_collection(name, optimizers_config=wish)
            )
        connection.pause(POLL)
    raise StoreError(
        f"the Qdrant at {url} did not finish the index of {name} within {PATIENCE / 60:.0f} "
        "minutes; look at its log, and load again"
    )
