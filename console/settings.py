"""The settings, read from environment variables `INFERACT_*`."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import make_url

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""The languages of the catalogues in `console/locale`, by code."""


class Settings(BaseSettings):
    """The console's settings; paths are absolute, independent of the working directory of the command."""

    model_config = SettingsConfigDict(env_prefix="INFERACT_", extra="ignore")

    data_dir: Path = Field(default=Path("~/.inferact"))
    """The folder of the database, the secrets and the uploads."""
    database_url: str = ""
    """SQLAlchemy URL; by default `console.db` in the data directory."""
    host: str = "127.0.0.1"
    port: int = Field(default=8501, ge=1, le=65_535)
    public_url: str | None = None
    """The address that people type if it differs from the machine's own, such as https://console.example."""
    language: str | None = None
    """The language of all reviewers' and participants' pages (en, de), whatever their browser prefers."""
    prompts_dir: Path | None = None
    """A folder whose files replace packaged prompt templates, file by file."""
    model: str | None = None
    reasoning_effort: str | None = None
    """The reasoning effort in the endpoint's words (low, medium, high); left out if the endpoint refuses it."""
    explain: bool = False
    """Whether InferAct explains a flag with one further model call."""
    concurrency: int = Field(default=8, ge=1)
    api_token: SecretStr | None = None
    """A token of the HTTP API beside the agents' own tokens; only this one may import."""
    webhook_url: str | None = None
    """The address that receives every decision on an agent's action."""
    webhook_secret: SecretStr | None = None
    """The signing secret of webhooks: `whsec_` and base64 (Standard Webhooks), or any other text as it is."""
    oidc_metadata_url: str | None = None
    """The metadata of the OpenID provider: its address with /.well-known/openid-configuration."""
    oidc_client_id: str | None = None
    oidc_client_secret: SecretStr | None = None
    """The client secret at the provider, which redirects to /sign-in/organisation/back."""

    @field_validator("language")
    @classmethod
    def _known_language(cls, code: str | None) -> str | None:
        if code and code not in LANGUAGES:
            raise ValueError(f"unknown language; choose one of {', '.join(LANGUAGES)}")
        return code or None

    @field_validator("data_dir", "prompts_dir")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        return path.expanduser().absolute() if path else None

    @model_validator(mode="after")
    def _resolve_database(self) -> Settings:
        url = make_url(self.database_url or f"sqlite:///{self.data_dir / 'console.db'}")
        if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
            url = url.set(database=str(Path(url.database).expanduser().absolute()))
        self.database_url = url.render_as_string(hide_password=False)
        return self


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Return the settings of this process, which are read once."""
    return Settings()
