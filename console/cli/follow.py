"""`inferact follow`: watch the logs of running agents and queue their critical actions, which have already run."""

from __future__ import annotations

from typing import Annotated

import typer

from console.cli.output import say
from console.detection.follow import AGENTS, Follower, count_pending
from console.language import counted
from console.runs import ingest
from console.runs.importers.records import SHELL_TOOLS
from console.runs.log_reading import FileReport

_AFTER = (
    "Reviews come after the actions: the agents do not wait for a decision. To stop an action before it runs, use "
    "a gate."
)


def follow(
    sources: Annotated[
        list[str], typer.Argument(help=f"Log files, folders, or the sessions of an agent: {', '.join(AGENTS)}.")
    ],
    run: Annotated[str, typer.Option("--run", help="The run's name.")] = "follow",
    method: Annotated[str, typer.Option(help="Detector that ranks the actions, without a model.")] = "rules",
    critical: Annotated[
        list[str] | None,
        typer.Option(
            "--critical", help=f"Pattern of critical actions (default: commands, {', '.join(SHELL_TOOLS[:3])} ...)."
        ),
    ] = None,
    only_flagged: Annotated[
        bool, typer.Option("--only-flagged", help="Queue only what the detector flags, not every critical action.")
    ] = False,
    after: Annotated[
        str,
        typer.Option(
            "--after", help="Queue what the detector flags, and a random share of the other actions, such as 5%."
        ),
    ] = "",
    days: Annotated[float, typer.Option(min=0, help="Read files of folders that changed in the last N days.")] = 1.0,
    every: Annotated[float, typer.Option(min=0.05, help="Seconds between two checks of the files.")] = 0.5,
    once: Annotated[bool, typer.Option("--once", help="Read the present content of the files, then stop.")] = False,
) -> None:
    """Watch growing logs, and put each new critical action into the review queue.

    After an interruption, the same command continues: nothing is queued twice.
    """
    watcher = Follower(run, sources, method, critical or SHELL_TOOLS, days, only_flagged, after)
    watcher.start()
    say(f"Following {', '.join(sources)} into the run {run}. {_AFTER}")
    rounds = iter((True,) if once else iter(lambda: True, False))
    try:
        watcher.watch(0 if once else every, _tell, lambda: next(rounds, False))
    except KeyboardInterrupt:
        say("Stopped. The same command continues.")
    say(f"{counted(count_pending(run), 'pending item')} in {run}. Next: inferact serve")


def _tell(report: FileReport) -> None:
    for _, sentence in ingest.list_lines(report)[:1]:
        say(sentence)
