"""The `inferact` command line, one file per noun: noun, then verb; a noun without a verb lists."""

from __future__ import annotations

import gc
import os

# Garbage collection while modules load finds nothing and takes a quarter of the start-up time.
gc.disable()
# The largest matrices have a few hundred rows. For these, several threads wait for each other most of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import getpass
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial, reduce
from typing import Any

import typer

from console.auth.audit_log import By, Door, acting
from console.cli import (
    agent,
    certify,
    db,
    demo,
    detect,
    export,
    follow,
    notice,
    output,
    oversight,
    paper,
    person,
    plan,
    policy,
    prompt,
    review,
    run,
    serve,
    study,
    trajectory,
    vigilance,
)
from console.database import may_create
from console.errors import ConsoleError
from console.review.plain_text import escape_hidden
from storage.errors import StorageError

gc.freeze()
gc.enable()

app = typer.Typer(
    name="inferact",
    help="Stop an agent's critical actions until a person has reviewed them.",
    epilog="Example: inferact demo",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _contents(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_START, _WORK, _ADMINISTER = "Start", "Work", "Administer"

app.command("demo", epilog="Example: inferact demo", rich_help_panel=_START)(demo.demo)
app.command("serve", epilog="Example: inferact serve --port 8600", rich_help_panel=_START)(serve.serve_console)
app.add_typer(trajectory.app, name="trajectory", rich_help_panel=_WORK)
app.add_typer(run.app, name="run", rich_help_panel=_WORK)
app.command("detect", epilog="Example: inferact detect hotpot --method rules,random", rich_help_panel=_WORK)(
    detect.detect
)
app.command("follow", epilog="Example: inferact follow claude-code --run today", rich_help_panel=_WORK)(follow.follow)
app.add_typer(review.app, name="review", rich_help_panel=_WORK)
review.app.command("seed", epilog="Example: inferact review seed shop --from gold --count 10")(vigilance.seed)
review.app.command("vigilance", epilog="Example: inferact review vigilance shop")(vigilance.show_vigilance)
app.command("evaluate", epilog="Example: inferact evaluate hotpot", rich_help_panel=_WORK)(detect.evaluate)
app.command("certify", epilog="Example: inferact certify hotpot --level 95%", rich_help_panel=_WORK)(certify.certify)
app.command("recalibrate", epilog="Example: inferact recalibrate shop --detector rules", rich_help_panel=_WORK)(
    detect.recalibrate
)
app.add_typer(policy.app, name="policy", rich_help_panel=_WORK)
app.add_typer(plan.app, name="plan", rich_help_panel=_WORK)
app.add_typer(study.app, name="study", rich_help_panel=_WORK)
app.add_typer(detect.app, name="detector", rich_help_panel=_WORK)
app.add_typer(oversight.app, name="oversight", rich_help_panel=_WORK)
app.add_typer(paper.app, name="paper", rich_help_panel=_WORK)
app.command("tune", epilog="Example: inferact tune hotpot --method rules", rich_help_panel=_WORK)(detect.tune)
app.command(
    "export", epilog="Example: inferact export decisions --run hotpot --out decisions.csv", rich_help_panel=_WORK
)(export.export_file)
app.command("chart", epilog="Example: inferact chart roc-curve roc.csv --out roc.html", rich_help_panel=_WORK)(
    export.draw_chart
)
app.add_typer(agent.app, name="agent", rich_help_panel=_ADMINISTER)
app.command("worker", epilog="Example: inferact worker --once", rich_help_panel=_ADMINISTER)(serve.run_worker)
app.add_typer(notice.app, name="notice", rich_help_panel=_ADMINISTER)
app.add_typer(person.app, name="person", rich_help_panel=_ADMINISTER)
app.add_typer(prompt.app, name="prompt", rich_help_panel=_ADMINISTER)
app.add_typer(db.app, name="db", rich_help_panel=_ADMINISTER)
app.command("doctor", epilog="Example: inferact doctor", rich_help_panel=_ADMINISTER)(db.doctor)

_STARTS_WORK = (
    "demo",
    "serve",
    "trajectory import",
    "follow",
    "run start",
    "plan train",
    "policy set",
    "agent add",
    "person invite",
    "oversight fp-first",
    "paper inferact",
    "paper devils-advocate",
    "paper autoplan",
    "study create",
    "study preset run",
)
"""The commands that create a missing database; every other one refuses, so that a mistyped path is noticed."""

_Usage: type[Exception] = typer.BadParameter.__mro__[1]


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit; print an error as one sentence on stderr, with exit code 2 for bad input, else 1."""
    sys.exit(run_command(arguments))


def run_command(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        with acting(By(_user(), Door.CLI, platform.node())), _creating(False):
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
        if (refused := output.describe_failure(failure)) is None:
            raise
        return _refuse(*refused)
    return code if isinstance(code, int) else 0


# Built once per process because it reads the signature of every command.
@cache
def _commands() -> Any:
    commands: Any = typer.main.get_command(app)
    for path in _STARTS_WORK:
        command = reduce(lambda group, name: group.commands[name], path.split(), commands)
        command.callback = partial(_with_new_database, command.callback)
    return commands


def _with_new_database(command: Callable[..., Any], **options: Any) -> Any:
    with _creating(True):
        return command(**options)


@contextmanager
def _creating(allowed: bool) -> Iterator[None]:
    token = may_create.set(allowed)
    try:
        yield
    finally:
        may_create.reset(token)


def _user() -> str:
    """Return the operating system's user name, or the user id if there is none, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _usage(misuse: Any) -> str:
    sentence = " ".join(misuse.format_message().split()).rstrip(".")
    return f"{sentence}. See: {misuse.ctx.command_path} --help" if misuse.ctx else f"{sentence}."


def _refuse(sentence: str, code: int) -> int:
    sys.stderr.write(f"{escape_hidden(sentence)}\n")
    return code
