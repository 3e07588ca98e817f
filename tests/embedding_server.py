"""A real HTTP server on loopback that speaks OpenAI's, DashScope's and Ollama's embedding API.

The real ``openai`` and ``ollama`` clients talk to it, so what is tested is what a person runs.
It holds the services to their word and the client to the services' rules:

- **Addresses.** ``server.openai_url`` is a base URL for OpenAI's form, ``server.dashscope_url`` the
  same with DashScope's rules, ``server.url`` the host of Ollama.
- **Models.** ``server.models`` maps names to `ServedModel`; change it at any time. A name without
  a tag finds ``name:latest`` too. What ``server.pullable`` holds can be pulled.
- **Vectors** are functions of model, digest and text: ``server.vector(model, text, dimension)`` is
  what a right answer holds, so results are checked by value.
- **Rules.** A request that the real service would refuse is refused with its words, and, where
  recdemo could have known, also written to ``server.violations``: too many texts or tokens in a
  request, blank texts, token arrays, ``dimensions: null``, no ``encoding_format: "float"``, no
  ``truncate: false``, two requests at once to Ollama, an address that should not be used. The
  fixture ``embedding_server`` fails the test when there is one, or when the server crashed.
  One token is one word here.
- **Faults.** Each embedding request takes the next of ``server.faults``, in order of arrival;
  ``None`` is none, and an empty list means no more faults. ``server.always`` is the fault of
  all requests beyond the list. Requests that hold one of ``server.bad_texts`` get Ollama's NaN
  error, or a NaN in the vector of that text in OpenAI's form.
- **Records.** ``server.requests``: what came in (`Received`), embedding requests only;
  ``server.paid``: how often each text was embedded by an answer with status 200 that was
  sent whole; ``server.other``: method and path of all else, ``/api/tags`` say.
- **Keys.** With ``server.key`` set, OpenAI's form wants it as the bearer.
- **Restart.** ``restart()`` drops all connections and listens on the same port again; change
  ``server.models`` before it to come back with another digest.
- **More addresses.** ``server.routes[("POST", "/v1/chat/completions")] = function`` takes a
  `Received` and returns an `Answer`.
"""

import contextlib
import json
import socket
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tests import embedding_ollama, embedding_openai
from tests.embedding_faults import Answer, Fault, Received, ServedModel, unit_vector

MODELS = {
    "text-embedding-3-large": ServedModel(dimension=3072, context=8192),
    "text-embedding-3-small": ServedModel(dimension=1536, context=8192),
    "text-embedding-ada-002": ServedModel(dimension=1536, context=8192, shortens=False),
    "text-embedding-v4": ServedModel(dimension=2048, default=1024, context=8192),
    "text-embedding-v2": ServedModel(dimension=1536, context=2048, shortens=False, texts=25),
    "tiny": ServedModel(dimension=8, context=100),  # unknown to recdemo, and quick
    "nomic-embed-text:latest": ServedModel(dimension=768, context=2048, family="nomic-bert"),
    "mxbai-embed-large:latest": ServedModel(dimension=1024, context=512, family="bert"),
    "bge-m3:latest": ServedModel(dimension=1024, context=8192, family="bert"),
    "tiny:latest": ServedModel(dimension=8, context=100, family="tiny"),
}


