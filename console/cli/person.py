"""`inferact person`: people with access, their sign-in links and their sessions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from console import runs
from console.auth import audit_log, invitations, people, sessions
from console.auth.people import roles_of
from console.cli.output import Json, emit, emit_table, noun, run_by_default
from console.cli.serve import PublicUrl, ServedHost, ServedPort, get_running_site
from console.database import now_ms, reading, writing
from console.server import serve

app = noun("Invite and disable people, and end their sessions.", "person invite Ada --role researcher")

Name = Annotated[str, typer.Argument(help="The person's name, ignoring case.")]


@app.command("list", epilog="Example: inferact person list --json")
@run_by_default(app)
def list_people(as_json: Json = False) -> None:
    """List everyone with access, and disabled people."""
    with reading() as session:
        rows: list[dict[str, Any]] = [
            {
                "name": one.name,
                "roles": one.roles,
                "since": runs.iso(one.created_ms),
                "disabled": runs.iso(one.disabled_ms),
            }
            for one in people.list_people(session)
        ]
    emit_table(
        rows,
        ("name", "roles", "since", "disabled"),
        as_json,
        empty="No people yet. Invite a person: inferact person invite NAME",
    )


@app.command("invite", epilog="Example: inferact person invite Ada --role researcher")
def invite_person(
    name: Name,
    role: Annotated[
        list[str] | None,
        typer.Option(
            help="Roles: reviewer, researcher, admin. Comma-separated or repeated (default: the current roles)."
        ),
    ] = None,
    host: ServedHost = None,
    port: ServedPort = None,
    public_url: PublicUrl = None,
    as_json: Json = False,
) -> None:
    """Print a link that signs this person in once; the link also restores access for a disabled person."""
    site, asked = get_running_site(host, port, public_url), ",".join(role or []) or None
    roles = roles_of(asked) if asked else None
    with writing() as session:
        token = invitations.invite(session, name, roles, "inferact person", now_ms())
        written = people.get_person(session, name).name
        audit_log.record(session, None, "person invited", now_ms(), subject=written, after=asked)
    link = serve.invitation_link(site, token)
    emit(
        {"name": written, "link": link, "days": invitations.DAYS},
        as_json,
        f"Link for {written}, valid once within {invitations.DAYS} days:\n{link}",
    )


@app.command("disable", epilog="Example: inferact person disable Ada")
def disable_person(name: Name, as_json: Json = False) -> None:
    """Disable a person: their sessions end and their links stop working; their decisions are kept."""
    with writing() as session:
        person = people.get_person(session, name)
        people.disable(session, person, now_ms())
        written = person.name
        audit_log.record(session, None, "person disabled", now_ms(), subject=written)
    emit(
        {"name": written, "disabled": True},
        as_json,
        f"Disabled {written}. The person's open pages close within seconds.",
    )


@app.command("sessions", epilog="Example: inferact person sessions")
def list_sessions(as_json: Json = False) -> None:
    """List the browsers in which people are signed in."""
    with reading() as session:
        rows = [
            {
                "id": one.id,
                "name": one.name,
                "since": runs.iso(one.created_ms),
                "seen": runs.iso(one.seen_ms),
                "address": one.address,
                "browser": one.browser,
            }
            for one in sessions.open_sessions(session, now_ms())
        ]
    worded = [row | {"browser": sessions.browser_in_words(str(row["browser"]))} for row in rows]
    emit_table(
        rows, ("id", "name", "since", "seen", "address", "browser"), as_json, empty="No one is signed in.", shown=worded
    )


@app.command("end-session", epilog="Example: inferact person end-session 3")
def end_session(
    number: Annotated[int, typer.Argument(metavar="ID", help="The session's id.")], as_json: Json = False
) -> None:
    """End one session; its open pages close within seconds."""
    with writing() as session:
        name = sessions.end_session_of(session, number, None, now_ms())
        audit_log.record(session, None, "session ended", now_ms(), subject=name)
    emit({"id": number, "name": name, "ended": True}, as_json, f"Ended session {number} of {name}.")


@app.command("group", epilog="Example: inferact person group finance --add Ada --add Bob")
def change_group(
    name: Annotated[str | None, typer.Argument(help="The group's name. Leave out the name to list all people.")] = None,
    add: Annotated[list[str] | None, typer.Option(help="A person to add. Repeatable.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A person to remove. Repeatable.")] = None,
    as_json: Json = False,
) -> None:
    """List the groups of people, or change a group; a rule of a policy names the group as `who: group:NAME`."""
    if name is None:
        with reading() as session:
            found = people.list_groups(session)
        rows = [{"group": group, "members": ", ".join(members)} for group, members in found.items()]
        emit_table(rows, ("group", "members"), as_json, empty="No groups yet. Add a group: inferact person group NAME")
        return
    with writing() as session:
        members = people.change_group(session, name, now_ms(), add=add or (), remove=remove or ())
    emit({"group": name, "members": members}, as_json, f"{name}: {', '.join(members) or 'no members'}.")
