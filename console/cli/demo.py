"""`inferact demo`: agents work offline, their flagged actions are queued, and the console opens on them."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import webbrowser
from shlex import quote
from typing import Annotated, Any

import typer

from console import runs
from console.auth.people import Role
from console.cli.output import Json, emit_json, say
from console.cli.run import play_run
from console.cli.serve import Host, Port, PublicUrl, create_link, get_site
from console.cli.serve import serve_site as start_console
from console.database import reading
from console.runs import RunOptions
from console.runs.status import run_status
from console.server import serve
from console.trials import engine, start

RUN = "demo"
REVIEWER = "Demo"
TASKS = {"webshop": 40, "hotpotqa": 20, "alfworld": 20}
BUDGET_PERCENT = 50.0
_UP_WITHIN_S = 60.0


def demo(
    no_serve: Annotated[
        bool, typer.Option("--no-serve", help="Only fill the database, without starting the console.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run the agents again in a new run, and keep existing runs.")
    ] = False,
    browser: Annotated[bool, typer.Option(help="Open the console in a browser.")] = True,
    host: Host = None,
    port: Port = None,
    public_url: PublicUrl = None,
    as_json: Json = False,
) -> None:
    """Run demo agents offline and open the console to review their stopped actions."""
    site = get_site(host, port, public_url)
    if not no_serve:
        serve.refuse_to_serve(site.host, site.port)
    name, known = _name(fresh)
    if not known:
        goes_on = RunOptions(goes_on=True).to_json()
        start.start_run(name, TASKS, budget_percent=BUDGET_PERCENT, trials=4, blind=False, options=goes_on)
    # This plays the first trial; in a known run, only the trials that a crash interrupted.
    play_run(name, engine.resume)
    with reading() as session:
        document = run_status(session, runs.get(session, name))
    if as_json:
        emit_json(document)
    else:
        say(_sentence(document, known))
    if no_serve:
        return
    roles = frozenset({Role.REVIEWER, Role.RESEARCHER})
    link = f"{create_link(site, REVIEWER, roles)}?next=/review%3Frun={name}%26welcome=1"
    if browser and _has_screen():
        threading.Thread(target=_open_when_up, args=(link, site.host, site.port), daemon=True).start()
    start_console(site, link)


def _name(fresh: bool) -> tuple[str, bool]:
    """Return the name of the demo run to use (the latest one, else a new name), and whether that run exists."""
    with reading() as session:
        taken = {run.name for run in runs.list_runs(session)}
    number = 1
    while _numbered(number) in taken:
        number += 1
    if fresh or number == 1:
        return _numbered(number), False
    return _numbered(number - 1), True


def _numbered(number: int) -> str:
    return RUN if number == 1 else f"{RUN}-{number}"


def _sentence(document: dict[str, Any], known: bool) -> str:
    name, last = document["run"], document["trials"][-1]
    begun = "already exists" if known else f"ran {last['tasks']} tasks offline, without a model or a network"
    return (
        f"Run {name} {begun}. Trial {last['trial']}: {last['succeeded']} succeeded, {last['failed']} failed, "
        f"{last['halted']} halted, {last['paused']} paused at an action.\n"
        "Review the pending items and reject with feedback. Then let the agents try again, on the page or with: "
        f"inferact run next {quote(name)}"
    )


def _has_screen() -> bool:
    # Without a screen, Python would start a text browser in this terminal.
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_when_up(page: str, host: str, port: int) -> None:
    reached = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    deadline = time.monotonic() + _UP_WITHIN_S
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_INET6 if ":" in reached else socket.AF_INET, socket.SOCK_STREAM) as probe:
            if probe.connect_ex((reached, port)) == 0:
                webbrowser.open(page)
                return
        time.sleep(0.2)
