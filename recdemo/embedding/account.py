"""Whom a service is asked as: its address and key, from the settings, and what to say of them."""

import re
from base64 import b64encode
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, unquote, urlsplit

from pydantic import SecretStr

from recdemo.errors import EmbeddingError

_LIKE_A_KEY = re.compile(r"\bsk-[A-Za-z0-9_*.-]{4,}")
_LIKE_A_LOGIN = re.compile(r"(?<=://)[^/\s@]+(?=@)")


@dataclass(frozen=True, slots=True)
class Provider:
    """A service of OpenAI's form that has an address of its own."""

    name: str  # as in provider:name
    home: str  # base URL unless the settings name another
    domain: str  # hosts at or below it are the provider's own
    variable: str  # OPENAI, say, of OPENAI_API_KEY and OPENAI_BASE_URL
    keys: str  # where one gets a key
    texts: int  # per request, unless something else is known of the model
    request_tokens: int | None
    text_tokens: int | None
    hint: str = ""  # what else may be wrong when a key is refused
    passes: bool = False  # 429 "insufficient quota" is about a minute, not about money


@dataclass(frozen=True, slots=True)
class Account:
    """A provider, or a server that speaks like it, with the key to use there."""

    provider: Provider
    address: str  # base URL, without a password or a query: it is shown and logged
    key: SecretStr | None
    login: SecretStr | None  # "name:password", where the address was given with one
    is_own: bool  # the provider's own address, not a server of somebody's

    @property
    def key_variable(self) -> str:
        """The environment variable of the key."""
        return f"{self.provider.variable}_API_KEY"

    @property
    def url_variable(self) -> str:
        """The environment variable of the base URL."""
        return f"{self.provider.variable}_BASE_URL"

    def lacks(self) -> str | None:
        """Return why the account cannot be used as it is; servers of one's own need no key."""
        if self.key is not None or not self.is_own:
            return None
        return (
            f"{self.key_variable} is not set; create a key at {self.provider.keys} and set it in "
            "the environment or in .env"
        )

    def basic(self) -> str:
        """Return the login as it is sent, in the header ``Authorization: Basic``."""
        login = self.login.get_secret_value() if self.login else ""
        return b64encode(login.encode()).decode()

    def clean(self, words: str, longest: int = 200) -> str:
        """Return words of the service in one short line, without anything secret."""
        secrets = [] if self.key is None else [self.key.get_secret_value()]
        if self.login is not None:
            login = self.login.get_secret_value()
            secrets += [self.basic(), login, login.partition(":")[2]]
        for secret in filter(None, secrets):
            words = words.replace(secret, "***").replace(quote(secret), "***")
        words = _LIKE_A_LOGIN.sub("***", _LIKE_A_KEY.sub("***", words))
        words = " ".join(words.split()).rstrip(".")
        return words if len(words) <= longest else words[: longest - 1] + "…"


def open_account(provider: Provider, key: SecretStr | None, base_url: SecretStr | None) -> Account:
    """Read key and base URL of a provider; a key or an address that cannot be one is an error."""
    url = (base_url.get_secret_value().strip() if base_url else "") or provider.home
    parts, host, at = _parts(url, f"{provider.variable}_BASE_URL")
    login = None
    if parts.username is not None:
        login = SecretStr(f"{unquote(parts.username)}:{unquote(parts.password or '')}")
    return Account(
        provider,
        address=f"{parts.scheme}://{at}{parts.path.rstrip('/')}",
        key=_key(key, f"{provider.variable}_API_KEY"),
        login=login,
        is_own=host == provider.domain or host.endswith(f".{provider.domain}"),
    )


def _key(key: SecretStr | None, variable: str) -> SecretStr | None:
    stripped = SecretStr(key.get_secret_value().strip() if key else "")
    if not stripped.get_secret_value():
        return None
    if not re.fullmatch(r"[!-~]+", stripped.get_secret_value()):
        raise EmbeddingError(
            f"{variable} holds a character that no key has, a space or a line break within, or a "
            "letter outside ASCII; copy the key again"
        )
    return stripped


def _parts(url: str, variable: str) -> tuple[SplitResult, str, str]:
    """Return the parts of a base URL, its host, and the host with its port."""
    expected = f"expected an address such as http://127.0.0.1:8000/v1 in {variable}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise EmbeddingError(f"cannot read the address; {expected}") from None
    if parts.scheme not in ("http", "https") or not host:
        shown = "" if "@" in url else f" {url!r}"
        raise EmbeddingError(f"cannot use the address{shown}; {expected}")
    name = f"[{host}]" if ":" in host else host
    return parts, host, name if port is None else f"{name}:{port}"
