"""Settings from the environment and ``.env``; nothing else reads the environment."""

from functools import cache
from pathlib import Path

from platformdirs import user_data_path
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from recdemo.errors import RecdemoError

ENV_FILE = ".env"
_PREFIX = "RECDEMO_"


class Settings(BaseSettings):
    """What the environment says; our own variables start with ``RECDEMO_``."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_file=ENV_FILE, env_ignore_empty=True, extra="ignore"
    )

    home: Path = Field(default_factory=lambda: user_data_path("recdemo", appauthor=False))
    store: str = "embedded"
    store_key: SecretStr | None = None  # of a Qdrant server
    store_grpc: bool = False  # ask it by gRPC

    # Of services, by the names that their own tools read. An address may hold a password.
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: SecretStr | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    dashscope_api_key: SecretStr | None = Field(default=None, validation_alias="DASHSCOPE_API_KEY")
    dashscope_base_url: SecretStr | None = Field(
        default=None, validation_alias="DASHSCOPE_BASE_URL"
    )
    ollama_host: SecretStr = Field(  # may lack scheme and port
        default=SecretStr(""), validation_alias="OLLAMA_HOST"
    )

    @property
    def collections(self) -> Path:
        """Where the embedded store keeps its collections."""
        return self.home / "collections"

    @property
    def datasets(self) -> Path:
        """Where fetched data sets are kept."""
        return self.home / "datasets"

    @property
    def truths(self) -> Path:
        """Where computed truth lists are kept."""
        return self.home / "truths"

    @property
    def runs(self) -> Path:
        """Where evaluations are kept."""
        return self.home / "runs"


@cache
def settings() -> Settings:
    """Read the settings once per process; what is empty counts as not set."""
    try:
        return Settings()
    except UnicodeDecodeError as error:
        raise RecdemoError(
            f"cannot read {Path(ENV_FILE).resolve()}: it is not UTF-8; write it anew, or move it "
            "away"
        ) from error
    except ValidationError as error:  # which holds values, that may be secret
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise RecdemoError(
            f"cannot use {name if name.isupper() else _PREFIX + name.upper()}: "
            f"{first['msg'].lower()}; correct it in the environment or in {ENV_FILE}"
        ) from error