class EmbeddingServer:
    """Starts at once; ``close()`` or a ``with`` statement ends it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.released = threading.Event()  # lets go of what hangs
        self.reset()
        self.crashes: list[str] = []
        self._connections: set[socket.socket] = set()
        self._listen(0)

    def reset(self) -> None:
        """Forget requests, faults and changes, so that one server serves many examples."""
        self.models = dict(MODELS)
        self.pullable: dict[str, ServedModel] = {}
        self.version = "0.31.0"  # of Ollama
        self.key: str | None = None
        self.faults: deque[Fault | None] = deque()
        self.always: Fault | None = None
        self.bad_texts: set[str] = set()
        self.requests: list[Received] = []
        self.other: list[tuple[str, str]] = []
        self.paid: Counter[str] = Counter()
        self.violations: list[str] = []
        self.under_way: Counter[str] = Counter()  # of each form
        self.most_at_once: Counter[str] = Counter()
        self.routes: dict[tuple[str, str], Callable[[Received], Answer]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def dashscope_url(self) -> str:
        return f"{self.url}/compatible-mode/v1"

    def model(self, name: str) -> ServedModel | None:
        return self.models.get(name) or self.models.get(f"{name}:latest")

    def vector(self, model: str, text: str, dimension: int | None = None) -> NDArray[np.float32]:
        """The vector that a right answer holds, ``(dimension,)``, length 1."""
        served = self.model(model)
        assert served is not None, f"the server has no model {model!r}"
        seed = f"{model.removesuffix(':latest')} {served.digest} {text}"
        return unit_vector(seed, served.dimension, dimension or served.default)

    def violate(self, rule: str) -> None:
        with self.lock:
            self.violations.append(rule)

    def next_fault(self) -> Fault | None:
        with self.lock:
            return self.faults.popleft() if self.faults else self.always

    def check(self) -> None:
        """Fail when a rule was broken or the server crashed."""
        assert not self.violations, self.violations
        assert not self.crashes, self.crashes

    def restart(self) -> None:
        """Drop all connections and listen on the same port again."""
        port = self.port
        self.close()
        self.released = threading.Event()
        self._listen(port)

    def close(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        with self.lock:
            connections = list(self._connections)
        for connection in connections:
            cut_off(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _listen(self, port: int) -> None:
        self._http = _Http(("127.0.0.1", port), _handler(self))
        self._http.crashes = self.crashes
        self.port = int(self._http.server_address[1])
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def connected(self, connection: socket.socket, here: bool) -> None:
        with self.lock:
            (self._connections.add if here else self._connections.discard)(connection)

    def answer(self, received: Received) -> Answer:
        """Answer one request: an embedding form, Ollama's other addresses, or `routes`."""
        place = (received.method, received.path)
        if place in self.routes:
            return self.routes[place](received)
        forms = {
            ("POST", "/v1/embeddings"): embedding_openai.embeddings,
            ("POST", "/compatible-mode/v1/embeddings"): embedding_openai.embeddings,
            ("POST", "/api/embed"): embedding_ollama.embed,
        }
        if place in forms:
            return self._embed(forms[place], received)
        with self.lock:
            self.other.append(place)
        if place == ("GET", "/v1/models"):
            return embedding_openai.models(self)
        return embedding_ollama.other(self, received)

    def _embed(
        self, form: Callable[["EmbeddingServer", Received], Answer], received: Received
    ) -> Answer:
        with self.lock:
            self.requests.append(received)
            self.under_way[received.path] += 1
            self.most_at_once[received.path] = max(
                self.most_at_once[received.path], self.under_way[received.path]
            )
        try:
            answer = form(self, received)
        finally:
            with self.lock:
                self.under_way[received.path] -= 1
        if answer.status == 200 and not answer.cut:
            with self.lock:
                self.paid.update(received.texts)
        return answer


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    crashes: list[str]

    def handle_error(self, request: Any, client_address: Any) -> None:
        text = traceback.format_exc()
        if not any(name in text for name in ("ConnectionReset", "BrokenPipe", "OSError")):
            self.crashes.append(text)


def _handler(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are kept, as real services keep them
        disable_nagle_algorithm = True
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            server.connected(self.connection, True)

        def finish(self) -> None:
            server.connected(self.connection, False)
            super().finish()

        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_DELETE(self) -> None:
            self._answer()

        def _answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            raw = self.rfile.read(length)
            body = json.loads(raw) if raw else {}
            received = Received(self.command, self.path, dict(self.headers.items()), body, length)
            answer = server.answer(received)
            if answer.status == 0:  # hang up without a word
                cut_off(self.connection)
                return
            self.send_response(answer.status)
            for name, value in {"content-type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: len(answer.body) // 2] if answer.cut else answer.body)
            self.wfile.flush()
            if answer.cut:
                cut_off(self.connection)

        def handle_one_request(self) -> None:
            super().handle_one_request()
            if server.released.is_set():
                self.close_connection = True

    return Handler


def cut_off(connection: socket.socket) -> None:
    """End a connection for both sides; the thread that owns it closes it."""
    with contextlib.suppress(OSError):  # it is gone already
        connection.shutdown(socket.SHUT_RDWR)
