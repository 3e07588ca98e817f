"""Where Ollama answers, what it holds, and what its refusals mean.

Addresses with a password are common behind a proxy, so the address that is shown, kept in
results and put in messages never has one.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

import httpx
from ollama import Client, ListResponse, ResponseError
from pydantic import ValidationError

from recdemo.embedding.service import Later, Refusal, TooMuch, Unusable
from recdemo.errors import EmbeddingError
from recdemo.settings import settings

Progress: TypeAlias = Callable[[int, int], None]

PORT = 11434
CONNECT = 5.0  # seconds
_GLANCE = httpx.Timeout(2.0, connect=1.0)  # for lists that must not keep anyone waiting
_ASK = httpx.Timeout(30.0, connect=CONNECT)
_PULL = httpx.Timeout(600.0, connect=CONNECT)  # it verifies files of many GB without a word
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_TOO_LONG = re.compile(r"context (length|size|window)|too large to process|batch size", re.I)
_NOT_FINITE = re.compile(r"\bNaN\b|\bInf\b|unsupported value", re.I)
_FINAL = re.compile(r"does not support|requires more system memory|unauthorized", re.I)


@dataclass(frozen=True, slots=True)
class Server:
    """An address at which Ollama is expected; its methods raise a `Refusal` as well."""

    url: str  # without a name and password
    auth: tuple[str, str] | None = field(default=None, repr=False)  # a proxy's name and password

    @property
    def is_default(self) -> bool:
        """Whether this is Ollama's own address on this machine."""
        return self.url in {f"http://{_bracketed(host)}:{PORT}" for host in _LOOPBACK}

    def client(self, timeout: httpx.Timeout) -> Client:
        """Open a client; addresses on this machine are never asked through a proxy."""
        return Client(self.url, **self._options(timeout))

    def version(self, timeout: httpx.Timeout = _ASK) -> str:
        """Return the version of the server; whatever else answers there is not Ollama."""
        with asking(self):
            answer = httpx.get(f"{self.url}/api/version", **self._options(timeout))
            told = answer.json() if answer.is_success else None
        if not isinstance(told, dict) or not isinstance(told.get("version"), str):
            if answer.status_code in (401, 403):
                raise EmbeddingError(
                    f"{self.url} asks for a name and password (status {answer.status_code}); "
                    "write them as OLLAMA_HOST=http://NAME:PASSWORD@HOST:PORT"
                )
            raise EmbeddingError(no_ollama(self))
        return str(told["version"])

    def models(self, timeout: httpx.Timeout = _ASK) -> ListResponse:
        """Return the models that were pulled."""
        with asking(self), self.client(timeout) as client:
            listed: ListResponse = client.list()
        return listed

    def digest(self, model: str) -> str | None:
        """Return the digest of a model; None where it was not pulled."""
        return digest_of(self.models(), model)

    def describe(self, model: str) -> tuple[int | None, int | None]:
        """Return the native dimension and the context in tokens, None where not told."""
        with asking(self, model), self.client(_ASK) as client:
            info = client.show(model).modelinfo or {}
        return _number(info, "embedding_length"), _number(info, "context_length")

    def pull(self, model: str, on_progress: Progress = lambda done, total: None) -> None:
        """Have the server fetch a model.

        Args:
            on_progress: is told how many of how many bytes are there.
        """
        layers: dict[str, tuple[int, int]] = {}  # digest -> bytes there, bytes in all
        with asking(self, model), self.client(_PULL) as client:
            try:
                for step in client.pull(model, stream=True):
                    if step.digest and step.total:
                        layers[step.digest] = (step.completed or 0, step.total)
                        on_progress(*map(sum, zip(*layers.values(), strict=True)))
            except ResponseError as error:
                raise EmbeddingError(
                    f"Ollama at {self.url} cannot pull {model!r}: {_line(error.error)}; "
                    "look the name up at ollama.com/library"
                ) from error

    def _options(self, timeout: httpx.Timeout) -> dict[str, Any]:
        near = urlsplit(self.url).hostname in _LOOPBACK
        return {"timeout": timeout, "auth": self.auth, "trust_env": not near}


def digest_of(listed: ListResponse, model: str) -> str | None:
    """Return 16 digits of the digest of a model; without a tag ``latest`` is meant."""
    tagged = model if ":" in model.rpartition("/")[2] else f"{model}:latest"
    for held in listed.models:
        if held.model and held.model.lower() == tagged.lower():
            return (held.digest or "no digest").removeprefix("sha256:")[:16]
    return None


def open_server() -> Server:
    """Return the server that ``OLLAMA_HOST`` names, or the one on this machine."""
    return read_address(settings().ollama_host.get_secret_value())


