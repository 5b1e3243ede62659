"""`inferact serve` and `inferact worker`: the processes that run until they are stopped."""

from __future__ import annotations

from typing import Annotated

import typer

from console.auth import sign_in
from console.cli.output import say
from console.database import database_url
from console.server import serve
from console.settings import settings
from storage.engine import shown


def serve_console(
    host: Annotated[str | None, typer.Option(help="Where to listen.")] = None,
    port: Annotated[int | None, typer.Option(help="The port.")] = None,
) -> None:
    """Start the console and print two links: one for reviewers, one for the researcher."""
    address, number = host or settings().host, port or settings().port
    url = database_url()
    serve.refuse_taken_port(address, number)
    reviewer, researcher = serve.links(address, number, sign_in.researcher_key())
    agents = serve.api_address(address, number)
    typer.echo(f"Database    {shown(url)}\nReviewers   {reviewer}\nResearcher  {researcher}\nAgents      {agents}")
    typer.echo("Stop with Ctrl+C.")
    serve.serve(address, number)


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
