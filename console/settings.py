"""The configuration of an installation: settings from environment variables `INFERACT_*`, and registries for plug-ins.

A registry has built-in entries; other packages add entries through entry points. `inferact doctor` lists plug-ins.
"""

from __future__ import annotations

import logging
import os
import re
from collections import UserDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import RLock
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from sqlalchemy.engine import make_url

from console.errors import BadInput, Unknown

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""The names of the languages in `console/locale`, by code."""


class Settings(BaseModel):
    """The console's settings; paths are absolute, independent of a command's working directory."""

    model_config = ConfigDict(extra="ignore", validate_default=True)

    data_dir: Path = Field(default=Path("~/.inferact"))
    """The folder for the database, the secrets and the uploads."""
    database_url: str = ""
    """The SQLAlchemy URL; by default `console.db` in the data directory."""
    host: str = "127.0.0.1"
    port: int = Field(default=8501, ge=1, le=65_535)
    public_url: str | None = None
    """The address that people use if it differs from the machine's own, such as https://console.example."""
    language: str | None = None
    """The language (en, de) of all pages for reviewers and participants, regardless of their browsers' preferences."""
    prompts_dir: Path | None = None
    """A folder whose files replace packaged prompt templates, file by file."""
    model: str | None = None
    reasoning_effort: str | None = None
    """The reasoning effort in the endpoint's terms (low, medium, high); omitted if the endpoint rejects it."""
    explain: bool = False
    """True if InferAct explains each flag with one further model call."""
    concurrency: int = Field(default=8, ge=1)
    cache_url: str | None = None
    """The cache of models' replies that several machines share: sqlite:///FILE or postgresql://...; by default a file
    in the data directory."""
    wiki_user_agent: str = "inferact-console (INFERACT_WIKI_USER_AGENT names no contact)"
    """The name and contact that requests to Wikipedia state; Wikimedia refuses requests without a contact."""
    wiki_per_second: float = Field(default=5.0, gt=0)
    """Maximum number of requests per second to one MediaWiki site, per process."""
    api_token: SecretStr | None = None
    """A token for the HTTP API beside the agents' own tokens; only this token may import logs."""
    agent_waiting: int = Field(default=200, ge=1)
    """Maximum number of one agent's checks that may wait for a person at the same time, over HTTP."""
    agent_runs: int = Field(default=100, ge=1)
    """Maximum number of runs that one agent may create within 24 hours, over HTTP."""
    keep_allowed_days: int = Field(default=90, ge=0)
    """Number of days to keep each check that a policy allowed immediately; the count of these checks stays forever."""
    webhook_url: str | None = None
    """The address that receives every decision on an agent's action."""
    webhook_secret: SecretStr | None = None
    """The signing secret for webhooks: `whsec_` and base64 (Standard Webhooks), or any other text unchanged.

    Two secrets with `whsec_`, separated by a blank, both sign each message."""
    smtp_url: SecretStr | None = None
    """The mail server for notices: smtp://NAME:PASSWORD@HOST:587 (STARTTLS) or smtps://NAME:PASSWORD@HOST."""
    mail_from: str = ""
    """The sender address of mails, such as console@example.org."""
    notice_hosts: str = ""
    """The hosts to which people may send their notices, separated by commas: mail domains, `host` or `host:port`."""
    notice_arguments: bool = False
    """True if notices contain the action's arguments; otherwise notices contain only run, tool, agent and deadline."""
    log_format: Literal["text", "json"] = "text"
    """The format of the server's and the worker's log; `json` writes a line for each request and each message."""
    traces: bool = False
    """True if requests, checks, claims, decisions and jobs are OpenTelemetry spans, which hold no content."""
    oidc_metadata_url: str | None = None
    """The URL of the OpenID provider's metadata: its address with /.well-known/openid-configuration."""
    oidc_client_id: str | None = None
    oidc_client_secret: SecretStr | None = None
    """The client secret at the provider; the provider redirects to /sign-in/organisation/back."""

    @field_validator("language")
    @classmethod
    def _known_language(cls, code: str | None) -> str | None:
        if code and code not in LANGUAGES:
            raise ValueError(f"unknown language. Choose one of {', '.join(LANGUAGES)}")
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
    """Return the settings of this process, read once from the environment."""
    names = {name.lower(): text for name, text in os.environ.items()}
    given = {field: names.get(f"inferact_{field}") for field in Settings.model_fields}
    return Settings.model_validate({field: text for field, text in given.items() if text is not None})


Entry = TypeVar("Entry")

