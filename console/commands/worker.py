"""`inferact worker`."""

from __future__ import annotations

from typing import Annotated

import typer

from console.commands.output import say
from console.database import database_url


def worker(
    once: Annotated[bool, typer.Option("--once", help="One round, then end; for a timer.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two rounds.")] = 1.0,
) -> None:
    """Free lapsed claims, advance runs whose decisions are due, and send webhooks, until Ctrl+C."""
    from console.server.worker import work  # brings an HTTP client, which only this command should pay for

    database_url()
    if not once:
        say("Working. Stop with Ctrl+C.")
    work(say, once=once, every_s=every)
