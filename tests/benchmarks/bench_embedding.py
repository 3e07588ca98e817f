"""Embedding by `call` against the bare client, for the same batches, over loopback.

    uv run python -m tests.benchmarks.bench_embedding

The server answers at once with answers made beforehand, in a process of its own. Budget: at most
twice the bare client's time. The bare client sends one request after the other, builds its own
objects from the answer and an array of them; it checks nothing.
"""

import json
import multiprocessing
import statistics
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection

import numpy as np
import openai
from pydantic import SecretStr

from recdemo.embedding import FloatArray
from recdemo.embedding.account import open_account
from recdemo.embedding.batching import cut_requests
from recdemo.embedding.calling import call
from recdemo.embedding.openai import OPENAI, OpenAIService, open_at
from recdemo.embedding.options import EmbedOptions
from recdemo.embedding.tokens import ESTIMATE

N_TEXTS = 3_883
TIMES = 3
BUDGET = 2.0


class Answers(BaseHTTPRequestHandler):
    """Answers any number of texts with vectors of the dimension that ends the path."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    made: dict[tuple[int, int], bytes] = {}  # noqa: RUF012

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        size = (len(body["input"]), int(self.path.split("/")[1]))
        if size not in self.made:
            self.made[size] = _answer(*size)
        answer = self.made[size]
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        pass


def _answer(n_texts: int, dimension: int) -> bytes:
    vectors = np.random.default_rng(0).standard_normal((n_texts, dimension)).astype(np.float32)
    data = [
        {"object": "embedding", "index": i, "embedding": row}
        for i, row in enumerate(vectors.tolist())
    ]
    usage = {"prompt_tokens": 80 * n_texts, "total_tokens": 80 * n_texts}
    return json.dumps({"object": "list", "data": data, "model": "m", "usage": usage}).encode()


def serve(port: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    port.send(server.server_address[1])
    server.serve_forever()


def bare(client: openai.OpenAI, service: OpenAIService, texts: list[str]) -> FloatArray:
    vectors: list[list[float]] = []
    for positions in cut_requests(texts, service.limits, ESTIMATE):
        batch = [texts[position] for position in positions]
        answer = client.embeddings.create(model="m", input=batch, encoding_format="float")
        vectors.extend(entry.embedding for entry in answer.data)
    return np.array(vectors, np.float32)


def ours(service: OpenAIService, texts: list[str]) -> FloatArray:
    found: FloatArray | None = None
    for embedded in call(service, texts):
        if found is None:
            found = np.empty((len(texts), embedded.vectors.shape[1]), np.float32)
        found[embedded.positions] = embedded.vectors
    assert found is not None
    return found


def measure(port: int, dimension: int, at_once: int) -> float:
    """Return our time over the bare client's, both the median of interleaved runs."""
    address = f"http://127.0.0.1:{port}/{dimension}/v1"
    texts = [f"{i}: " + "some words about a film " * 13 for i in range(N_TEXTS)]
    account = open_account(OPENAI, None, SecretStr(address))
    service = open_at(account, "m", None, None, EmbedOptions(concurrency=at_once))
    client = openai.OpenAI(api_key="none", base_url=address, max_retries=0)
    seconds: tuple[list[float], list[float]] = ([], [])
    for run in range(TIMES + 1):
        results = []
        for which, embed in enumerate((lambda: bare(client, service, texts),
                                       lambda: ours(service, texts))):  # fmt: skip
            started = time.perf_counter()
            results.append(embed())
            if run:  # the first warms up
                seconds[which].append(time.perf_counter() - started)
        assert np.array_equal(results[0], results[1])
    theirs, mine = map(statistics.median, seconds)
    n_requests = sum(1 for _ in cut_requests(texts, service.limits, ESTIMATE))
    print(
        f"{dimension:5} dimensions, {n_requests} requests, {at_once} at once: "
        f"bare {theirs:.2f} s, call {mine:.2f} s, ratio {mine / theirs:.2f}"
    )
    return mine / theirs


def main() -> int:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    ratios = [measure(port, dimension, n) for dimension in (64, 1024) for n in (1, 4)]
    server.terminate()
    print(f"largest ratio {max(ratios):.2f}, budget {BUDGET:g}")
    return int(max(ratios) > BUDGET)


if __name__ == "__main__":
    sys.exit(main())
