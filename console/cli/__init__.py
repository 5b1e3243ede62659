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
from console.cli import output
from console.cli.commands import COMMANDS, build_app
from console.database import may_create
from console.errors import ConsoleError
from console.review.plain_text import escape_hidden
from storage.errors import StorageError

gc.freeze()
gc.enable()


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
    "oversight protocols",
    "paper inferact",
    "paper devils-advocate",
    "paper autoplan",
    "study create",
    "study preset run",
)
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
