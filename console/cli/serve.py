"""`inferact serve` and `inferact worker`: the processes that run until they are stopped."""

from __future__ import annotations

from typing import Annotated

import typer

from console.auth import invitations, people
from console.auth.identity import Role, roles_of, roles_text
from console.auth.kept_secrets import path_of
from console.cli.output import say
from console.database import database_url, now_ms, reading, writing
from console.runs import audit_log
from console.server import serve
from console.server.site import Site, site_at
from console.settings import settings
from storage.engine import shown

Host = Annotated[str | None, typer.Option(help="Where to listen.")]
Port = Annotated[int | None, typer.Option(help="The port.", min=1, max=65_535)]
ServedHost = Annotated[str | None, typer.Option("--host", help="Where the console listens, as given to `serve`.")]
ServedPort = Annotated[int | None, typer.Option("--port", help="Its port.")]
PublicUrl = Annotated[str | None, typer.Option("--public-url", help="The address that people type, if not this one.")]
_PRINTED_DAYS = 1


def serve_console(
    host: Host = None,
    port: Port = None,
    public_url: PublicUrl = None,
    invite: Annotated[str | None, typer.Option(help="Print a link that opens the console for that person.")] = None,
    role: Annotated[
        list[str] | None, typer.Option(help="With --invite: reviewer, researcher, admin, or several.")
    ] = None,
) -> None:
    """Start the console; print a link for the first admin, or for whom you invite."""
    site = site_of(host, port, public_url)
    serve.refuse_to_serve(site.host, site.port)
    start(site, _first_link(site, invite, role))


def site_of(host: str | None, port: int | None, public_url: str | None) -> Site:
    """The site of those options and the settings."""
    given = settings()
    return site_at(host or given.host, port or given.port, public_url or given.public_url)


def start(site: Site, link: str | None) -> None:
    """Says where everything is and serves until it is stopped."""
    url = database_url()
    agents = serve.api_address(site)
    typer.echo(f"Database    {shown(url)}\nConsole     {site.base}/")
    typer.echo(f"Your link   {link} (opens once)" if link else "Links       inferact person invite NAME")
    typer.echo(f"Agents      {agents}")
    if path_of("researcher.key").exists():
        typer.echo(f"{path_of('researcher.key')} opens nothing any more; people have links of their own. Delete it.")
    typer.echo("Stop with Ctrl+C.")
    serve.serve(site)


def link_for(site: Site, name: str | None, roles: frozenset[Role] | None) -> str:
    """A printed link for that person, or for whoever opens it first."""
    with writing() as session:
        token = invitations.invite(session, name, roles, "inferact serve", now_ms(), days=_PRINTED_DAYS)
        given = roles_text(roles) if roles else None
        audit_log.record(session, None, "person invited", now_ms(), subject=name or "", after=given)
    return serve.invitation_link(site, token)


def _first_link(site: Site, invite: str | None, role: list[str] | None) -> str | None:
    if invite is not None:
        return link_for(site, invite, roles_of(asked) if (asked := ",".join(role or ())) else None)
    with reading() as session:
        if people.has_admin(session):
            return None
    return link_for(site, None, frozenset({Role.REVIEWER, Role.RESEARCHER, Role.ADMIN}))


def run_worker(
    once: Annotated[bool, typer.Option("--once", help="One round, then end; for a timer.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two rounds.")] = 1.0,
) -> None:
    """Free lapsed claims, advance runs whose decisions are due, and send webhooks, until Ctrl+C."""
    from console.server.worker import work  # brings an HTTP client, which only this command should pay for

    database_url()
    if not once:
        say("Working. Stop with Ctrl+C.")
    work(say, once=once, every_s=every)
