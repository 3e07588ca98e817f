"""OpenAI's form of the embedding server: its rules, refusals and answers."""

import base64
import json
from typing import TYPE_CHECKING

import numpy as np

from tests.embedding_faults import (
    Answer,
    Fault,
    Received,
    ServedModel,
    count_words,
    error_answer,
    reply,
    spoil,
)

if TYPE_CHECKING:
    from tests.embedding_server import EmbeddingServer

TEXTS = {"/v1/embeddings": 2048, "/compatible-mode/v1/embeddings": 10}  # per request
TOKENS = 300_000  # per request
BYTES = 5 * 2**20  # per request, a rule of recdemo's own


def models(server: "EmbeddingServer") -> Answer:
    data = [{"id": name, "object": "model"} for name in server.models]
    return reply(200, {"object": "list", "data": data})


def embeddings(server: "EmbeddingServer", received: Received) -> Answer:
    """Answer ``POST /embeddings``."""
    fault = server.next_fault()
    refused = _refuse(server, received) or _fail(server, fault)
    if refused is not None:
        return refused
    name, dimension = received.body["model"], received.body.get("dimensions")
    vectors = np.stack([server.vector(name, text, dimension) for text in received.texts])
    rows: list[list[float]] = spoil(fault, vectors)
    for i, text in enumerate(received.texts):
        if text in server.bad_texts and i < len(rows):  # a fault may have left it out
            rows[i] = [float("nan"), *rows[i][1:]]
    return _answer(received, fault, rows)


def _answer(received: Received, fault: Fault | None, rows: list[list[float]]) -> Answer:
    kind = fault.kind if fault else None
    data: list[dict[str, object]] = [
        {"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)
    ]
    if kind == "base64" or received.body.get("encoding_format") == "base64":
        for entry, row in zip(data, rows, strict=True):
            entry["embedding"] = base64.b64encode(np.array(row, "<f4").tobytes()).decode()
    if kind == "shuffled":
        data = data[1::2] + data[::2]
    elif kind == "repeated":
        data[-1]["index"] = 0
    elif kind == "out of range":
        data[-1]["index"] = len(rows)
    tokens = received.tokens
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    whole = {"object": "list", "data": data, "model": received.body["model"], "usage": usage}
    return Answer(200, json.dumps(whole).encode(), cut=kind == "cut")


def _fail(server: "EmbeddingServer", fault: Fault | None) -> Answer | None:
    """Return what stands in place of an answer, or None."""
    if fault is None:
        return None
    if fault.kind == "rate limit":
        after = {} if fault.seconds is None else {"retry_after": f"{fault.seconds:g}"}
        return error_answer(429, "Rate limit reached for requests", "rate_limit_exceeded", **after)
    if fault.kind in ("hang", "slow"):
        server.released.wait(fault.seconds)
        return Answer(0, b"") if fault.kind == "hang" else None
    if fault.kind == "too much":
        code = "max_tokens_per_request"
        return error_answer(400, "Requested 673477 tokens, max 300000 tokens per request", code)
    page = b"<!doctype html><html><body>Welcome to the gateway</body></html>"
    answers = {
        "quota": error_answer(429, "You exceeded your current quota, please check your plan and "
                       "billing details.", "insufficient_quota"),
        "server error": error_answer(500, "The server had an error while processing your request."),
        "overloaded": error_answer(503, "The engine is currently overloaded."),
        "drop": Answer(0, b""),
        "nul bytes": Answer(200, b"\0" * 100),
        "web page": Answer(200, page, {"content-type": "text/html; charset=utf-8"}),
        "no data": reply(200, {"object": "list", "models": []}),
    }  # fmt: skip
    return answers.get(fault.kind)


def _refuse(server: "EmbeddingServer", received: Received) -> Answer | None:
    """Hold a request to the rules; None where all are kept."""
    body, given = received.body, received.headers
    bearer = {name.lower(): value for name, value in given.items()}.get("authorization", "")
    if server.key is not None and bearer != f"Bearer {server.key}":
        wrong = bearer.removeprefix("Bearer ")
        return error_answer(401, f"Incorrect API key provided: {wrong}.", "invalid_api_key")
    model = server.model(body.get("model", ""))
    if model is None:
        return error_answer(
            404, f"The model `{body.get('model')}` does not exist", "model_not_found"
        )
    if body.get("encoding_format") != "float":
        server.violate("encoding_format is not 'float'")
    if received.bytes > BYTES:
        server.violate(f"a request of {received.bytes} bytes")
    if "dimensions" in body:
        if body["dimensions"] is None:
            server.violate("dimensions is null")
            return error_answer(400, "None is not of type 'integer' - 'dimensions'")
        if not model.shortens:
            return error_answer(400, "This model does not support specifying dimensions.")
        if not 1 <= body["dimensions"] <= model.dimension:
            return error_answer(400, f"Invalid value for 'dimensions' = {body['dimensions']}. "
                         f"Must be less than or equal to {model.dimension}.")  # fmt: skip
    return _refuse_texts(server, received, model)


def _refuse_texts(
    server: "EmbeddingServer", received: Received, model: ServedModel
) -> Answer | None:
    given, context = received.body.get("input"), model.context
    most = model.texts or TEXTS[received.path]
    dashscope = "compatible-mode" in received.path
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        server.violate("input is not a list of texts")
        return error_answer(400, "contents is neither str nor list of str.: input.contents")
    if not given or not all(text.strip() for text in given):
        server.violate("a blank text, or none")
        return error_answer(400, "'$.input' is invalid. Please check the API reference")
    if len(given) > most:
        server.violate(f"{len(given)} texts in a request")
        if dashscope:
            words = f"batch size is invalid, it should not be larger than {most}.: input.contents"
            return error_answer(400, words, "InvalidParameter")
        return error_answer(400, f"Invalid 'input': array too long, expected at most {most}.")
    if received.tokens > TOKENS:
        server.violate(f"{received.tokens} tokens in a request")
        words = f"Requested {received.tokens} tokens, max {TOKENS} tokens per request"
        return error_answer(400, words, "max_tokens_per_request")
    longest = max(count_words(text) for text in given)
    if longest > context:
        if dashscope:
            return error_answer(
                400, f"Range of input length should be [1, {context}]", "InvalidParameter"
            )
        words = f"This model's maximum context length is {context} tokens, however you requested"
        return error_answer(400, f"{words} {longest} tokens")
    return None
