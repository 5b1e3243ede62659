"""`inferact serve` and `inferact worker`: processes that run until they are stopped, and the list of workers."""

from __future__ import annotations

from typing import Annotated

import typer

from console.auth import audit_log, invitations, people
from console.auth.people import Role, roles_of, roles_text
from console.cli.output import Json, emit, emit_table, noun, say
from console.database import database_url, now_ms, reading, writing
from console.language import counted
from console.runs import iso, workers
from console.server import serve
from console.server.site import Site, running_address, site_at
from console.settings import settings
from storage.engine import mask_password

Host = Annotated[str | None, typer.Option(help="The address to listen on.")]
Port = Annotated[int | None, typer.Option(help="The port.", min=1, max=65_535)]
ServedHost = Annotated[str | None, typer.Option("--host", help="The console's host, as given to `serve`.")]
ServedPort = Annotated[int | None, typer.Option("--port", help="The console's port, as given to `serve`.")]
PublicUrl = Annotated[
    str | None, typer.Option("--public-url", help="The console's public address, if it differs from host and port.")
]
_PRINTED_DAYS = 1


def serve_console(
    host: Host = None,
    port: Port = None,
    public_url: PublicUrl = None,
    invite: Annotated[str | None, typer.Option(help="Print a sign-in link for this person.")] = None,
    role: Annotated[
        list[str] | None, typer.Option(help="With --invite: reviewer, researcher or admin. Repeatable.")
    ] = None,
) -> None:
    """Start the console and print a sign-in link for the first admin, or for the invited person."""
    site = get_site(host, port, public_url)
    serve.refuse_to_serve(site.host, site.port)
    serve_site(site, _first_link(site, invite, role))


def get_site(host: str | None, port: int | None, public_url: str | None) -> Site:
    """Return the site from these options and the settings."""
    given = settings()
    return site_at(host or given.host, port or given.port, public_url or given.public_url)


def get_running_site(host: str | None, port: int | None, public_url: str | None) -> Site:
    """Return the site from these options, or the site of the running server if no option is given."""
    running = running_address() if (host, port, public_url) == (None, None, None) else None
    if running is not None:
        return Site(settings().host, settings().port, running)
    if (host, port, public_url, settings().public_url) == (None, None, None, None):
        typer.echo(
            "No server of this data directory is running, so the link has the address of the settings.", err=True
        )
    return get_site(host, port, public_url)


def serve_site(site: Site, link: str | None) -> None:
    """Print the addresses and serve until stopped."""
    url, agents = database_url(), serve.api_address(site)
    typer.echo(f"Database    {mask_password(url)}\nConsole     {site.base}/")
    typer.echo(f"Your link   {link} (valid once)" if link else "Links       inferact person invite NAME")
    typer.echo(f"Agents      {agents}\nStop with Ctrl+C.")
    serve.serve(site)


def create_link(site: Site, name: str | None, roles: frozenset[Role] | None) -> str:
    """Create a sign-in link for this person, or for the first person who opens it."""
    with writing() as session:
        token = invitations.invite(session, name, roles, "inferact serve", now_ms(), days=_PRINTED_DAYS)
        given = roles_text(roles) if roles else None
        audit_log.record(session, None, "person invited", now_ms(), subject=name or "", after=given)
    return serve.invitation_link(site, token)


def _first_link(site: Site, invite: str | None, role: list[str] | None) -> str | None:
    if invite is not None:
        return create_link(site, invite, roles_of(asked) if (asked := ",".join(role or ())) else None)
    with reading() as session:
        if people.has_admin(session):
            return None
    return create_link(site, None, frozenset({Role.REVIEWER, Role.RESEARCHER, Role.ADMIN}))


worker = noun("Continue runs, free expired claims and send messages, until Ctrl+C.", "worker --once")


@worker.callback()
def run_worker(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Run one round and exit, for use with a timer.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two rounds.")] = 1.0,
) -> None:
    """Free expired claims, advance runs with due decisions and send webhooks, until Ctrl+C.

    Ctrl+C ends the worker after its present job; a second Ctrl+C ends it at once.
    """
    from console.server.worker import work  # brings an HTTP client, which only this command should pay for

    if context.invoked_subcommand is None:
        work(say, once=once, every_s=every)


@worker.command("list", epilog="Example: inferact worker list --json")
def list_workers(as_json: Json = False) -> None:
    """List the workers of the last week with their status, job and last heartbeat."""
    with reading() as session:
        found = workers.list_workers(session, now_ms())
    rows = [
        {
            "id": one.worker_id,
            "name": one.name,
            "status": one.status,
            "job": one.job,
            "jobs_done": one.jobs_done,
            "started": iso(one.started_ms),
            "seen": iso(one.seen_ms),
            "failure": one.failure,
        }
        for one in found
    ]
    empty = "No worker has run in the last week. Start one: inferact worker"
    emit_table(rows, ("id", "name", "status", "job", "jobs_done", "started", "seen", "failure"), as_json, empty=empty)


@worker.command("drain", epilog="Example: inferact worker drain")
def drain_workers(
    number: Annotated[
        list[int] | None, typer.Argument(metavar="ID", help="Ids of workers (default: all workers).")
    ] = None,
    as_json: Json = False,
) -> None:
    """End workers after their present job, for example before an upgrade."""
    with writing() as session:
        count = workers.drain_workers(session, number or None)
    emit({"draining": count}, as_json, f"{counted(count, 'worker')} will end after the present job.")
