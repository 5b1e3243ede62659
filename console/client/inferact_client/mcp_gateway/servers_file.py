"""The file of a gateway: the console that decides, and the servers whose tools run."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from inferact_client.errors import ClientError
from inferact_client.hook.notes import state_folder

_NAME = re.compile(r"[a-z0-9]+([_-][a-z0-9]+)*")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_CONSOLE = {"url", "token", "run", "expires_s"}
_STDIO, _HTTP = {"command", "args", "env", "cwd"}, {"url", "headers", "tools"}


@dataclass(frozen=True)
class ServerSpec:
    """One server: a command that speaks MCP over stdio, or the address of a server that speaks MCP over HTTP.

    With `tools`, an OpenAPI file, the server is a plain HTTP service at this address. `env`, `headers` and `args` hold
    secrets, which the agent never receives.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    tools: str = ""
    trust_annotations: bool = False


@dataclass(frozen=True)
class GatewaySpec:
    """A gateway: its console and run, its servers, and its times in seconds.

    A call waits `hold_s` for a person and then returns a message to call again; if the agent does not call again for
    `return_s`, its check is withdrawn. A check expires after `expires_s`, unless its rule sets another time. `journal`
    is the folder of the calls that have run for named tasks.
    """

    url: str
    token: str
    run: str
    servers: tuple[ServerSpec, ...]
    expires_s: float | None = None
    hold_s: float = 25.0
    return_s: float = 600.0
    journal: Path = field(default_factory=lambda: state_folder("inferact-mcp"))


def read_gateway(path: Path) -> GatewaySpec:
    """Return the gateway of a file, with each `${NAME}` from the environment; raise ClientError if unusable."""
    try:
        document = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as unreadable:
        raise ClientError(f"{path} cannot be read as YAML ({unreadable}). Correct the file.") from unreadable
    top = _fields(document, path.name, {"console", "servers", "hold_s", "return_s", "journal"}, {"console", "servers"})
    console = _fields(_expand(top["console"], "console"), "console", _CONSOLE, {"url", "token", "run"})
    servers = top["servers"]
    if not isinstance(servers, Mapping) or not servers:
        raise ClientError("servers is empty. Give each server a name, and its command or url.")
    times = {name: _seconds(top[name], name) for name in ("hold_s", "return_s") if name in top}
    if "expires_s" in console:
        times["expires_s"] = _seconds(console["expires_s"], "console.expires_s")
    known = tuple(_read_server(str(name), given, path.parent) for name, given in servers.items())
    # Gateways of one file share what has run; another file's tasks are others.
    own = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    journal = Path(str(top["journal"])) if "journal" in top else state_folder("inferact-mcp") / own
    return GatewaySpec(str(console["url"]), str(console["token"]), str(console["run"]), known, journal=journal, **times)


def _read_server(name: str, given: object, folder: Path) -> ServerSpec:
    where = f"servers.{name}"
    if not _NAME.fullmatch(name):
        raise ClientError(
            f"{where}: the server's name is invalid. Use lower-case letters, digits and single separators."
        )
    known = _fields(_expand(given, where), where, {"trust_annotations", *_STDIO, *_HTTP}, set())
    if ("command" in known) == ("url" in known):
        raise ClientError(f"{where} needs a command or a url, but not both. Correct the entry.")
    if strange := set(known) & (_HTTP if "command" in known else _STDIO):
        raise ClientError(
            f"{where} has {', '.join(sorted(strange))}, which belongs to the other kind of server. Remove these fields."
        )
    trusted = known.get("trust_annotations", False)
    if not isinstance(trusted, bool):
        raise ClientError(f"{where}.trust_annotations is not a boolean. Set true or false.")
    args = known.get("args", [])
    if not isinstance(args, list):
        raise ClientError(f"{where}.args is not a list. Write the arguments as a list.")
    return ServerSpec(
        name,
        command=str(known.get("command", "")),
        args=tuple(map(str, args)),
        env=_texts(known.get("env", {}), f"{where}.env"),
        cwd=str(known["cwd"]) if "cwd" in known else None,
        url=str(known.get("url", "")),
        headers=_texts(known.get("headers", {}), f"{where}.headers"),
        tools=str(folder / str(known["tools"])) if "tools" in known else "",
        trust_annotations=trusted,
    )


def _fields(given: object, where: str, known: set[str], needed: set[str]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ClientError(f"{where} is not a mapping. Write a mapping of {', '.join(sorted(known))}.")
    if strange := set(map(str, given)) - known:
        raise ClientError(
            f"{where} has {', '.join(sorted(strange))}, which {'is' if len(strange) == 1 else 'are'} unknown. "
            f"Use {', '.join(sorted(known))}."
        )
    if missing := needed - set(given):
        raise ClientError(f"{where} lacks {', '.join(sorted(missing))}. Add the missing fields.")
    return dict(given)


def _texts(given: object, where: str) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise ClientError(f"{where} is not a mapping of strings. Write NAME: VALUE lines.")
    return {str(name): str(value) for name, value in given.items()}


def _seconds(given: object, where: str) -> float:
    try:
        seconds = float(str(given))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 604_800:
        raise ClientError(f"{where} is {given!r}. Use a number of seconds above 0, up to 604,800.")
    return seconds


def _expand(given: object, where: str) -> object:
    """Replace `${NAME}` in all texts by the environment variable; raise ClientError if it is not set."""
    if isinstance(given, Mapping):
        return {name: _expand(value, f"{where}.{name}") for name, value in given.items()}
    if isinstance(given, list):
        return [_expand(value, where) for value in given]
    if not isinstance(given, str):
        return given
    for name in _VARIABLE.findall(given):
        if not os.environ.get(name):
            raise ClientError(f"{where} uses ${{{name}}}, but {name} is not set. Set the environment variable.")
    return _VARIABLE.sub(lambda found: os.environ[found[1]], given)
