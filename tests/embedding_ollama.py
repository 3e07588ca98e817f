"""Ollama's form of the embedding server: its rules, refusals and answers."""

import json
from typing import TYPE_CHECKING

import numpy as np

from tests.embedding_faults import Answer, Fault, Received, ServedModel, count_words, reply, spoil

if TYPE_CHECKING:
    from tests.embedding_server import EmbeddingServer

CREATED = "2026-08-21T10:00:00Z"


def embed(server: "EmbeddingServer", received: Received) -> Answer:
    """Answer ``POST /api/embed``."""
    if server.under_way[received.path] > 1:
        server.violate("two requests at once to Ollama")
    fault = server.next_fault()
    answer = _refuse(server, received) or _fail(server, fault)
    if answer is not None:
        return answer
    name = received.body["model"]
    model = server.model(name)
    assert model is not None
    asked = received.body.get("dimensions")
    # A dimension at or above the model's own is ignored without a word, as Ollama does.
    dimension = asked if asked and asked < model.dimension else None
    vectors = [server.vector(name, text, dimension) for text in received.texts]
    rows = spoil(fault, np.stack(vectors)) if vectors else []
    whole = {
        "model": name,
        "embeddings": rows,
        "total_duration": 14_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": received.tokens,
    }
    return Answer(200, json.dumps(whole).encode(), cut=fault is not None and fault.kind == "cut")


def _fail(server: "EmbeddingServer", fault: Fault | None) -> Answer | None:
    """Return what stands in place of an answer, or None."""
    if fault is None:
        return None
    if fault.kind in ("hang", "slow"):
        server.released.wait(fault.seconds)
        return Answer(0, b"") if fault.kind == "hang" else None
    page = b"<!doctype html><html><body>Welcome to the router</body></html>"
    answers = {
        "rate limit": reply(429, {"error": "too many requests"}),
        "server error": reply(500, {"error": "llama runner process has terminated"}),
        "overloaded": reply(503, {"error": "server busy, please try again. maximum pending "
                                  "requests exceeded"}),
        "too much": reply(400, {"error": "the input length exceeds the context length"}),
        "nan": _nan(),
        "drop": Answer(0, b""),
        "nul bytes": Answer(200, b"\0" * 100),
        "web page": Answer(200, page, {"content-type": "text/html; charset=utf-8"}),
        "no data": reply(200, {"models": []}),
    }  # fmt: skip
    return answers.get(fault.kind)


def _refuse(server: "EmbeddingServer", received: Received) -> Answer | None:
    """Hold a request to the rules; None where all are kept."""
    body, given = received.body, received.body.get("input")
    model = server.model(body.get("model", ""))
    if model is None:
        return _missing(body.get("model", ""))
    if body.get("truncate") is not False:
        server.violate("truncate is not false")
    if not isinstance(given, str | list) or not all(isinstance(t, str) for t in received.texts):
        server.violate("input is not a list of texts")
        return reply(400, {"error": "invalid input type"})
    if not received.texts or not all(text.strip() for text in received.texts):
        server.violate("a blank text, or none")  # 200 and no vectors, which helps nobody
        return reply(200, {"model": body["model"], "embeddings": []})
    context = min(model.context, (body.get("options") or {}).get("num_ctx", model.context))
    if any(count_words(text) > context for text in received.texts):
        return reply(400, {"error": "the input length exceeds the context length"})
    if any(text in server.bad_texts for text in received.texts):
        return _nan()
    return None


def other(server: "EmbeddingServer", received: Received) -> Answer:
    """Answer Ollama's other addresses; what nobody should ask for is a violation."""
    name = received.body.get("model") or received.body.get("name") or ""
    place = (received.method, received.path)
    if place == ("GET", "/"):
        return Answer(200, b"Ollama is running", {"content-type": "text/plain"})
    if place == ("GET", "/api/version"):
        return reply(200, {"version": server.version})
    if place == ("GET", "/api/tags"):
        return reply(200, {"models": [_tag(n, m) for n, m in server.models.items()]})
    if place == ("POST", "/api/show"):
        model = server.model(name)
        return _missing(name) if model is None else reply(200, _show(model))
    if place == ("POST", "/api/pull"):
        return _pull(server, name, received.body.get("stream", True))
    if place == ("POST", "/api/embeddings"):
        server.violate("the old address /api/embeddings, whose vectors are not normalized")
    return reply(404, {"error": f"no such address: {received.path}"})


def _missing(name: str) -> Answer:
    return reply(404, {"error": f"model '{name}' not found"})


def _nan() -> Answer:
    return reply(500, {"error": "failed to encode response: json: unsupported value: NaN"})


def _tag(name: str, model: ServedModel) -> dict[str, object]:
    details = {
        "parent_model": "",
        "format": "gguf",
        "family": model.family,
        "families": [model.family],
        "parameter_size": "137M",
        "quantization_level": model.quantization,
    }
    return {
        "name": name,
        "model": name,
        "modified_at": CREATED,
        "size": 274_302_450,
        "digest": model.digest,
        "details": details,
    }


def _show(model: ServedModel) -> dict[str, object]:
    information = {
        "general.architecture": model.family,
        f"{model.family}.context_length": model.context,
        f"{model.family}.embedding_length": model.dimension,
    }
    return {
        "modelfile": "",
        "parameters": "",
        "template": "{{ .Prompt }}",
        "details": _tag("", model)["details"],
        "model_info": information,
        "capabilities": list(model.capabilities),
        "modified_at": CREATED,
    }


def _pull(server: "EmbeddingServer", name: str, stream: bool) -> Answer:
    found = server.pullable.get(name) or server.pullable.get(f"{name}:latest")
    if found is None:
        steps: list[dict[str, object]] = [
            {"status": "pulling manifest"},
            {"error": "pull model manifest: file does not exist"},
        ]
        return _lines(steps) if stream else reply(500, steps[-1])
    server.models[name if ":" in name else f"{name}:latest"] = found
    layer = f"sha256:{found.digest}"
    steps = [
        {"status": "pulling manifest"},
        {"status": f"pulling {found.digest}", "digest": layer, "total": 1000, "completed": 250},
        {"status": f"pulling {found.digest}", "digest": layer, "total": 1000, "completed": 1000},
        {"status": "verifying sha256 digest"},
        {"status": "success"},
    ]
    return _lines(steps) if stream else reply(200, steps[-1])


def _lines(steps: list[dict[str, object]]) -> Answer:
    body = b"".join(json.dumps(step).encode() + b"\n" for step in steps)
    return Answer(200, body, {"content-type": "application/x-ndjson"})
