"""OpenAI's embedding models, and those of any server that speaks its form.

``OPENAI_BASE_URL`` names another server (vLLM, llama.cpp, LM Studio, a gateway); there a key is
optional, and requests of unknown models are small, since nothing is known of its limits.
"""

import socket
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from recdemo.embedding.account import Account, Provider, open_account
from recdemo.embedding.known import KnownModel
from recdemo.embedding.openai_answers import read_answer
from recdemo.embedding.options import EmbedOptions
from recdemo.embedding.service import Limits, Reply, Unusable
from recdemo.errors import EmbeddingError
from recdemo.settings import settings

if TYPE_CHECKING:
    from openai import OpenAI

OPENAI = Provider(
    name="openai",
    home="https://api.openai.com/v1",
    domain="api.openai.com",
    variable="OPENAI",
    keys="https://platform.openai.com/api-keys",
    texts=2048,
    request_tokens=300_000,
    text_tokens=8192,
)
AT_ONCE = 4  # requests
FOREIGN_TEXTS = 32  # per request to a server whose limits are not known; many take no more
NUMBERS = 2**20  # per answer, in which one number is some 20 bytes: losing one costs little
_GLANCE = 1.0  # seconds until a server counts as away


def open_service(
    model: str, dimension: int | None, known: KnownModel | None, options: EmbedOptions
) -> "OpenAIService":
    """Open a model of OpenAI, or of the server that ``OPENAI_BASE_URL`` names."""
    return open_at(account(), model, dimension, known, options)


def usable(model: str) -> str | None:
    """Return why no model can be used right now, with the remedy; None where they can."""
    try:
        return unusable(account())
    except EmbeddingError as error:
        return str(error)


def account() -> Account:
    """Read OpenAI's key and address from the settings."""
    return open_account(OPENAI, settings().openai_api_key, settings().openai_base_url)


def open_at(
    account: Account,
    model: str,
    dimension: int | None,
    known: KnownModel | None,
    options: EmbedOptions,
) -> "OpenAIService":
    """Open a model of any account; nothing is sent, and a key is missed by the first request."""
    if known is not None and dimension is not None:
        _check_offered(known, dimension)
        if dimension == (known.default or known.native):
            dimension = None  # given anyway, and some models take no other word
    limits = _limits(account, dimension, known, options.concurrency or AT_ONCE)
    return OpenAIService(account, model, dimension, limits)


def unusable(account: Account) -> str | None:
    """Return why an account cannot be used; a server of one's own is looked for."""
    if account.is_own:
        return account.lacks()
    parts = urlsplit(account.address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((str(parts.hostname), port), _GLANCE).close()
    except OSError as error:
        return (
            f"nobody answers at {account.address} ({error}); start the server, or correct "
            f"{account.url_variable}"
        )
    return None


class OpenAIService:
    """One model of one account."""

    def __init__(self, account: Account, model: str, dimension: int | None, limits: Limits) -> None:
        self.limits = limits
        self.revision = "" if account.is_own else account.address
        self._account, self._model, self._dimension = account, model, dimension
        self._lock = threading.Lock()
        self._client: OpenAI | None = None
        self._answered = False

    def request(self, texts: Sequence[str]) -> Reply:
        """Embed *texts* with one request."""
        for text in texts:
            _check_encodable(text)
        import openai  # here, since it takes half a second, and looking at a model needs none

        from recdemo.embedding.openai_client import translate

        asked = openai.omit if self._dimension is None else self._dimension
        try:
            answer = self._opened().embeddings.with_raw_response.create(
                model=self._model, input=list(texts), dimensions=asked, encoding_format="float"
            )
        except openai.APIError as error:
            failure = translate(error, self._account, self._model, self._answered)
            self._answered |= isinstance(error, openai.APIStatusError)
        else:
            self._answered = True
            return read_answer(answer.content, len(texts), self._account)
        raise failure  # here, where the client's exception, which holds the key, is gone

    def _opened(self) -> "OpenAI":
        """Return the client, opened once for all threads."""
        from recdemo.embedding.openai_client import open_client

        lacks = self._account.lacks()
        if lacks is not None:
            raise EmbeddingError(lacks)
        with self._lock:
            if self._client is None:
                self._client = open_client(self._account)
            return self._client


def _check_offered(known: KnownModel, dimension: int) -> None:
    offered: Sequence[int] = known.dimensions or (known.native,)
    if known.matryoshka and not known.dimensions:
        offered = range(1, known.native + 1)
    if dimension not in offered:
        few = len(offered) < 20
        listed = ", ".join(map(str, offered)) if few else f"1 to {known.native}"
        raise EmbeddingError(
            f"{known.model} has no {dimension} dimensions; the service offers {listed}"
        )


def _limits(
    account: Account, dimension: int | None, known: KnownModel | None, at_once: int
) -> Limits:
    provider, own = account.provider, account.is_own
    texts = provider.texts if own else FOREIGN_TEXTS
    tokens = provider.request_tokens if own else None
    context = provider.text_tokens if own else None
    numbers = dimension or 4096
    if known is not None:
        texts = known.texts_per_request or texts
        tokens = known.tokens_per_request or tokens
        context = known.context or context
        numbers = dimension or known.default or known.native
    return Limits(
        texts=min(texts, max(1, NUMBERS // numbers)),
        request_tokens=tokens,
        text_tokens=context,
        at_once=at_once,
    )


def _check_encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unusable("it holds half a character, a lone surrogate") from None
