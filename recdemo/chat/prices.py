"""What chat models cost, where that is known."""

import re
from dataclasses import dataclass

from recdemo.embedding import ModelName, dashscope, openai
from recdemo.embedding.known import FREE


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    read: float  # of the prompt
    written: float  # of the answer
    date: str  # year and month in which the source said so; "" for one's own machine

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """Return what so many tokens cost."""
        return (self.read * tokens_in + self.written * tokens_out) / 1e6


# Of https://developers.openai.com/api/docs/pricing and, for Singapore,
# https://www.alibabacloud.com/help/en/model-studio/billing-for-model-studio
_PRICES = {
    "openai:gpt-4o-mini": Price(0.15, 0.60, "2026-05"),
    "openai:gpt-4o": Price(2.50, 10.00, "2026-05"),
    "openai:gpt-4.1-nano": Price(0.10, 0.40, "2026-04"),
    "openai:gpt-4.1-mini": Price(0.40, 1.60, "2026-04"),
    "openai:gpt-4.1": Price(2.00, 8.00, "2026-04"),
    "openai:gpt-5-nano": Price(0.05, 0.40, "2026-03"),
    "openai:gpt-5-mini": Price(0.25, 2.00, "2026-03"),
    "openai:gpt-5": Price(1.25, 10.00, "2026-03"),
    "dashscope:qwen-plus": Price(0.40, 1.20, "2025-04"),
    "dashscope:qwen-turbo": Price(0.05, 0.20, "2025-04"),
}
_NOTHING = Price(0.0, 0.0, "")


def price_of(name: ModelName) -> Price | None:
    """Return the price of a chat model, None where it is not known.

    A model with the date of its making has the price of the one without; a server of somebody's
    own has prices of its own.
    """
    if name.provider in FREE:
        return _NOTHING
    accounts = {"openai": openai.account, "dashscope": dashscope.account}
    if name.provider not in accounts or not accounts[name.provider]().is_own:
        return None
    return _PRICES.get(re.sub(r"-\d{4}-?\d\d-?\d\d$", "", f"{name.provider}:{name.name}"))
