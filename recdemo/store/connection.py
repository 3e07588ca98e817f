"""The connection to a Qdrant server: opened, held to what it must be, and asked again if need be.

All that a store asks may be asked twice, so a request without an answer is made again, a few
times; then there is one line for the user. A server that has not answered yet is asked once.
"""

import re
import time
from collections.abc import Callable
from importlib.metadata import version
from json import JSONDecodeError
from typing import TypeVar

import grpc
import httpx
from pydantic import SecretStr
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from recdemo.errors import StoreError
from recdemo.store import Notice
from recdemo.store.faults import Fault, refusal, said
from recdemo.store.location import GRPC_PORT, Location

QDRANT_IMAGE = "qdrant/qdrant:v1.20.0"  # of docker-compose.yml and of the tests
TIMEOUT = 60  # seconds for one request
WAITS = (0.5, 2.0, 8.0)  # seconds before asking again

_STATUS = {
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNAVAILABLE: None,
    grpc.StatusCode.DEADLINE_EXCEEDED: None,
    grpc.StatusCode.INTERNAL: 500,
}
_RAISED = (
    UnexpectedResponse,
    ResponseHandlingException,
    ResourceExhaustedResponse,
    grpc.RpcError,
    ValueError,
)
T = TypeVar("T")


class Connection:
    """Asks a server, again where that may help, and turns its refusals into lines.

    Args:
        client: asks the first node; closed with the connection, as all are.
        open_client: opens one that asks another node of *location*.
        has_key: whether *client* sends a key.
        on_wait: is told before a request is made again.
        sleep: waits that many seconds.
    """

    def __init__(
        self,
        client: QdrantClient,
        location: Location,
        *,
        open_client: Callable[[Location], QdrantClient] | None = None,
        has_key: bool = False,
        on_wait: Notice = lambda message: None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.client, self.location = client, location  # of the node that is asked at present
        self._nodes = (location, *location.others) if open_client else (location,)
        self._clients = {location: client}
        self._open_client = open_client
        self.version = ""  # of the server, once it has answered
        self._gone = False  # no answer after all waits: asked only once from then on
        self._has_key, self._on_wait, self._sleep = has_key, on_wait, sleep

    def greet(self) -> None:
        """Refuse what is no Qdrant, is too old or too new, or does not take the key."""
        told = self.attempt(lambda: self.client.info())
        if told is None or "qdrant" not in told.title.lower():
            raise self._refusal(Fault(200, "", of_qdrant=False))
        _check_version(self.location, told.version)
        self.attempt(
            lambda: self.client.get_collections()
        )  # the version is told without a key, too
        self.version = told.version

    def attempt(self, ask: Callable[[], T], none_if: int | None = None) -> T | None:
        """Ask; None is returned only where the server refuses with the status *none_if*.

        What is asked must take the client from the connection each time: when a node of a
        cluster does not answer, the next one is asked.
        """
        waits = iter(WAITS if self.version and not self._gone else ())
        untried = len(self._nodes) - 1
        while True:
            asked = self.location
            try:
                return ask()
            except _RAISED as error:
                fault = fault_of(error)
                if fault is None:  # a mistake of ours
                    raise
                if none_if is not None and fault.status == none_if:
                    return None
                if fault.status is None and untried:
                    untried -= 1
                    self._ask_the_next(asked, fault)
                    continue
                wait, untried = next(waits, None), len(self._nodes) - 1
                if wait is None or not fault.may_pass:
                    self._gone = fault.may_pass
                    raise self._refusal(fault) from error
            self._on_wait(f"{self.location.url}: {fault.text}; asking again in {wait:g} s")
            self._sleep(wait)

    def close(self) -> None:
        """Close the connections to all nodes."""
        for client in self._clients.values():
            client.close()

    def _ask_the_next(self, asked: Location, fault: Fault) -> None:
        """Have the node after *asked* be the one that is asked; another thread may have done so."""
        if self.location is not asked or self._open_client is None:
            return
        location = self._nodes[(self._nodes.index(asked) + 1) % len(self._nodes)]
        if location not in self._clients:
            self._clients[location] = self._open_client(location)
        self.client, self.location = self._clients[location], location
        self._on_wait(f"{asked.url} does not answer ({fault.text}); asking {location.url}")

    def pause(self, seconds: float) -> None:
        """Wait before the server is asked about something that it is still at."""
        self._sleep(seconds)

    def _refusal(self, fault: Fault) -> StoreError:
        connected = bool(self.version)
        return refusal(self.location, fault, has_key=self._has_key, connected=connected)


def connect(
    location: Location,
    key: SecretStr | None = None,
    on_wait: Notice = lambda message: None,
    *,
    grpc_port: int = GRPC_PORT,
    sleep: Callable[[float], None] = time.sleep,
) -> Connection:
    """Connect to a server, which must answer, and be Qdrant of a version that fits."""
    secret = "" if key is None else key.get_secret_value().strip()
    if not (secret.isascii() and secret.isprintable()):
        raise StoreError("the key in RECDEMO_STORE_KEY holds characters that no key can have")

    def open_client(node: Location) -> QdrantClient:
        return QdrantClient(
            url=node.url,
            # not as api_key: the client warns of http then, even on this machine
            headers={"api-key": secret} if secret else None,
            prefer_grpc=node.grpc,
            grpc_port=grpc_port,
            timeout=TIMEOUT,
            check_compatibility=False,  # it would warn from another thread
        )

    connection = Connection(
        open_client(location),
        location,
        open_client=open_client,
        has_key=bool(secret),
        on_wait=on_wait,
        sleep=sleep,
    )
    try:
        connection.greet()
    except BaseException:
        connection.close()
        raise
    return connection


def fault_of(error: Exception) -> Fault | None:
    """Return what an error of the client's means; None where it is none of a server.

    The client's local mode, which tests use, raises `ValueError` where a server says 404.
    """
    if isinstance(error, UnexpectedResponse):
        return Fault(error.status_code, said(error.content))
    if isinstance(error, ResourceExhaustedResponse):
        return Fault(429, str(error))
    if isinstance(error, ResponseHandlingException):
        source = error.source
        if isinstance(source, httpx.TransportError):
            return Fault(None, " ".join(str(source).split()) or type(source).__name__)
        return Fault(200, type(source).__name__, of_qdrant=False)
    if isinstance(error, grpc.RpcError):
        return _of_grpc(error)
    if isinstance(error, JSONDecodeError | UnicodeDecodeError):
        return Fault(200, "", of_qdrant=False)
    match = re.fullmatch(r"Collection .* (not found|already exists)", str(error))
    return Fault(404 if match[1] == "not found" else 409, str(error)) if match else None


def _of_grpc(error: grpc.RpcError) -> Fault:
    # every error of a call is a grpc.Call as well
    code = error.code()
    text = " ".join(str(error.details()).split())
    return Fault(_STATUS.get(code, 400), text)


def _check_version(location: Location, server: str) -> None:
    """Refuse a server that the client was not made for: another major, or two minors away."""
    client = version("qdrant-client")
    (major, minor), theirs = _numbers(client) or (0, 0), _numbers(server)
    if theirs is None or theirs[0] != major or abs(theirs[1] - minor) > 1:
        raise StoreError(
            f"the Qdrant at {location.url} is of version {server}, and qdrant-client {client} "
            f"goes with {major}.{minor - 1} to {major}.{minor + 1}; use the image {QDRANT_IMAGE}"
        )


def _numbers(text: str) -> tuple[int, int] | None:
    match = re.match(r"v?(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None
