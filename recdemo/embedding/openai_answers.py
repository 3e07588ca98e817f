"""Read an answer of OpenAI's form, believing nothing.

The bytes are read here, not by the client: that builds an object per number without checking one,
and takes three times as long.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from recdemo.embedding.account import Account
from recdemo.embedding.service import FloatArray, Reply
from recdemo.errors import EmbeddingError


def read_answer(content: bytes, n_texts: int, account: Account) -> Reply:
    """Return the vectors in the order of the texts, placed by their index."""
    answer = _parse(content, account)
    data = answer.get("data")
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        said = answer.get("error") or answer.get("message") or answer.get("detail")
        words = account.clean(f"it says {said}" if said else "its answer holds no vectors")
        raise EmbeddingError(_no_endpoint(account, words))
    if len(data) != n_texts:
        raise EmbeddingError(
            f"{account.address} answered {len(data):,} vectors to {n_texts:,} texts; which belongs "
            "to which cannot be told, so none is used"
        )
    return Reply(_vectors(_in_order(data, account), account), _tokens(answer.get("usage")))


def _parse(content: bytes, account: Account) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        start = content[:200].strip().lower()
        page = "it answers with a web page" if start.startswith(b"<") else "its answer is no JSON"
        raise EmbeddingError(_no_endpoint(account, page)) from None
    if not isinstance(answer, dict):
        raise EmbeddingError(_no_endpoint(account, "its answer holds no vectors"))
    return answer


def _no_endpoint(account: Account, words: str) -> str:
    return (
        f"{account.address} is no embedding endpoint ({words}); expected a base URL that ends in "
        f"/v1, say, in {account.url_variable}"
    )


def _in_order(data: Sequence[dict[str, Any]], account: Account) -> list[Any]:
    places = [entry.get("index") for entry in data]
    if sorted(place for place in places if type(place) is int) != list(range(len(data))):
        raise EmbeddingError(
            f"{account.address} answered vectors whose indexes are not 0 to {len(data) - 1}, each "
            "once; which belongs to which text cannot be told, so none is used"
        )
    rows: list[Any] = [None] * len(data)
    for entry in data:
        rows[entry["index"]] = entry.get("embedding")
    return rows


def _vectors(rows: Sequence[Any], account: Account) -> FloatArray:
    if any(isinstance(row, str) for row in rows):
        raise EmbeddingError(
            f"{account.address} answers in base64 although numbers were asked for; it needs a "
            "newer version, or a gateway before it does"
        )
    try:
        with np.errstate(over="ignore"):  # becomes infinity, which is noticed later
            vectors = np.array(rows, np.float32)
    except (TypeError, ValueError, OverflowError):
        vectors = np.empty(0, np.float32)
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        lengths = sorted({len(row) for row in rows if isinstance(row, list)})
        raise EmbeddingError(
            f"{account.address} answered vectors that are not lists of numbers of one length "
            f"(lengths: {', '.join(map(str, lengths[:5])) or 'none'})"
        )
    return vectors


def _tokens(usage: object) -> int:
    """Return the tokens that the service counted; 0 where it does not tell."""
    if not isinstance(usage, dict):
        return 0
    for name in ("total_tokens", "prompt_tokens"):
        if type(usage.get(name)) is int and usage[name] > 0:
            return int(usage[name])
    return 0