_PREFIX = "inferact."
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LOADED = "loaded"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in: an entry point of an installed package. Its state is `loaded` or the reason for its omission."""

    name: str
    group: str
    package: str
    version: str
    state: str


class Registry(UserDict[str, Entry]):
    """The entries of one kind by name: built-in entries first, then entries from plug-ins.

    The registry loads plug-ins when code first lists its entries, or requests a name that is not built in. The registry
    omits, with a warning, a plug-in that cannot be loaded, has the wrong type or takes an existing name.

    `kind` names an entry in errors, and `group` is the group of the entry points. An entry is an instance of `type_`,
    or any callable if `type_` is None. `registry[name]` returns `default` for an unknown name.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        type_: type[Entry] | None,
        built_in: Mapping[str, Entry],
        default: Entry | None = None,
    ) -> None:
        super().__init__()
        self.kind, self.group, self._type, self._default = kind, group, type_, default
        self.built_in = built_in
        self._plugins: list[Plugin] | None = None
        self._lock = RLock()
        for name, entry in built_in.items():
            self.register(name, entry)

    def register(self, name: str, entry: Entry) -> None:
        """Add an entry; raise BadInput if the name is malformed or taken, or if the entry has the wrong type."""
        if not _NAME.fullmatch(name):
            raise BadInput(f"{name!r} is not a valid name. Use lower-case letters, digits and single hyphens.")
        if name in self.data:
            taken = "built in" if name in self.built_in else "taken by another plug-in"
            raise BadInput(f"The name {name!r} is {taken}. Choose another name.")
        if not (callable(entry) if self._type is None else isinstance(entry, self._type)):
            expected = "a callable" if self._type is None else f"{self._type.__module__}.{self._type.__name__}"
            raise BadInput(f"The entry is of type {type(entry).__name__}. Give {expected}.")
        if (own := getattr(entry, "name", name)) != name:
            raise BadInput(f"The entry {own!r} has the entry point name {name!r}. Use one name.")
        self.data[name] = entry

    def pick(self, name: str, also: Iterable[str] = ()) -> Entry:
        """Return the entry with this name.

        Raise Unknown with the known names if the name is unknown, or BadInput if its plug-in is broken. `also` lists
        the names outside the registry that the caller accepts.
        """
        if name not in self:
            raise self.refusal(name, also)
        return self[name]

    def refusal(self, name: str, also: Iterable[str] = ()) -> BadInput:
        """Return the error for a name that is not in the registry."""
        broken = [plugin for plugin in self.list_plugins() if plugin.name == name and plugin.state != LOADED]
        if broken:
            return BadInput(f"The {self.kind} {name!r} of {broken[0].package} was left out. {broken[0].state}")
        return Unknown(self.kind, name, [*also, *self])

    def list_plugins(self) -> list[Plugin]:
        """Return the plug-ins of this kind, loading them if necessary."""
        with self._lock:
            if self._plugins is None:
                # Set before they load, since a plug-in may list the registry while it is imported.
                self._plugins = []
                self._plugins += [self._load(point) for point in _list_entry_points() if point.group == self.group]
            return self._plugins

    def _load(self, point: EntryPoint) -> Plugin:
        try:
            if point.name in self.built_in:
                raise BadInput(f"The name {point.name!r} is built in. Choose another name.")
            self.register(point.name, point.load())
        # Code of somebody else, which may raise anything while it is imported.
        except (Exception, SystemExit) as failure:
            reason = str(failure) if isinstance(failure, BadInput) else f"{type(failure).__name__}: {failure}"
            plugin = _describe(point, " ".join(reason.split()))
            message = "The plug-in %s (%s) of %s %s was left out. %s"
            logging.getLogger(__name__).warning(
                message, plugin.name, plugin.group, plugin.package, plugin.version, plugin.state
            )
            return plugin
        return _describe(point, LOADED)

    def __missing__(self, name: str) -> Entry:
        self.list_plugins()
        found = self.data.get(name, self._default)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.data or (bool(self.list_plugins()) and name in self.data)

    def __iter__(self) -> Iterator[str]:
        self.list_plugins()
        return iter(self.data)

    def __len__(self) -> int:
        self.list_plugins()
        return len(self.data)


def list_all(registries: Iterable[Registry[Any]]) -> list[Plugin]:
    """Return the plug-ins of these registries, and the entry points in unknown groups."""
    known = {registry.group: registry for registry in registries}
    plugins = [plugin for registry in known.values() for plugin in registry.list_plugins()]
    state = f"Unknown group: use one of {', '.join(known)}."
    return plugins + [_describe(point, state) for point in _list_entry_points() if point.group not in known]


# Reading the metadata of every installed package takes 10 to 50 ms.
@cache
def _list_entry_points() -> list[EntryPoint]:
    installed = entry_points()
    groups = [group for group in installed.groups if group.startswith(_PREFIX)]
    points = [point for group in groups for point in installed.select(group=group)]
    return sorted(points, key=lambda point: (point.group, point.dist.name if point.dist else "", point.name))


def _describe(point: EntryPoint, state: str) -> Plugin:
    package, version = (point.dist.name, point.dist.version) if point.dist else ("unknown", "")
    return Plugin(point.name, point.group, package, version, state)
