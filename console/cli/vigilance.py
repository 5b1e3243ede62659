"""`inferact review seed`, `vigilance`, `capacity` and `evasion`: known items, reviewers' figures, and feedback."""

from __future__ import annotations

from typing import Annotated

import typer

from console import runs
from console.cli.output import Json, RunName, emit, emit_json, say, show_table
from console.database import now_ms, reading, writing
from console.language import counted
from console.runs import run_options


def seed(
    run: RunName,
    source: Annotated[str, typer.Option("--from", help="The run with gold labels, or with agreeing reviewers.")],
    count: Annotated[int, typer.Option(min=1, help="Number of items.")] = 10,
    as_json: Json = False,
) -> None:
    """Add known items to the queue of a run; their actions never run."""
    from console.trials import vigilance  # scipy, which few commands need

    added = vigilance.add_known_items(run, source, count)
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


def show_capacity(
    run: RunName,
    stop: Annotated[
        bool | None, typer.Option("--stop/--no-stop", help="Give no item to a reviewer who would lower safety.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show how reviewers' sensitivity and pace change with time, and when an inspection is expected to lower safety."""
    from console.review import capacity  # numpy and scipy, which few commands need

    if stop is not None:
        with writing() as session:
            capacity.set_stop(session, runs.get(session, run), stop, now_ms())
    with reading() as session:
        stops = run_options(runs.get(session, run)).stops_at_capacity
        found = capacity.measure_capacity(session, runs.get(session, run), now_ms())
    if as_json:
        emit_json({"run": run, "stops_at_capacity": stops, "reviewers": [one.to_dict() for one in found]})
        return
    rows = [capacity.in_words(row) for one in found for row in one.by_hour]
    show_table(rows, capacity.COLUMNS, empty=f"No one has decided an item in {run}.")
    for one in found:
        say(one.sentence)
    say(f"Stop at the capacity: {'on' if stops else 'off'}.")


def show_evasion(run: RunName, as_json: Json = False) -> None:
    """Compare the next trials after feedback with and without the detector's reasons."""
    from console.analysis.statistics.feedback_evasion import describe_evasion
    from console.trials import evasion  # numpy and scipy, which few commands need

    with reading() as session:
        found = evasion.measure_evasion(session, runs.get(session, run))
    rows = evasion.tabulate_evasion(found)
    told = describe_evasion(found)
    if as_json:
        emit_json({"run": run, "figures": rows, "sentence": told})
        return
    show_table([evasion.in_words(row) for row in rows], evasion.COLUMNS)
    say(told)
