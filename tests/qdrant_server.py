"""A server on loopback that speaks as much of Qdrant's REST as the store asks for.

The real ``qdrant_client`` talks to it, and the client's own in-process mode answers, so what is
tested is what goes over the wire: sizes, keys, versions, and what becomes of a server that dies.

- ``server.faults`` holds one entry per request to come: None, a status, a status and what the
  server says, or `CUT`, which closes the connection without a word. After
  ``server.dead_after`` requests all connections are cut.
- ``server.key`` and ``server.read_only_key``: as a server with keys answers.
- ``server.nodes``: of a cluster; 0 for a server that is none.
- ``server.statuses``: of collections, one for each time that somebody looks; then green.
- ``server.created``, ``server.nudged`` and ``server.searches``: what it was asked for.
- ``server.requests``: (method, path, bytes of the body, key) of all that came.
"""

import json
import socket
import threading
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias

from qdrant_client import QdrantClient, models

CUT = "cut"
Fault: TypeAlias = int | tuple[int, str] | str | None
READS = ("points/query/batch", "points/scroll", "points/count")


class QdrantServer:
    """Answers as Qdrant does; open it with ``with``."""

    def __init__(self) -> None:
        self.version = "1.20.0"
        self.key: str | None = None
        self.read_only_key: str | None = None
        self.faults: deque[Fault] = deque()
        self.dead_after: int | None = None
        self.nodes = 0
        self.statuses: deque[str] = deque()
        self.created: dict[str, dict[str, Any]] = {}  # name -> what it was asked to be
        self.nudged: list[str] = []
        self.searches: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str, int, str | None]] = []
        self.crashes: list[BaseException] = []
        self.client = QdrantClient(":memory:")
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self.client.close()

    def largest(self) -> int:
        """The bytes of the largest body that came."""
        return max(size for _, _, size, _ in self.requests)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _take(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body, key = self.rfile.read(length), self.headers.get("api-key")
                fault = fake.note(self.command, self.path, length, key)
                if fault == CUT:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                if isinstance(fault, tuple):
                    status, answer = fault[0], _error(fault[1])
                elif isinstance(fault, int):
                    status, answer = fault, _error(f"fault {fault}")
                else:
                    status, answer = fake.answer(self.command, self.path, body, key)
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _take

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def note(self, method: str, path: str, size: int, key: str | None) -> Fault:
        """Record a request, and return what goes wrong with it."""
        with self._lock:
            self.requests.append((method, path, size, key))
            if self.dead_after is not None and len(self.requests) > self.dead_after:
                return CUT
            return self.faults.popleft() if self.faults else None

    def answer(
        self, method: str, path: str, body: bytes, key: str | None
    ) -> tuple[int, dict[str, Any]]:
        """Return status and answer, as Qdrant gives them."""
        parts = [part for part in path.partition("?")[0].split("/") if part]
        if not parts:
            return 200, {"title": "qdrant - vector search engine", "version": self.version}
        keys = {self.key, self.read_only_key} - {None}
        if keys and key not in keys:
            return 401, _error("Must provide an API key or an Authorization bearer token")
        read = method == "GET" or "/".join(parts[2:]) in READS
        if key is not None and key == self.read_only_key and not read:
            return 403, _error("Forbidden: Global manage access is required")
        given = json.loads(body) if body else {}
        try:
            with self._lock:
                if parts == ["cluster"]:
                    result = self._cluster()
                else:
                    result = self._do(method, parts[1:], given)
        except ValueError as error:
            status = 404 if "not found" in str(error) else 409
            return status, _error(str(error))
        except BaseException as error:
            self.crashes.append(error)
            raise
        return 200, {"result": result, "status": "ok", "time": 0.0}

    def _do(self, method: str, parts: list[str], given: dict[str, Any]) -> Any:
        if not parts:
            return self.client.get_collections().model_dump(mode="json")
        name = parts[0]
        what = (method, "/".join(parts[1:]))
        asks: dict[tuple[str, str], Callable[[], Any]] = {
            ("GET", ""): lambda: self._info(name),
            ("PUT", ""): lambda: self._create(name, given),
            ("PATCH", ""): lambda: self._update(name, given),
            ("DELETE", ""): lambda: self.client.delete_collection(name),
            ("PUT", "points"): lambda: self._upsert(name, given),
            ("POST", "points/count"): lambda: self.client.count(name).model_dump(mode="json"),
            ("POST", "points/scroll"): lambda: self._scroll(name, given),
            ("POST", "points/query/batch"): lambda: self._query(name, given),
        }
        return asks[what]()

    def _cluster(self) -> dict[str, Any]:
        if not self.nodes:
            return {"status": "disabled"}
        return {
            "status": "enabled",
            "peer_id": 1,
            "peers": {str(i): {"uri": f"http://node-{i}:6335/"} for i in range(1, self.nodes + 1)},
            "raft_info": {"term": 1, "commit": 1, "pending_operations": 0, "is_voter": True},
            "consensus_thread_status": {
                "consensus_thread_status": "working",
                "last_update": "2026-01-01T00:00:00Z",
            },
            "message_send_failures": {},
        }

    def _info(self, name: str) -> dict[str, Any]:
        told: dict[str, Any] = self.client.get_collection(name).model_dump(mode="json")
        asked = self.created.get(name, {})
        params = told["config"]["params"]
        params["shard_number"] = asked.get("shard_number") or 1
        params["replication_factor"] = asked.get("replication_factor") or 1
        if self.statuses and told["points_count"]:
            told["status"] = self.statuses.popleft()
        return told

    def _update(self, name: str, given: dict[str, Any]) -> bool:
        if given.get("optimizers_config") is not None:
            self.nudged.append(name)
            return True
        return self.client.update_collection(name, metadata=given["metadata"])

    def _create(self, name: str, given: dict[str, Any]) -> bool:
        vectors = models.VectorParams.model_validate(given["vectors"])
        flat = given.get("hnsw_config") is None
        assert flat == (given["optimizers_config"]["indexing_threshold"] == 0)
        made = self.client.create_collection(name, vectors, metadata=given["metadata"])
        self.created[name] = given
        return made

    def _upsert(self, name: str, given: dict[str, Any]) -> Any:
        batch = models.Batch.model_validate(given["batch"])
        return self.client.upsert(name, batch).model_dump(mode="json")

    def _scroll(self, name: str, given: dict[str, Any]) -> Any:
        points, after = self.client.scroll(
            name,
            limit=given["limit"],
            offset=given.get("offset"),
            with_payload=given["with_payload"],
            with_vectors=given["with_vector"],
        )
        told = [point.model_dump(mode="json") for point in points]
        return {"points": told, "next_page_offset": after}

    def _query(self, name: str, given: dict[str, Any]) -> Any:
        searches = [models.QueryRequest.model_validate(each) for each in given["searches"]]
        assert all(each.params is not None for each in searches)
        self.searches += given["searches"]
        found = self.client.query_batch_points(name, searches)
        return [each.model_dump(mode="json") for each in found]


def _error(text: str) -> dict[str, Any]:
    return {"status": {"error": text}, "time": 0.0}
