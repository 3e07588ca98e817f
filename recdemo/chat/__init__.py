"""Chat models: what one is, what it says, and how one is opened."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from recdemo.embedding import ModelName
from recdemo.errors import EmbeddingError

PROVIDERS = ("dashscope", "ollama", "openai")


@dataclass(frozen=True, slots=True)
class Said:
    """The answer to one prompt."""

    text: str  # "" where there is none
    tokens_in: int = 0  # as the service counts them; 0 where it does not tell
    tokens_out: int = 0
    trouble: str = ""  # why the text is of no use, in a few words


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What a person may choose."""

    temperature: float = 0.0
    concurrency: int | None = None  # requests at once; None: what the service allows
    pull: bool = False  # have Ollama fetch a model that is not there


class Chat(Protocol):
    """Answers one prompt with one request; implementations need not inherit from it."""

    @property
    def at_once(self) -> int:
        """Requests that may be under way at the same time."""
        ...

    def ask(self, prompt: str) -> Said:
        """Answer *prompt*; called from several threads at once.

        Raises the refusals of `recdemo.embedding.service`, or an `EmbeddingError`, which is
        final. Does not retry.
        """
        ...


def open_chat(name: ModelName, options: ChatOptions, on_pull: Callable[[int, int], None]) -> Chat:
    """Open a chat model, importing only its own SDK.

    Args:
        on_pull: is told how many of how many bytes Ollama has fetched.
    """
    if name.dimension is not None:
        raise EmbeddingError(f"{name} names a dimension, which a chat model does not have")
    if name.provider not in PROVIDERS:
        raise EmbeddingError(
            f"unknown chat model {str(name)!r}: expected PROVIDER:NAME with a provider in "
            f"{', '.join(PROVIDERS)}"
        )
    if name.provider == "ollama":
        from recdemo.chat import ollama

        return ollama.open_chat(name, options, on_pull)
    from recdemo.chat import openai

    return openai.open_chat(name, options)


def tidy(text: str) -> str:
    """Return an answer as one paragraph, without what a model thought before it."""
    _, closed, after = text.partition("</think>")
    if closed and text.lstrip().startswith("<think>"):
        text = after
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
