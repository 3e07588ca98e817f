"""Models of an Ollama server, by ``/api/embed``.

Three things that Ollama does without a word are never relied on: it cuts texts that are too long
(``truncate`` is always false here), it ignores a dimension at or above the model's own, and some
versions gave vectors of a batch to the wrong texts. So after the first batch a few of its texts
are embedded alone, and where they disagree all texts are, one at a time.
"""

import threading
import time
import weakref
from collections.abc import Sequence

import httpx
import numpy as np
from numpy.typing import NDArray
from ollama import Client

from recdemo.embedding.known import KnownModel
from recdemo.embedding.ollama_server import (
    CONNECT,
    Progress,
    Server,
    asking,
    digest_of,
    final,
    not_pulled,
    open_server,
)
from recdemo.embedding.ollama_server import usable as usable
from recdemo.embedding.options import EmbedOptions
from recdemo.embedding.service import FloatArray, Later, Limits, Reply, Unusable
from recdemo.errors import EmbeddingError

TEXTS = 32  # per request: a slow machine answers within the time-out, a fast one is kept busy
SPOT_CHECK = 5  # texts of the first batch that are embedded alone as well
AGREES = 0.999  # cosine from which two vectors of one text are the same
LOADING = 300.0  # seconds for the first answer: the model is read from disk
PATIENCE = 120.0  # seconds for later answers, or five times the first where that is more


class OllamaService:
    """One model of one server."""

    def __init__(
        self,
        server: Server,
        model: str,
        dimension: int | None,
        limits: Limits,
        revision: str,
    ) -> None:
        self.limits = limits
        self.revision = revision  # digest, version of the server, address where not the default
        self.notices: list[str] = []  # what a person should know, in sentences
        self._server, self._model, self._dimension = server, model, dimension
        self._lock = threading.RLock()
        self._client = self._open(LOADING)
        self._answered = False
        self._broken = False  # the connection was; the server may be another one now
        self._checked = False
        self._alone = False  # batches are not to be trusted

    def request(self, texts: Sequence[str]) -> Reply:
        """Embed *texts*, without cutting any of them."""
        _check_encodable(texts)
        if self._alone:
            reply = self._one_by_one(texts)
        else:
            reply = self._embed(texts)
            if len(texts) > 1 and not self._agrees(texts, reply.vectors):
                reply = self._one_by_one(texts)
        self._check_unchanged()
        return reply

    def _embed(self, texts: Sequence[str]) -> Reply:
        started = time.perf_counter()
        try:
            with asking(self._server, self._model):
                answer = self._client.embed(
                    self._model, list(texts), truncate=False, dimensions=self._dimension
                )
        except Later:
            self._broken = True
            raise
        if not self._answered:
            self._grow_brisk(time.perf_counter() - started)
        lengths = {len(vector) for vector in answer.embeddings}
        if len(answer.embeddings) != len(texts) or len(lengths) != 1:
            raise EmbeddingError(
                f"Ollama at {self._server.url} answered {len(texts)} texts with "
                f"{len(answer.embeddings)} vectors of {sorted(lengths)} numbers by {self._model}; "
                "expected one of each text, all of one length; restart or update Ollama"
            )
        with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is noticed
            vectors = np.array(answer.embeddings, np.float32)
        return Reply(vectors, answer.prompt_eval_count or 0)

    def _one_by_one(self, texts: Sequence[str]) -> Reply:
        replies = [self._embed([text]) for text in texts]
        vectors = np.concatenate([reply.vectors for reply in replies])
        return Reply(vectors, sum(reply.tokens for reply in replies))

    def _agrees(self, texts: Sequence[str], vectors: FloatArray) -> bool:
        """Hold a few vectors of the first batch against those of their texts alone."""
        with self._lock:
            if self._checked:
                return not self._alone
            chosen = np.unique(np.linspace(0, len(texts) - 1, SPOT_CHECK).astype(int))
            alone = self._one_by_one([texts[i] for i in chosen]).vectors
            different = int((_cosines(vectors[chosen], alone) <= AGREES).sum())
            self._checked, self._alone = True, different > 0
            if different:
                self.notices.append(
                    f"{self._model} at {self._server.url} gives other vectors for a batch than "
                    f"for its texts alone ({different} of {len(chosen)} differ); its texts are "
                    "embedded one at a time, which takes longer; update Ollama"
                )
            return not self._alone

    def _check_unchanged(self) -> None:
        """Never mix the vectors of two models: this one may have been pulled anew meanwhile.

        An answer does not say what made it, so the digest is asked for after each one, and
        the version as well after a connection broke: the server may be a newer one now.
        """
        if self._broken:
            now = _revision(self._server, self._model)
            same, self._broken = now == self.revision, False
        else:
            with asking(self._server, self._model):
                now = digest_of(self._client.list(), self._model) or "gone"
            same = now == self.revision.split(", ")[0]
        if not same:
            raise EmbeddingError(
                f"{self._model} at {self._server.url} changed while it embedded "
                f"(it was {self.revision}, it is {now}); what was done is kept apart, run again"
            )

    def _grow_brisk(self, first: float) -> None:
        """Replace the client, which waits for a model to load, by one that waits less."""
        with self._lock:
            if not self._answered:
                self._answered = True
                self._client = self._open(max(PATIENCE, 5 * first))

    def _open(self, seconds: float) -> Client:
        client = self._server.client(httpx.Timeout(seconds, connect=CONNECT))
        weakref.finalize(self, client.close)
        return client


def open_service(
    model: str,
    dimension: int | None,
    known: KnownModel | None,
    options: EmbedOptions,
    on_progress: Progress = lambda done, total: None,
) -> OllamaService:
    """Open a model; where it was not pulled it is, if the options say so.

    Args:
        on_progress: is told how many of how many bytes have been pulled.
    """
    server = open_server()
    with final():
        server.version()
        if server.digest(model) is None:
            if not options.pull:
                raise EmbeddingError(not_pulled(server, model))
            server.pull(model, on_progress)
        revision = _revision(server, model)
        native, context = server.describe(model)
    if dimension is not None and native is not None and dimension > native:
        raise EmbeddingError(
            f"ollama:{model}@{dimension} asks for too many dimensions; the model has {native}"
        )
    limits = Limits(
        texts=TEXTS,
        text_tokens=(known and known.context) or context,
        at_once=options.concurrency or 1,  # parallel requests got each other's vectors
    )
    return OllamaService(server, model, dimension, limits, revision)


def _revision(server: Server, model: str) -> str:
    version, digest = server.version(), server.digest(model)
    if digest is None:
        raise EmbeddingError(not_pulled(server, model))
    parts = [digest, f"Ollama {version}"]
    return ", ".join(parts if server.is_default else [*parts, server.url])


def _check_encodable(texts: Sequence[str]) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:  # JSON holds no half of a surrogate pair
            raise Unusable(f"not encodable as UTF-8 ({error.reason})") from error


def _cosines(a: FloatArray, b: FloatArray) -> NDArray[np.float64]:
    """Return the cosine of each pair of rows, 0 where one has no length or is not finite."""
    norms = np.linalg.norm(a, axis=1).astype(np.float64) * np.linalg.norm(b, axis=1)
    dots = np.einsum("ij,ij->i", a, b, dtype=np.float64)
    cosines: NDArray[np.float64] = np.zeros(len(a))
    np.divide(dots, norms, out=cosines, where=np.isfinite(dots) & (norms > 0))
    return cosines
