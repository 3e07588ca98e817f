"""The client of OpenAI's form, and what went wrong with a request, told apart and in words.

Nothing here keeps an exception of the client: it holds the request, and that holds the key.
"""

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import openai

from recdemo.embedding.account import Account
from recdemo.embedding.service import Later, Refusal, TooMuch, Unusable
from recdemo.errors import EmbeddingError

CONNECT = 5.0  # seconds
READ = 120.0  # seconds; a server may be loading the model

# Words of OpenAI, DashScope, vLLM, text-embeddings-inference, llama.cpp, Ollama and others.
_TOO_MUCH = re.compile(
    r"max_tokens_per_request|tokens per request|context[ _](length|size|window)|batch[ _]?size"
    r"|input length|too (long|large)|maximum (input |sequence |allowed )?length"
    r"|less than \d+ tokens|exceed\w* .*(tokens|length|context)",
    re.IGNORECASE,
)
_NAN = re.compile(r"\bNaN\b|\bInf\b")
_NO_MONEY = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "Arrearage",  # DashScope: an unpaid bill
    "AllocationQuota.FreeTierOnly",
)
_MAY_BE_TOO_MUCH = (400, 413, 422, 500)  # 500: llama.cpp
_NOT_CONNECTED = ("ConnectError", "ConnectTimeout", "ProxyError")


def open_client(account: Account, read: float = READ) -> openai.OpenAI:
    """Open a client that sends each request once; repeating is decided elsewhere."""
    headers: dict[str, Any] = {}
    if account.provider.name != "openai":  # what the environment says of OpenAI stays there
        headers = {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
    if account.login is not None:  # not in the address, which the HTTP client logs
        headers["Authorization"] = f"Basic {account.basic()}"
    try:
        return openai.OpenAI(
            api_key=account.key.get_secret_value() if account.key else "none",
            base_url=account.address,
            timeout=openai.Timeout(read, connect=min(CONNECT, read)),
            max_retries=0,
            default_headers=headers,
        )
    except (ValueError, ImportError):  # its words may hold the proxy's password
        raise EmbeddingError(
            f"cannot open a connection to {account.address}; check the proxy in HTTP_PROXY, "
            "HTTPS_PROXY or ALL_PROXY"
        ) from None


def translate(
    error: openai.APIError, account: Account, model: str, answered: bool, kind: str = "embedding"
) -> Refusal | EmbeddingError:
    """Turn an error of the client into a refusal, or into an error that is final.

    Args:
        answered: the service has been heard of before, so that it exists.
        kind: of model: embedding or chat.
    """
    if isinstance(error, openai.APIStatusError):
        return _status(error, account, model, kind)
    cause = error.__cause__ or error
    words = account.clean(str(cause) or type(cause).__name__)
    connected = type(cause).__name__ not in _NOT_CONNECTED
    if isinstance(error, openai.APITimeoutError) and connected:
        return Later(f"{account.address} did not answer in time")
    if answered or connected:
        return Later(f"the connection to {account.address} broke ({words})")
    start = "" if account.is_own else f", start the server, or correct {account.url_variable}"
    return EmbeddingError(
        f"nobody answers at {account.address} ({words}); check the network{start}"
    )


def _status(
    error: openai.APIStatusError, account: Account, model: str, kind: str
) -> Refusal | EmbeddingError:
    status, words, code = error.status_code, _words(error.body, account), error.code
    after = _after(error.response.headers)
    if (code in _NO_MONEY or status == 402) and not (status == 429 and account.provider.passes):
        return EmbeddingError(
            f"the quota at {account.address} is used up ({words}); raise it or pay; what is "
            "done is kept, so run the same command again then"
        )
    if status == 429:
        return Later(f"rate limit at {account.address} ({words})", after)
    if status in _MAY_BE_TOO_MUCH and _NAN.search(words):
        return Unusable(words)
    if status in _MAY_BE_TOO_MUCH and (status == 413 or _is_too_much(f"{code} {words}")):
        return TooMuch(words)
    if status in (408, 409) or status >= 500:
        return Later(f"{account.address} answers {status} ({words})", after)
    return EmbeddingError(_final(status, words, account, model, kind))


def _is_too_much(words: str) -> bool:
    return _TOO_MUCH.search(words) is not None and "dimension" not in words.lower()


def _final(status: int, words: str, account: Account, model: str, kind: str) -> str:
    provider, address, key = account.provider, account.address, account.key_variable
    create = f", or create one at {provider.keys}" if account.is_own else ""
    hint = f"; {provider.hint}" if provider.hint else ""
    if status == 401 and account.key is None:
        return f"{address} wants a key ({words}); set {key}"
    if status == 401:
        return f"{address} refuses the key in {key} ({words}); check it{create}{hint}"
    if status == 403:
        return f"{address} does not allow {model!r} to the key in {key} ({words}){hint}"
    if status in (404, 405) and "model" in words.lower():
        return f"{address} has no {kind} model {model!r} ({words})"
    if status in (404, 405):
        return (
            f"{address} is no {kind} endpoint ({status}, {words}); expected a base URL that "
            f"ends in /v1, say, in {account.url_variable}"
        )
    return f"{address} refuses {model!r} ({status}, {words})"


def _words(body: object, account: Account) -> str:
    """Return what the service says in one short line; of a web page only that it is one."""
    if isinstance(body, Mapping):
        body = next((body[n] for n in ("message", "error", "detail") if body.get(n)), body)
    if isinstance(body, str) and body.lstrip().startswith("<"):
        return "a web page"
    return account.clean(str(body)) if body else "no reason given"


def _after(headers: Mapping[str, str]) -> float | None:
    """Return seconds that the service asks to wait, given as milliseconds, seconds or a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        given = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d*)?", given):
            return float(given) / unit
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
    except ValueError:
        return None
    return max(moment - time.time(), 0.0)
