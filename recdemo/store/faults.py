"""What a server refused, or why it did not answer, as one line that says what to do."""

import json
import re
from dataclasses import dataclass

from recdemo.errors import StoreError
from recdemo.store.location import GRPC_PORT, PORT, Location

START = "'docker compose up -d --wait'"
TRANSIENT = (408, 429, 500, 502, 503, 504)
_LONGEST = 300  # characters of what a server says
_PLAIN_TLS = re.compile(r"WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE|UNEXPECTED_MESSAGE", re.I)
_CUT_OFF = re.compile(r"disconnected|illegal|reset by peer|HTTPS port", re.I)
_NODE_AWAY = re.compile(r"active replica|(read )?operations failed|tonic status", re.I)
_NO_ROOM = re.compile(r"no space left|disk full|not enough space|out of disk", re.I)


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong with one request."""

    status: int | None  # as HTTP has it; None: no answer came
    text: str  # what the server said, or what became of the connection
    of_qdrant: bool = True  # False: an answer came that Qdrant does not give

    @property
    def may_pass(self) -> bool:
        """Whether to ask again; all that is asked of a server may be asked twice."""
        passes = self.status is None or self.status in TRANSIENT
        return self.of_qdrant and passes and not _NO_ROOM.search(self.text)


def said(content: bytes) -> str:
    """Return what a server's answer says, in one line."""
    text = content.decode("utf-8", "replace")
    try:
        values = json.loads(text)
        text = str(values["status"]["error"])
    except (ValueError, KeyError, TypeError):  # not JSON, or not of Qdrant's form
        pass
    return " ".join(text.split())[:_LONGEST]


def refusal(location: Location, fault: Fault, *, has_key: bool, connected: bool) -> StoreError:
    """Return the error for the user.

    Args:
        has_key: whether a key was sent.
        connected: whether the server had answered as Qdrant before.
    """
    if fault.status == 401 or (fault.status == 403 and not connected and not has_key):
        return StoreError(_wrong_key(location, fault, has_key))
    if not fault.of_qdrant or (not connected and fault.status in (400, 404, 405)):
        return StoreError(_not_qdrant(location, fault))
    if fault.status is None:
        return StoreError(_stopped(location, fault) if connected else _nobody(location, fault))
    if fault.status == 403:
        return StoreError(
            f"the Qdrant at {location.url} does not let the key in RECDEMO_STORE_KEY do this "
            f"({fault.text}); to load, copy or delete, set one that may write"
        )
    if _NO_ROOM.search(fault.text):
        return StoreError(
            f"the Qdrant at {location.url} has no room ({fault.text}); make room there, or remove "
            "collections with 'recdemo collections prune'"
        )
    if fault.status is not None and fault.status >= 500 and _NODE_AWAY.search(fault.text):
        return StoreError(
            f"the Qdrant cluster at {location.url} cannot answer whole, since a node is away "
            f"({fault.text}); start the node again, or load with --replicas 2 or more, so that "
            "each part of a collection stands on several nodes"
        )
    return StoreError(
        f"the Qdrant at {location.url} refused with status {fault.status}: "
        f"{fault.text or 'no reason given'}"
    )


def _wrong_key(location: Location, fault: Fault, has_key: bool) -> str:
    if not has_key:
        return f"the Qdrant at {location.url} asks for a key; set it in RECDEMO_STORE_KEY"
    return (
        f"the Qdrant at {location.url} does not know the key in RECDEMO_STORE_KEY"
        f"{f' ({fault.text})' if fault.text else ''}; set the right one"
    )


def _not_qdrant(location: Location, fault: Fault) -> str:
    if _CUT_OFF.search(fault.text) and location.url.startswith("http:"):
        return f"what answers at {location.url} speaks https; write {_other(location)}"
    status = "" if fault.status is None else f" (status {fault.status})"
    return (
        f"what answers at {location.url} is not Qdrant{status}; expected the address of a Qdrant "
        f"server, port {PORT} as a rule"
    )


def _nobody(location: Location, fault: Fault) -> str:
    if _PLAIN_TLS.search(fault.text) and location.url.startswith("https:"):
        return f"what answers at {location.url} does not speak https; write {_other(location)}"
    hint = ""
    if location.url.endswith(f":{GRPC_PORT}"):
        hint = f"; {GRPC_PORT} is the port of gRPC as a rule, write {PORT}"
    elif location.grpc:
        hint = f"; asked by gRPC at port {GRPC_PORT}"
    elif _CUT_OFF.search(fault.text) and location.url.startswith("http:"):
        hint = f"; if it speaks https, write {_other(location)}"
    return (
        f"no Qdrant answers at {location.url} ({fault.text}){hint}; start one with {START}, or "
        "leave out --store to use the embedded one"
    )


def _stopped(location: Location, fault: Fault) -> str:
    return (
        f"the Qdrant at {location.url} no longer answers ({fault.text}); when it does, run the "
        "same command again: collections that were loaded whole are kept"
    )


def _other(location: Location) -> str:
    scheme, _, rest = location.url.partition("://")
    return f"{'http' if scheme == 'https' else 'https'}://{rest}"
