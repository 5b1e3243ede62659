"""The output of commands: tables or one JSON document on stdout; progress and errors on stderr."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

import orjson
import typer
from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from console.errors import BadInput
from console.review.plain_text import escape_hidden
from console.runs.status import STATED
from console.settings import Settings

Command = TypeVar("Command", bound=Callable[..., None])
Rows = Sequence[Mapping[str, Any]]

EXPECTED = (OSError, sqlite3.Error, DBAPIError, ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValidationError)
"""Errors of the environment; any other error is a bug and shows its traceback."""


def noun(about: str, example: str) -> typer.Typer:
    """Return the group of a noun's commands; `example` follows `inferact` in its help."""
    return typer.Typer(help=about, epilog=f"Example: inferact {example}", invoke_without_command=True)


def run_by_default(app: typer.Typer) -> Callable[[Command], Command]:
    """Return a decorator for the command that a group runs if no subcommand is given."""

    def registered(command: Command) -> Command:
        @app.callback()
        def _default(context: typer.Context) -> None:
            if context.invoked_subcommand is None:
                command()

        return command

    return registered


def split_names(text: str, missing: str = "") -> list[str]:
    """Split a comma-separated option into names; raise BadInput if `missing` is set and no name is left."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if missing and not names:
        raise BadInput(f"Name at least one {missing}.")
    return names


def describe_failure(failure: BaseException) -> tuple[str, int] | None:
    """Return a sentence about the failure and the exit code, or None if the failure is a bug."""
    match failure:
        case ValidationError(title=Settings.__name__):
            name = "_".join(["INFERACT", *(str(part).upper() for part in failure.errors()[0]["loc"])])
            why = str(failure.errors()[0]["msg"]).removeprefix("Value error, ").rstrip(".")
            return f"The setting {name} is invalid: {why}. Correct the setting and try again.", 2
        case ArgumentError() | NoSuchModuleError():
            return "INFERACT_DATABASE_URL is not a supported database. Use sqlite:///FILE or postgresql://...", 2
        case ModuleNotFoundError(name="psycopg" | "psycopg2"):
            return "The PostgreSQL driver is missing. Install the driver: pip install 'inferact-console[postgres]'", 1
        case DBAPIError() | sqlite3.Error():
            cause = getattr(failure, "orig", failure)
            return f"The database refused the change ({cause}). Nothing was changed. Run `inferact db check`.", 1
        case OSError():
            where = f"{failure.filename}: " if failure.filename else ""
            return f"{where}{failure.strerror or failure}. Check the path, its permissions and the free disk space.", 1
    return None


_PIPED_WIDTH = 180
"""The width of tables in characters, if the output is not a terminal."""

RunName = Annotated[str, typer.Argument(help="The run's name.")]
RunOption = Annotated[str, typer.Option("--run", help="The run's name.")]
AnyRun = Annotated[str | None, typer.Option("--run", help="The run's name (default: all runs).")]
Budget = Annotated[
    str | None, typer.Option(help="Inspections per trial: a number, or P% of the non-halted trajectories.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


def emit_json(document: object) -> None:
    """Print the document as one line of JSON."""
    sys.stdout.write(orjson.dumps(document).decode("utf-8", "replace") + "\n")


def emit(document: Mapping[str, Any], as_json: bool, sentence: str) -> None:
    """Print the document if `as_json` is true, else the sentence."""
    if as_json:
        emit_json(document)
    else:
        say(sentence)


def emit_table(
    rows: Rows, columns: Sequence[str], as_json: bool, *, empty: str = "", shown: Rows | None = None
) -> None:
    """Print all rows as JSON if `as_json` is true, else these columns of `shown` (default: the rows) as a table."""
    if as_json:
        emit_json(rows)
    else:
        show_table(rows if shown is None else shown, columns, empty=empty)


def say(text: str) -> None:
    """Print a line for a person without interpreting markup."""
    Console(soft_wrap=True).print(Text(escape_hidden(text)))


def show_table(rows: Rows, columns: Sequence[str], *, empty: str = "") -> None:
    """Print the rows as a table and state the size of their sample; without rows, print the `empty` sentence."""
    if not rows:
        say(empty)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row.get(column))) for column in columns))
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PIPED_WIDTH)
    console.print(table)
    for sample in [row["sample"] for row in rows if "sample" in row][:1]:
        say(STATED.format(**sample))


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a progress bar on stderr, updated with (done, total), and remove it at the end; show none in a pipe."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    text = escape_hidden(" ".join(str(value).split()))
    return text if len(text) <= 90 else text[:89] + "…"


def plain_rows(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a pandas table with None for missing values and Python numbers."""
    rows: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(key): one.item() if hasattr(one, "item") else one for key, one in row.items()} for row in rows]
