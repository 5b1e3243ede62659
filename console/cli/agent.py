"""`inferact agent`: agents that ask over HTTP, each with its own token."""

from __future__ import annotations

from typing import Annotated

import typer

from console import runs
from console.auth import agents, audit_log
from console.auth.people import get_person
from console.cli.output import Json, emit, emit_table, noun, run_by_default
from console.database import now_ms, reading, writing

app = noun("Manage the tokens of agents that ask over HTTP.", "agent add support-bot")

Name = Annotated[str, typer.Argument(help="The agent's name.")]


@app.command("add", epilog="Example: inferact agent add support-bot")
def add_agent(
    name: Name,
    owner: Annotated[str | None, typer.Option(help="The person in whose name the agent asks.")] = None,
    as_json: Json = False,
) -> None:
    """Create an agent and print its token, which is shown only once."""
    with writing() as session:
        token = agents.add(session, name, now_ms(), get_person(session, owner).name if owner else "")
        audit_log.record(session, None, "agent added", now_ms(), subject=name)
    emit({"agent": name, "token": token}, as_json, token)


@app.command("renew", epilog="Example: inferact agent renew support-bot")
def renew_agent(name: Name, as_json: Json = False) -> None:
    """Give an agent a new token and print it; the previous token no longer works."""
    with writing() as session:
        token = agents.renew(session, name, now_ms())
        audit_log.record(session, None, "agent token renewed", now_ms(), subject=name)
    emit({"agent": name, "token": token}, as_json, token)


@app.command("list", epilog="Example: inferact agent list --json")
@run_by_default(app)
def list_agents(as_json: Json = False) -> None:
    """List the agents with the time of their last request."""
    with reading() as session:
        rows = [
            {
                "agent": one.name,
                "status": agents.status(one),
                "created": runs.iso(one.created_ms),
                "seen": runs.iso(one.seen_ms),
                "owner": agents.owner_of(session, one.id or 0),
            }
            for one in agents.list_agents(session)
        ]
    emit_table(
        rows,
        ("agent", "status", "created", "seen", "owner"),
        as_json,
        empty="No agents yet. Create an agent: inferact agent add NAME",
    )


@app.command("disable", epilog="Example: inferact agent disable support-bot")
def disable_agent(name: Name, as_json: Json = False) -> None:
    """Disable an agent's token immediately and permanently."""
    with writing() as session:
        agents.disable(session, name, now_ms())
        audit_log.record(session, None, "agent disabled", now_ms(), subject=name)
    emit({"agent": name, "disabled": True}, as_json, f"Disabled {name}. The agent's token no longer works.")