def read_address(host: str) -> Server:
    """Read an address as Ollama's own tools do: scheme and port may be missing.

    A server that listens on all addresses (0.0.0.0) is asked on this machine.
    """
    text = host.strip().strip("\"'").rstrip("/")
    given = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(given)
        name, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or re.search(r"\s", given):
        raise EmbeddingError(
            f"cannot read OLLAMA_HOST={re.sub('//.*@', '//', given)!r}; "
            "expected HOST, HOST:PORT or http://HOST:PORT"
        )
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    if port is None:
        port = PORT if "://" not in text else {"http": 80, "https": 443}[parts.scheme]
    auth = None
    if parts.username is not None:
        auth = unquote(parts.username), unquote(parts.password or "")
    return Server(f"{parts.scheme}://{_bracketed(name)}:{port}{parts.path}", auth)


def usable(model: str) -> str | None:
    """Return why a model cannot be used right now, with the remedy; None where it can."""
    try:
        with final():
            held = _glance(open_server(), int(time.monotonic() // 5))
    except EmbeddingError as error:
        return str(error)
    return None if digest_of(held, model) else f"not pulled; get it with 'ollama pull {model}'"


@lru_cache(maxsize=4)
def _glance(server: Server, moment: int) -> ListResponse:
    """Ask once for many models: the answer stands for the *moment*, a few seconds."""
    server.version(_GLANCE)
    return server.models(_GLANCE)


@contextmanager
def final() -> Iterator[None]:
    """Make what another request might mend an error: at the start nobody waits for a server."""
    try:
        yield
    except Refusal as refusal:
        raise EmbeddingError(str(refusal)) from refusal


@contextmanager
def asking(server: Server, model: str = "") -> Iterator[None]:
    """Turn what the client raises into refusals and errors."""
    try:
        yield
    except ResponseError as error:
        raise _refused(error, server, model) from error
    except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise Later(
            f"no Ollama answers at {server.url}; start it with 'ollama serve', "
            "or say where it is with OLLAMA_HOST"
        ) from error
    except httpx.TimeoutException as error:
        raise Later(f"Ollama at {server.url} did not answer in time") from error
    except httpx.RequestError as error:
        told = f"{type(error).__name__}: {_line(str(error))}"
        raise Later(f"the connection to Ollama at {server.url} broke ({told})") from error
    except ValidationError as error:
        if all(len(fault["loc"]) == 3 for fault in error.errors()):  # embeddings, text, number
            raise Unusable(f"Ollama at {server.url} answered with what is no number") from error
        raise EmbeddingError(no_ollama(server)) from error
    except (json.JSONDecodeError, UnicodeDecodeError, TypeError, AttributeError) as error:
        # The client takes any JSON for an object, and stumbles over a list or a text.
        raise EmbeddingError(no_ollama(server)) from error


def no_ollama(server: Server) -> str:
    """Return what to say where something else answers."""
    return (
        f"what answers at {server.url} is not Ollama; "
        f"set OLLAMA_HOST to its address, usually http://127.0.0.1:{PORT}"
    )


def not_pulled(server: Server, model: str) -> str:
    """Return what to say of a model that the server does not hold."""
    return (
        f"Ollama at {server.url} has no model {model!r}; "
        f"get it with 'ollama pull {model}', or give --pull"
    )


def _refused(error: ResponseError, server: Server, model: str) -> Exception:
    """Return what a status and its message mean."""
    message, status = _line(error.error), error.status_code
    told = f"Ollama at {server.url} refused: {message} (status {status})"
    if status == 404 and model and re.search(r"\bmodel\b.*not found", message):
        return EmbeddingError(not_pulled(server, model))
    if message.lstrip().startswith("<") or status in (404, 405):
        if status >= 500:  # a proxy in front of it
            return Later(f"{server.url} answered with status {status}")
        return EmbeddingError(no_ollama(server))
    if _NOT_FINITE.search(message):
        return Unusable(told)
    if status == 413 or _TOO_LONG.search(message):
        return TooMuch(told)
    if _FINAL.search(message):
        return EmbeddingError(told)
    return Later(told) if status in (408, 429) or status >= 500 else EmbeddingError(told)


def _number(info: Any, ending: str) -> int | None:
    """Return ``<architecture>.<ending>``, the architecture's own before that of a part."""
    name = f"{info.get('general.architecture', '')}.{ending}"
    keys = [name] if name in info else [key for key in info if key.endswith(f".{ending}")]
    value = info[keys[0]] if keys else None
    return value if isinstance(value, int) and value > 0 else None


def _line(message: object) -> str:
    """Return a message as one short line."""
    text = " ".join(str(message).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
