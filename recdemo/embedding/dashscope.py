"""Embedding models of Alibaba Cloud Model Studio (DashScope), which speaks OpenAI's form.

Keys belong to a region, and the address chosen here is that of Singapore, the international one;
``DASHSCOPE_BASE_URL`` names another, Beijing's or that of a workspace. All of them are the
provider's own, so vectors of one are good for the others.
"""

from recdemo.embedding.account import Account, Provider, open_account
from recdemo.embedding.known import KnownModel
from recdemo.embedding.openai import OpenAIService, open_at, unusable
from recdemo.embedding.options import EmbedOptions
from recdemo.errors import EmbeddingError
from recdemo.settings import settings

BEIJING = "https://dashscope.aliyuncs.com/compatible-mode/v1"
DASHSCOPE = Provider(
    name="dashscope",
    home="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    domain="aliyuncs.com",
    variable="DASHSCOPE",
    keys="https://modelstudio.console.alibabacloud.com",
    texts=10,
    request_tokens=None,
    text_tokens=8192,
    hint=f"keys belong to a region: for one of mainland China set DASHSCOPE_BASE_URL={BEIJING}",
    passes=True,
)


def open_service(
    model: str, dimension: int | None, known: KnownModel | None, options: EmbedOptions
) -> OpenAIService:
    """Open a model of DashScope."""
    return open_at(account(), model, dimension, known, options)


def usable(model: str) -> str | None:
    """Return why no model can be used right now, with the remedy; None where they can."""
    try:
        return unusable(account())
    except EmbeddingError as error:
        return str(error)


def account() -> Account:
    """Read DashScope's key and address from the settings."""
    return open_account(DASHSCOPE, settings().dashscope_api_key, settings().dashscope_base_url)
