"""The output of commands: tables or one JSON document on stdout, progress and error sentences on stderr."""

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
from console.review.plain_text import visible
from console.settings import Settings

Command = TypeVar("Command", bound=Callable[..., None])

EXPECTED = (OSError, sqlite3.Error, DBAPIError, ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValidationError)
"""Errors of the surroundings; any other is a fault of ours and shows its traceback."""


def by_default(app: typer.Typer) -> Callable[[Command], Command]:
    """A decorator of the command that a group runs where none of its commands is named."""

    def registered(command: Command) -> Command:
        @app.callback()
        def _default(context: typer.Context) -> None:
            if context.invoked_subcommand is None:
                command()

        return command

    return registered


def names_of(text: str, missing: str = "") -> list[str]:
    """The names between the commas of an option; where there are none, BadInput says what is `missing`, if anything."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if missing and not names:
        raise BadInput(f"Name at least one {missing}.")
    return names


def refusal(failure: BaseException) -> tuple[str, int] | None:
    """One sentence about the failure and the exit code, or None where the surroundings are not to blame."""
    match failure:
        case ValidationError(title=Settings.__name__):
            name = "_".join(["INFERACT", *(str(part).upper() for part in failure.errors()[0]["loc"])])
            why = str(failure.errors()[0]["msg"]).removeprefix("Value error, ").rstrip(".")
            return f"The setting {name} cannot be used: {why}.", 2
        case ArgumentError() | NoSuchModuleError():
            return "INFERACT_DATABASE_URL names no known kind of database; use sqlite:///FILE or postgresql://...", 2
        case ModuleNotFoundError(name="psycopg" | "psycopg2"):
            return "PostgreSQL needs its driver; install it: pip install 'inferact-console[postgres]'", 1
        case DBAPIError() | sqlite3.Error():
            cause = getattr(failure, "orig", failure)
            return f"The database did not take it ({cause}); that change is undone, what was stored before is kept", 1
        case OSError():
            where = f"{failure.filename}: " if failure.filename else ""
            return f"{where}{failure.strerror or failure}; choose another place, or mend its rights or room.", 1
    return None


_PIPED_WIDTH = 180
"""Columns where there is no terminal whose width counts."""

RunName = Annotated[str, typer.Argument(help="The run's name.")]
Budget = Annotated[str | None, typer.Option(help="Inspections per trial: a number, or P% of the non-halted.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]


def emit_json(document: object) -> None:
    """Prints the document as JSON, one line."""
    sys.stdout.write(orjson.dumps(document).decode("utf-8", "replace") + "\n")


def emit(document: Mapping[str, Any], as_json: bool, sentence: str) -> None:
    """Prints the document as JSON, or the sentence for a person."""
    if as_json:
        emit_json(document)
    else:
        say(sentence)


def emit_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], as_json: bool, *, empty: str) -> None:
    """Prints the rows as JSON, or those columns of them as a table."""
    if as_json:
        emit_json(rows)
    else:
        show_table(rows, columns, empty=empty)


def say(text: str) -> None:
    """Prints a line for a person, untouched by any markup."""
    Console(soft_wrap=True).print(Text(visible(text)))


def show_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, empty: str) -> None:
    """Prints the rows as a table, or the sentence that says what to do where there are none."""
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


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on stderr, told (how many, of how many); it leaves nothing behind, and is silent in a pipe."""
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
    text = visible(" ".join(str(value).split()))
    return text if len(text) <= 90 else text[:89] + "…"


def plain_rows(frame: Any) -> list[dict[str, Any]]:
    """The rows of a pandas table, None for what is missing; whole numbers are whole again."""
    rows: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
