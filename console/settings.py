"""Every setting, from `INFERACT_*` in the environment."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import make_url

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""The languages of the catalogues in `console/locale`, each by its own name."""


class Settings(BaseSettings):
    """Paths are absolute once read, whatever directory the command was started from."""

    model_config = SettingsConfigDict(env_prefix="INFERACT_", extra="ignore")

    data_dir: Path = Field(default=Path("~/.inferact"))
    """Where the database, the secret of the sign-in and the uploads live."""
    database_url: str = ""
    """SQLAlchemy URL; by default `console.db` in the data directory."""
    host: str = "127.0.0.1"
    port: int = Field(default=8501, ge=1, le=65_535)
    public_url: str | None = None
    """The address that people type where it is not the machine's own, such as https://console.example."""
    language: str | None = None
    """The language of every reviewer's and participant's page (en, de), whatever a browser asks for."""
    prompts_dir: Path | None = None
    """A folder whose files take the place of the packaged prompt templates, file by file."""
    model: str | None = None
    reasoning_effort: str | None = None
    """How long reasoning models may think, in the endpoint's words (low, medium, high); left out where not taken."""
    explain: bool = False
    """Whether InferAct says in one further call why it flags."""
    concurrency: int = Field(default=8, ge=1)
    api_token: SecretStr | None = None
    """A token of the HTTP API beside those of the agents; it alone may import."""
    webhook_url: str | None = None
    """Where every decision on an agent's action is sent."""
    webhook_secret: SecretStr | None = None
    """Signs what is sent there: `whsec_` and base64 as Standard Webhooks has it, or any other text as it is."""
    oidc_metadata_url: str | None = None
    """Where the OpenID provider of a team describes itself: its address and /.well-known/openid-configuration."""
    oidc_client_id: str | None = None
    oidc_client_secret: SecretStr | None = None
    """What the provider knows this console by; it sends people back to /sign-in/organisation/back."""

    @field_validator("language")
    @classmethod
    def _known_language(cls, code: str | None) -> str | None:
        if code and code not in LANGUAGES:
            raise ValueError(f"no catalogue of that language; choose one of {', '.join(LANGUAGES)}")
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
    """The settings of this process, read once."""
    return Settings()
