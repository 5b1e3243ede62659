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
from importlib import import_module
from typing import Any

import typer

from console.auth.audit_log import By, Door, acting
from console.cli import output
from console.database import may_create
from console.errors import ConsoleError
from console.review.plain_text import escape_hidden
from storage.errors import StorageError

gc.freeze()
gc.enable()

_START, _WORK, _ADMINISTER = "Start", "Work", "Administer"
COMMANDS = {
    "demo": ("demo:demo", _START, "inferact demo"),
    "serve": ("serve:serve_console", _START, "inferact serve --port 8600"),
    "trajectory": ("trajectory:app", _WORK, ""),
    "run": ("run:app", _WORK, ""),
    "detect": ("detect:detect", _WORK, "inferact detect hotpot --method rules,random"),
    "follow": ("follow:follow", _WORK, "inferact follow claude-code --run today"),
    "review": ("review:app", _WORK, ""),
    "evaluate": ("detect:evaluate", _WORK, "inferact evaluate hotpot"),
    "certify": ("certify:certify", _WORK, "inferact certify hotpot --level 95%"),
    "recalibrate": ("detect:recalibrate", _WORK, "inferact recalibrate shop --detector rules"),
    "policy": ("policy:app", _WORK, ""),
    "plan": ("plan:app", _WORK, ""),
    "study": ("study:app", _WORK, ""),
    "detector": ("detect:app", _WORK, ""),
    "oversight": ("oversight:app", _WORK, ""),
    "paper": ("paper:app", _WORK, ""),
    "tune": ("detect:tune", _WORK, "inferact tune hotpot --method rules"),
    "case-file": ("case_file:app", _WORK, ""),
    "export": ("export:export_file", _WORK, "inferact export decisions --run hotpot --out decisions.csv"),
    "chart": ("export:draw_chart", _WORK, "inferact chart roc-curve roc.csv --out roc.html"),
    "agent": ("agent:app", _ADMINISTER, ""),
    "keys": ("keys:app", _ADMINISTER, ""),
    "worker": ("serve:worker", _ADMINISTER, ""),
    "notice": ("notice:app", _ADMINISTER, ""),
    "person": ("person:app", _ADMINISTER, ""),
    "prompt": ("prompt:app", _ADMINISTER, ""),
    "db": ("db:app", _ADMINISTER, ""),
    "doctor": ("db:doctor", _ADMINISTER, "inferact doctor"),
}
"""(module and attribute, panel of the help, example) by command; a group of commands has its own examples."""


def __getattr__(name: str) -> Any:
    """Return `app`, which has all commands; it is made when it is first needed."""
    if name != "app":
        raise AttributeError(name)
    return _app("")


@cache
def _app(command: str) -> typer.Typer:
    gc.disable()
    try:
        return build_app(command)
    finally:
        gc.freeze()
        gc.enable()


def build_app(command: str = "") -> typer.Typer:
    """Return the app with this command, which imports only its module; return all commands for any other name."""
    made = _new_app()
    for name in [command] if command in COMMANDS else COMMANDS:
        place, panel, example = COMMANDS[name]
        module, _, attribute = place.partition(":")
        found = getattr(import_module(f"console.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            made.add_typer(found, name=name, rich_help_panel=panel)
        else:
            made.command(name, epilog=f"Example: {example}", rich_help_panel=panel)(found)
    return made


def _new_app() -> typer.Typer:
    """Return the app without its commands."""
    made = typer.Typer(
        name="inferact",
        help="Stop an agent's critical actions until a person has reviewed them.",
        epilog="Example: inferact demo",
        invoke_without_command=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    made.callback()(_show_contents)
    return made


def _show_contents(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_STARTERS = (
    "demo, serve, trajectory import, follow, run start, plan train, policy set, agent add, person invite, "
    "oversight fp-first, oversight protocols, paper inferact, paper devils-advocate, paper autoplan, study create, "
    "study preset run"
)
_STARTS_WORK = tuple(_STARTERS.split(", "))
"""The commands that create a missing database; the other commands refuse to, so that a mistyped path is noticed."""

_Usage: type[Exception] = typer.BadParameter.__mro__[1]


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit; print an error as one sentence on stderr, with exit code 2 for bad input, else 1."""
    sys.exit(run_command(arguments))


def run_command(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        with acting(By(_user(), Door.CLI, platform.node())), _creating(False):
            given = sys.argv[1:] if arguments is None else arguments
            commands = _commands(given[0] if given and given[0] in COMMANDS else "")
            code = commands.main(args=given, prog_name="inferact", standalone_mode=False)
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
def _commands(command: str) -> Any:
    commands: Any = typer.main.get_command(_app(command))
    for path in (path for path in _STARTS_WORK if command in ("", path.split()[0])):
        made = reduce(lambda group, name: group.commands[name], path.split(), commands)
        made.callback = partial(_with_new_database, made.callback)
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
