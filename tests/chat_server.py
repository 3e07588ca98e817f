"""Chat for the embedding server of the tests: OpenAI's form and Ollama's.

`serve` adds both addresses. What is said is ``chat.says(prompt)``; each request takes the next of
``chat.faults`` first, where ``None`` is none. A request that the real service would refuse is
refused and written to ``server.violations``. A token is a word.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.embedding_faults import Answer, Received, ServedModel, count_words, error_answer, reply
from tests.embedding_server import EmbeddingServer

KEY = "sk-very-secret-0123456789"
OVERLOADED = reply(503, {"error": {"message": "overloaded"}})
HANGS_UP = Answer(0, b"")


@dataclass
class FakeChat:
    """What is said, and what was asked."""

    server: EmbeddingServer
    says: Callable[[str], str | dict[str, Any]]  # a dictionary is laid over the answer's fields
    faults: deque[Answer | None] = field(default_factory=deque)
    bodies: list[dict[str, Any]] = field(default_factory=list)  # of all requests
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][0]["content"] for body in self.bodies]

    def _take(self, received: Received) -> Answer | None:
        with self.lock:
            self.bodies.append(received.body)
            return self.faults.popleft() if self.faults else None

    def openai(self, received: Received) -> Answer:
        fault = self._take(received)
        if fault is not None:
            return fault
        headers = {name.lower(): value for name, value in received.headers.items()}
        if self.server.key and headers.get("authorization") != f"Bearer {self.server.key}":
            return error_answer(401, "Incorrect API key provided", "invalid_api_key")
        body = received.body
        if body.get("stream") or not 0 <= body["temperature"] <= 2:
            self.server.violate("a stream, or a temperature out of range")
        said = self.says(body["messages"][0]["content"])
        text, more = (said, {}) if isinstance(said, str) else ("", said)
        message = {"role": "assistant", "content": text} | more.get("message", {})
        usage = {
            "prompt_tokens": count_words(body["messages"][0]["content"]),
            "completion_tokens": count_words(message["content"] or ""),
        }
        choice = {"index": 0, "message": message, "finish_reason": more.get("reason", "stop")}
        return reply(200, {"id": "c1", "choices": [choice], "usage": usage, **more.get("top", {})})

    def ollama(self, received: Received) -> Answer:
        fault = self._take(received)
        if fault is not None:
            return fault
        body = received.body
        if self.server.model(body["model"]) is None:
            return reply(404, {"error": f"model '{body['model']}' not found"})
        if body.get("stream") or "temperature" not in body["options"]:
            self.server.violate("a stream, or no temperature")
        said = self.says(body["messages"][0]["content"])
        text, more = (said, {}) if isinstance(said, str) else ("", said)
        message = {"role": "assistant", "content": text} | more.get("message", {})
        answer = {
            "model": body["model"],
            "created_at": "2026-08-21T10:00:00Z",
            "message": message,
            "done": True,
            "done_reason": more.get("reason", "stop"),
            "prompt_eval_count": count_words(body["messages"][0]["content"]),
            "eval_count": count_words(message["content"]),
        }
        return reply(200, answer)


def serve(server: EmbeddingServer, says: Callable[[str], str | dict[str, Any]]) -> FakeChat:
    """Have *server* chat."""
    chat = FakeChat(server, says)
    server.models["llama:latest"] = ServedModel(dimension=8, context=4096)
    server.routes["POST", "/v1/chat/completions"] = chat.openai
    server.routes["POST", "/api/chat"] = chat.ollama
    return chat
