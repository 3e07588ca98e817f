"""A real Qdrant for tests: one that runs already, or one in Docker; without either they skip.

- ``RECDEMO_TEST_QDRANT_URL`` (and ``_KEY``) names a server of the tests' own: it must be empty, for
  everything on it is removed. ``RECDEMO_TEST_QDRANT_GRPC_PORT`` is its other port, 6334.
- Else Docker starts the image that the code names. ``--require-docker`` turns a skip for want of
  it into a failure. Where the container that cleans up (Ryuk) cannot run, set
  ``TESTCONTAINERS_RYUK_DISABLED=true``: the tests stop what they started anyway.
"""

import gc
import os
import socket
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import SecretStr

from recdemo.store.connection import QDRANT_IMAGE, connect
from recdemo.store.location import GRPC, parse_location
from recdemo.store.server import ServerStore

START_SECONDS = 60


@dataclass(frozen=True)
class RealServer:
    """Where a Qdrant answers; the container is None where it was there before."""

    url: str
    grpc_port: int
    key: str | None = None
    container: Any = None

    def open(self, key: str | None = None, *, grpc: bool = False) -> ServerStore:
        """Open the store, with another key than the right one where one is given."""
        secret = key or self.key
        address = parse_location(f"{GRPC if grpc else ''}{self.url}")
        return ServerStore(
            connect(address, SecretStr(secret) if secret else None, grpc_port=self.grpc_port)
        )


@contextmanager
def running(request: pytest.FixtureRequest, **environment: str) -> Iterator[RealServer]:
    """Start a Qdrant in Docker; its ports stay the same over a restart."""
    _need_docker(request)
    container = _container(environment.pop("API_KEY", None))
    for name, value in environment.items():
        container.with_env(f"QDRANT__SERVICE__{name}", value)
    with _started(container) as server:
        yield server


@contextmanager
def cluster(request: pytest.FixtureRequest, n_nodes: int = 3) -> Iterator[list[RealServer]]:
    """Start a cluster in Docker, its nodes in a network of their own, and wait until all joined."""
    _need_docker(request)
    from testcontainers.core.network import Network

    with Network() as network, ExitStack() as nodes:
        servers: list[RealServer] = []
        for i in range(1, n_nodes + 1):
            first = "" if i == 1 else " --bootstrap http://node-1:6335"
            container = _container(None).with_env("QDRANT__CLUSTER__ENABLED", "true")
            container.with_network(network).with_network_aliases(f"node-{i}")
            container.with_command(f"./qdrant --uri http://node-{i}:6335{first}")
            servers.append(nodes.enter_context(_started(container)))
        _wait_for_peers(servers)
        yield servers


def _wait_for_peers(servers: Sequence[RealServer]) -> None:
    end = time.monotonic() + START_SECONDS
    for server in servers:
        with closing(server.open()) as store:
            while len(store._client.cluster_status().peers) < len(servers):  # type: ignore[union-attr]
                if time.monotonic() > end:
                    pytest.fail(f"the {len(servers)} nodes did not find each other")
                time.sleep(0.2)


def _container(key: str | None) -> Any:
    from testcontainers.community.qdrant import QdrantContainer
    from testcontainers.core.wait_strategies import HttpWaitStrategy

    container = QdrantContainer(QDRANT_IMAGE, api_key=key)
    ready = HttpWaitStrategy(6333, "/readyz").for_status_code(200)
    return container.waiting_for(ready.with_startup_timeout(START_SECONDS))


@contextmanager
def _started(container: Any) -> Iterator[RealServer]:
    rest, grpc = _free_port(), _free_port()
    container.with_bind_ports(6333, rest).with_bind_ports(6334, grpc)
    try:
        container.start()
    except Exception as error:  # whatever it was, its log tells more
        log = container.get_logs() if container.get_wrapped_container() else "no container"
        container.stop()
        pytest.fail(f"Qdrant did not start within {START_SECONDS} s: {error!r}\n{log}")
    try:
        host = container.get_container_host_ip()
        yield RealServer(f"http://{host}:{rest}", grpc, container._api_key, container)
    finally:
        container.stop()


@pytest.fixture(scope="session")
def any_server(request: pytest.FixtureRequest) -> Iterator[RealServer]:
    """The server that all tests share."""
    url = os.environ.get("RECDEMO_TEST_QDRANT_URL")
    if not url:
        with running(request) as server:
            yield server
        return
    port = int(os.environ.get("RECDEMO_TEST_QDRANT_GRPC_PORT", "6334"))
    server = RealServer(url, port, os.environ.get("RECDEMO_TEST_QDRANT_KEY"))
    there = _names(server)
    if there:
        pytest.fail(f"{url} holds {', '.join(there)}; the tests need an empty server of their own")
    yield server


@pytest.fixture
def real_server(any_server: RealServer) -> Iterator[RealServer]:
    """The shared server, empty."""
    yield any_server
    store = any_server.open()
    for name in _names(any_server):
        store._client.delete_collection(name)
    store.close()


def _names(server: RealServer) -> list[str]:
    store = server.open()
    names = [each.name for each in store._client.get_collections().collections]
    store.close()
    return names


def _need_docker(request: pytest.FixtureRequest) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # docker-py leaves its socket open
        reason = _lacks()
        gc.collect()
    if reason is None:
        return
    if request.config.getoption("--require-docker"):
        pytest.fail(f"--require-docker: {reason}")
    pytest.skip(reason)


def _lacks() -> str | None:
    """Return why no Qdrant can be started here, None where one can."""
    import docker
    from docker.errors import DockerException, ImageNotFound

    try:
        client = docker.from_env()
    except DockerException as error:
        return f"no RECDEMO_TEST_QDRANT_URL, and no Docker: {str(error)[:100]}"
    try:
        client.ping()
        try:
            client.images.get(QDRANT_IMAGE)
        except ImageNotFound:
            client.images.pull(*QDRANT_IMAGE.split(":"))
    except DockerException as error:
        return f"no RECDEMO_TEST_QDRANT_URL, and no image {QDRANT_IMAGE}: {str(error)[:100]}"
    finally:
        client.close()
    return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
