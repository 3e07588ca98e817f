"""Settings from the environment and ``.env``; nothing else reads the environment."""

from functools import cache
from pathlib import Path

from platformdirs import user_data_path
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """What the environment says; our own variables start with ``RECDEMO_``."""

    model_config = SettingsConfigDict(env_prefix="RECDEMO_", env_file=".env", extra="ignore")

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
    """Read the settings once per process."""
    return Settings()
