"""`inferact review seed` and `review vigilance`: known items in a queue, and each reviewer's figures."""

from __future__ import annotations

from typing import Annotated

import typer

from console import runs
from console.cli.output import Json, RunName, emit, emit_json, say, show_table
from console.database import reading
from console.language import counted


def seed(
    run: RunName,
    source: Annotated[str, typer.Option("--from", help="The run with gold labels, or with agreeing reviewers.")],
    count: Annotated[int, typer.Option(min=1, help="Number of items.")] = 10,
    as_json: Json = False,
) -> None:
    """Add known items to the queue of a run; their actions never run."""
    from console.trials import vigilance  # scipy, which few commands need

    added = vigilance.seed(run, source, count)
    told = f"Added {counted(added, 'known item')} to {run}. The budget of {run} grew by the same number of inspections."
    emit({"run": run, "from": source, "added": added}, as_json, told)


def show_vigilance(run: RunName, as_json: Json = False) -> None:
    """Show each reviewer's sensitivity (d') and criterion on known items, overall and by hour of work."""
    from console.trials import vigilance  # scipy, which few commands need

    with reading() as session:
        rows = [row.to_dict() for row in vigilance.measure(session, runs.get(session, run))]
    if as_json:
        emit_json({"run": run, "reviewers": rows})
        return
    show_table(
        [vigilance.in_words(row) for row in rows],
        vigilance.COLUMNS,
        empty=f"No one has decided a known item in {run}.",
    )
    if rows:
        say(
            "If d' is above 0, the reviewer distinguishes misaligned from aligned actions. If the criterion is "
            "above 0, the reviewer tends to approve."
        )
