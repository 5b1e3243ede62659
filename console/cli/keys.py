"""`inferact keys`: the secrets of this installation, their age and their rotation."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from console import runs
from console.auth import agents, audit_log
from console.auth.kept_secrets import new_signing_secret, path_of, rotate_secret
from console.cli.output import Json, emit, emit_table, noun, run_by_default
from console.database import now_ms, reading, writing
from console.errors import BadInput
from console.review.notices import channels
from console.settings import settings

app = noun("List and rotate agents' tokens and the secrets of cookies and webhooks.", "keys rotate agent --name bot")

_FILES = {"cookie": "cookie.secret", "sign-in": "oidc.secret"}
"""The files of the secrets that the command replaces, by kind."""
_HOUR_MS = 3_600_000


@app.command("list", epilog="Example: inferact keys list --json")
@run_by_default(app)
def list_keys(as_json: Json = False) -> None:
    """List the secrets with their age in days and the end of a replaced secret; no secret is shown."""
    at_ms = now_ms()
    with reading() as session:
        rows = [
            _row("agent", one.name, (at_ms - (one.token_ms or one.created_ms)) // (24 * _HOUR_MS), one.old_until_ms)
            for one in agents.list_agents(session)
            if agents.status(one) == "active"
        ]
        signed = [one for one in channels.list_channels(session) if one.secret]
        rows += [_row("channel", str(one.id), None, one.old_until_ms) for one in signed]
    for kind, name in _FILES.items():
        if (path := path_of(name)).exists():
            rows.append(_row(kind, name, int(time.time() - path.stat().st_mtime) // 86_400))
    in_settings = {"webhook": settings().webhook_secret, "api": settings().api_token}
    names = {"webhook": "INFERACT_WEBHOOK_SECRET", "api": "INFERACT_API_TOKEN"}
    rows += [_row(kind, names[kind]) for kind, secret in in_settings.items() if secret is not None]
    emit_table(rows, ("kind", "name", "days", "old_until"), as_json, empty="No secrets yet.")


def _row(kind: str, name: str, days: int | None = None, old_until_ms: int | None = None) -> dict[str, Any]:
    is_valid = (old_until_ms or 0) > now_ms()
    return {"kind": kind, "name": name, "days": days, "old_until": runs.iso(old_until_ms) if is_valid else None}


@app.command("rotate", epilog="Example: inferact keys rotate agent --name support-bot --overlap 24")
def rotate(
    kind: Annotated[str, typer.Argument(help="agent, channel, cookie, sign-in or webhook.")],
    name: Annotated[str | None, typer.Option(help="The agent's name or the channel's id (default: all).")] = None,
    overlap: Annotated[int, typer.Option(min=0, help="Hours in which the old secret still works.")] = 24,
    as_json: Json = False,
) -> None:
    """Replace a secret; new tokens are printed once. Restart the console after the rotation of cookie or sign-in."""
    if name is not None and kind not in ("agent", "channel"):
        raise BadInput("--name needs the kind agent or channel. Leave out --name.")
    until_ms = now_ms() + overlap * _HOUR_MS
    fresh: dict[str, str] = {}
    if kind in ("agent", "channel"):
        fresh = _rotate_agents(name, until_ms) if kind == "agent" else _rotate_channels(name, until_ms)
        said = "\n".join(f"{one}: {secret}" for one, secret in fresh.items()) or f"No {kind} has a secret."
    elif kind in _FILES:
        rotate_secret(_FILES[kind], until_ms)
        said = "Restart the console now."
    elif kind == "webhook":
        fresh = {"INFERACT_WEBHOOK_SECRET": new_signing_secret()}
        said = (
            f"{fresh['INFERACT_WEBHOOK_SECRET']}\nSet INFERACT_WEBHOOK_SECRET to this secret, a blank and the old "
            "secret, then restart. Remove the old secret when the receiver has the new one."
        )
    else:
        raise BadInput(f"{kind!r} is not a kind of secret. Use agent, channel, {', '.join(_FILES)} or webhook.")
    if kind in _FILES:
        with writing() as session:
            audit_log.record(session, None, "secret rotated", now_ms(), subject=kind)
    emit({"kind": kind, "secrets": fresh, "old_until": runs.iso(until_ms)}, as_json, said)


def _rotate_agents(name: str | None, until_ms: int) -> dict[str, str]:
    """Give the named agent or all agents new tokens; return the tokens by name."""
    with writing() as session:
        listed = [one.name for one in agents.list_agents(session) if agents.status(one) == "active"]
        fresh = {}
        for agent in listed if name is None else [name]:
            fresh[agent] = agents.renew(session, agent, now_ms(), until_ms)
            audit_log.record(session, None, "agent token renewed", now_ms(), subject=agent)
    return fresh


def _rotate_channels(number: str | None, until_ms: int) -> dict[str, str]:
    """Give the channel with this id, or all that sign, new secrets; return the secrets by id."""
    if number is not None and not number.isdecimal():
        raise BadInput(f"{number!r} is not the id of a channel. List the channels: inferact notice list")
    with writing() as session:
        listed = [one.id or 0 for one in channels.list_channels(session) if one.secret]
        chosen = listed if number is None else [int(number)]
        return {str(one): channels.rotate_secret(session, one, None, now_ms(), until_ms) for one in chosen}
