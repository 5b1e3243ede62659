"""The `inferact` command line, put together from one file a noun: noun, then verb; a bare noun lists."""

from __future__ import annotations

import gc

# A collector that runs while modules load finds nothing, and takes a quarter of the command's start.
gc.disable()

import getpass
import os
import platform
import sys
from functools import cache
from typing import Any

import typer

from console.auth.origin import By, Door, acting
from console.cli import (
    agent,
    db,
    demo,
    detect,
    export,
    output,
    oversight,
    person,
    plan,
    policy,
    prompt,
    review,
    run,
    serve,
    study,
    trajectory,
)
from console.errors import ConsoleError
from console.review.plain_text import visible
from storage.errors import StorageError

gc.freeze()
gc.enable()

app = typer.Typer(
    name="inferact",
    help="Stops an agent's critical action until a person has looked at it.",
    epilog="Example: inferact demo",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _contents(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_START, _WORK, _KEEP = "Start", "Work", "Keep"

app.command("demo", epilog="Example: inferact demo", rich_help_panel=_START)(demo.demo)
app.command("serve", epilog="Example: inferact serve --port 8600", rich_help_panel=_START)(serve.serve_console)
app.add_typer(trajectory.app, name="trajectory", rich_help_panel=_WORK)
app.add_typer(run.app, name="run", rich_help_panel=_WORK)
app.command("detect", epilog="Example: inferact detect hotpot --method rules,random", rich_help_panel=_WORK)(
    detect.detect
)
app.add_typer(review.app, name="review", rich_help_panel=_WORK)
app.command("evaluate", epilog="Example: inferact evaluate hotpot", rich_help_panel=_WORK)(detect.evaluate)
app.command("recalibrate", epilog="Example: inferact recalibrate shop --detector rules", rich_help_panel=_WORK)(
    detect.recalibrate
)
app.add_typer(policy.app, name="policy", rich_help_panel=_WORK)
app.add_typer(plan.app, name="plan", rich_help_panel=_WORK)
app.add_typer(study.app, name="study", rich_help_panel=_WORK)
app.add_typer(detect.app, name="detector", rich_help_panel=_WORK)
app.add_typer(oversight.app, name="oversight", rich_help_panel=_WORK)
app.command("tune", epilog="Example: inferact tune hotpot --method rules", rich_help_panel=_WORK)(detect.tune)
app.command(
    "export", epilog="Example: inferact export decisions --run hotpot --out decisions.csv", rich_help_panel=_WORK
)(export.export_file)
app.add_typer(agent.app, name="agent", rich_help_panel=_KEEP)
app.command("worker", epilog="Example: inferact worker --once", rich_help_panel=_KEEP)(serve.run_worker)
app.add_typer(person.app, name="person", rich_help_panel=_KEEP)
app.add_typer(prompt.app, name="prompt", rich_help_panel=_KEEP)
app.add_typer(db.app, name="db", rich_help_panel=_KEEP)
app.command("doctor", epilog="Example: inferact doctor", rich_help_panel=_KEEP)(db.doctor)

_Usage: type[Exception] = typer.BadParameter.__mro__[1]


def main(arguments: list[str] | None = None) -> None:
    """Runs one command; every refusal is one sentence on stderr, 2 for bad input and 1 for a failure."""
    sys.exit(run_command(arguments))


def run_command(arguments: list[str] | None = None) -> int:
    """The exit code of one command."""
    try:
        with acting(By(_user(), Door.CLI, platform.node())):
            code = _commands().main(args=arguments, prog_name="inferact", standalone_mode=False)
    except ConsoleError as refusal:
        return _refuse(str(refusal), refusal.exit_code)
    except StorageError as refusal:
        return _refuse(str(refusal) or str(type(refusal).__doc__), 1)
    except _Usage as misuse:
        return _refuse(_usage(misuse), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _refuse("Stopped.", 130)
    except BrokenPipeError:
        return 0
    except output.EXPECTED as failure:
        if (refused := output.refusal(failure)) is None:
            raise
        return _refuse(*refused)
    return code if isinstance(code, int) else 0


# Made once a process: every signature of every verb is read for it.
@cache
def _commands() -> Any:
    return typer.main.get_command(app)


def _user() -> str:
    """The operating system's name for whoever typed the command; a process in a container may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _usage(misuse: Any) -> str:
    sentence = " ".join(misuse.format_message().split()).rstrip(".")
    return f"{sentence}. See: {misuse.ctx.command_path} --help" if misuse.ctx else f"{sentence}."


def _refuse(sentence: str, code: int) -> int:
    sys.stderr.write(f"{visible(sentence)}\n")
    return code
