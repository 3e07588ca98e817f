"""Chat models of OpenAI, of DashScope, and of any server that speaks their form."""

import json
import threading
from typing import Any

import openai

from recdemo.chat import ChatOptions, Said, tidy
from recdemo.embedding import ModelName, dashscope
from recdemo.embedding import openai as embedding
from recdemo.embedding.account import Account
from recdemo.embedding.openai_client import open_client, translate
from recdemo.errors import EmbeddingError

AT_ONCE = 4  # requests
# Of one prompt, not of the key or the model: other prompts may well be answered.
_NOT_ALLOWED = ("content_filter", "content_policy_violation", "data_inspection_failed")


class OpenAIChat:
    """One chat model of one account."""

    def __init__(self, account: Account, model: str, options: ChatOptions) -> None:
        self.at_once = options.concurrency or AT_ONCE
        self._account, self._model, self._temperature = account, model, options.temperature
        self._client = open_client(account)
        self._answered = threading.Event()

    def ask(self, prompt: str) -> Said:
        """Answer *prompt* with one request."""
        try:
            answer = self._client.chat.completions.with_raw_response.create(
                model=self._model,
                messages=[{"role": "user", "content": prompt}],
                temperature=self._temperature,
            )
        except openai.APIError as error:
            if str(error.code).lower() in _NOT_ALLOWED:
                return Said("", trouble="refused by the service's filter")
            failure = translate(
                error, self._account, self._model, self._answered.is_set(), kind="chat"
            )
            if isinstance(error, openai.APIStatusError):
                self._answered.set()
            if "temperature" in str(failure) and isinstance(failure, EmbeddingError):
                failure = EmbeddingError(f"{failure}; give it another one with --temperature 1")
        else:
            self._answered.set()
            return read_answer(answer.content, self._account)
        raise failure  # here, where the client's exception, which holds the key, is gone


def open_chat(name: ModelName, options: ChatOptions) -> OpenAIChat:
    """Open a chat model; nothing is sent yet."""
    account = {"openai": embedding.account, "dashscope": dashscope.account}[name.provider]()
    lacks = account.lacks()
    if lacks is not None:
        raise EmbeddingError(lacks)
    return OpenAIChat(account, name.name, options)


def read_answer(content: bytes, account: Account) -> Said:
    """Read an answer, believing nothing of its form."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    choice = _first(answer.get("choices")) if isinstance(answer, dict) else None
    message = choice.get("message") if choice else None
    if answer is None or choice is None or not isinstance(message, dict):
        raise EmbeddingError(
            f"{account.address} is no chat endpoint (its answer holds no message); expected a "
            f"base URL that ends in /v1, say, in {account.url_variable}"
        )
    text, trouble = message.get("content"), ""
    if message.get("refusal") or choice.get("finish_reason") == "content_filter":
        trouble = "refused"
    elif choice.get("finish_reason") == "length":
        trouble = "cut off"
    usage = answer.get("usage")
    return Said(
        tidy(text) if isinstance(text, str) else "",
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
        trouble,
    )


def _first(choices: Any) -> dict[str, Any] | None:
    there = isinstance(choices, list) and choices and isinstance(choices[0], dict)
    return choices[0] if there else None


def _count(usage: Any, name: str) -> int:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and count > 0 else 0
