"""Chat models of an Ollama server, by ``/api/chat``."""

import weakref

import httpx

from recdemo.chat import ChatOptions, Said, tidy
from recdemo.embedding import ModelName
from recdemo.embedding.ollama import LOADING
from recdemo.embedding.ollama_server import (
    CONNECT,
    Progress,
    Server,
    asking,
    final,
    not_pulled,
    open_server,
)
from recdemo.errors import EmbeddingError

LONGEST = 1000  # tokens of an answer; small models may go round in circles for ever


class OllamaChat:
    """One chat model of one server."""

    def __init__(self, server: Server, model: str, options: ChatOptions) -> None:
        self.at_once = options.concurrency or 1  # what the server works on by default
        self._server, self._model, self._temperature = server, model, options.temperature
        self._client = server.client(httpx.Timeout(LOADING, connect=CONNECT))
        weakref.finalize(self, self._client.close)

    def ask(self, prompt: str) -> Said:
        """Answer *prompt* with one request."""
        with asking(self._server, self._model):
            answer = self._client.chat(
                self._model,
                [{"role": "user", "content": prompt}],
                options={"temperature": self._temperature, "num_predict": LONGEST},
            )
        return Said(
            tidy(answer.message.content or ""),
            answer.prompt_eval_count or 0,
            answer.eval_count or 0,
            "cut off" if answer.done_reason == "length" else "",
        )


def open_chat(name: ModelName, options: ChatOptions, on_progress: Progress) -> OllamaChat:
    """Open a chat model; where it was not pulled it is, if the options say so.

    Args:
        on_progress: is told how many of how many bytes have been pulled.
    """
    server = open_server()
    with final():
        server.version()
        if server.digest(name.name) is None:
            if not options.pull:
                raise EmbeddingError(not_pulled(server, name.name))
            server.pull(name.name, on_progress)
    return OllamaChat(server, name.name, options)
