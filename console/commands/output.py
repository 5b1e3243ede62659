"""How commands speak: tables or one JSON document on stdout, progress and errors on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from console.review.plain_text import visible

_PIPED_WIDTH = 180
"""Columns where there is no terminal whose width counts."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]


def emit_json(document: object) -> None:
    """Prints the document as JSON, one line."""
    sys.stdout.write(orjson.dumps(document).decode("utf-8", "replace") + "\n")


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
def progress(label: str) -> Iterator[tuple[Progress, TaskID]]:
    """A progress bar on stderr that leaves nothing behind; silent where stderr is no terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield bar, bar.add_task(label, total=None)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    text = visible(" ".join(str(value).split()))
    return text if len(text) <= 90 else text[:89] + "…"
