"""`inferact run`: start, list, status, next, settings."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from console import importing, runs, trials
from console.commands.output import Json, emit_json, say, show_table
from console.database import now_ms, reading, writing
from console.errors import BadInput

app = typer.Typer(help="Start runs, see how each trial stands, run the next trial.", invoke_without_command=True)

Name = Annotated[str, typer.Argument(help="The run's name.")]


@app.callback()
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_runs(as_json=False)


@app.command("list", epilog="Example: inferact run list")
def list_runs(as_json: Json = False) -> None:
    """List all runs, the newest first."""
    with reading() as session:
        rows = [runs.summary(session, run) for run in runs.every(session)]
    if as_json:
        emit_json(rows)
        return
    columns = ("run", "kind", "environment", "trials", "trajectories", "detector", "threshold", "waiting")
    show_table(rows, columns, empty="No runs yet. Import a log: inferact trajectory import FILE --run NAME")


@app.command("status", epilog="Example: inferact run status hotpot --json")
def status(run: Name, as_json: Json = False) -> None:
    """Show how each trial of a run stands: outcomes, flagged, inspections used and left."""
    with reading() as session:
        document = runs.status(session, runs.get(session, run))
    if as_json:
        emit_json(document)
        return
    rows = [{**row, **{f"budget_{key}": value for key, value in row["budget"].items()}} for row in document["trials"]]
    columns = ("trial", "tasks", "succeeded", "failed", "halted", "paused", "rejected", "flagged", "budget_cap")
    show_table(rows, (*columns, "budget_used", "budget_left"), empty=f"Run {run} has no trajectories yet.")


@app.command("start", epilog="Example: inferact run start --actor replay --from hotpot --name hotpot-live --budget 50%")
def start(
    name: Annotated[str, typer.Option("--name", help="The new run's name.")],
    source: Annotated[str, typer.Option("--from", help="The archive run whose log is replayed.")],
    actor: Annotated[str, typer.Option(help="Who acts: replay reveals the recorded trials.")] = "replay",
    detector: Annotated[str, typer.Option(help="The routing detector: it flags and ranks.")] = "rules",
    budget: Annotated[
        str | None, typer.Option(help="Inspections per trial: a number, or P% of the non-halted.")
    ] = None,
    feedback: Annotated[str, typer.Option(help="nl (words) or binary.")] = "nl",
    threshold: Annotated[float | None, typer.Option(help="Flag above this score.")] = None,
    seed: Annotated[int, typer.Option(help="For detectors that draw.")] = 0,
    blind: Annotated[bool, typer.Option(help="Reviewers see no gold, outcomes or others' answers.")] = True,
    reviews_per_item: Annotated[int, typer.Option(min=1, help="Reviews that every item needs.")] = 1,
    halted_free: Annotated[bool, typer.Option(help="Halted trials cost nothing, as in the paper.")] = False,
    undo_seconds: Annotated[float, typer.Option(min=0, help="How long a decision can be taken back for sure.")] = 5.0,
    as_json: Json = False,
) -> None:
    """Start a run: recorded trials are revealed as feedback unlocks them."""
    if actor != "replay":
        raise BadInput(f"There is no Actor named {actor!r} yet; use replay.")
    if feedback not in ("nl", "binary"):
        raise BadInput(f"Feedback is nl or binary, not {feedback!r}.")
    cap, percent = runs.parse_budget(budget)
    run = trials.start_replay(
        name,
        source,
        detector,
        budget_cap=cap,
        budget_percent=percent,
        feedback_mode=feedback,
        threshold=threshold,
        seed=seed,
        blind=blind,
        reviews_per_item=reviews_per_item,
        halted_free=halted_free,
        undo_ms=round(undo_seconds * 1_000),
    )
    with reading() as session:
        document = runs.status(session, runs.get(session, run.name))
    _tell(document, as_json, f"Started {name}. Review it: inferact serve")


@app.command("next", epilog="Example: inferact run next hotpot-live")
def next_trial(run: Name, as_json: Json = False) -> None:
    """Deliver the decisions that are due and run the next trial of every task that got feedback."""
    done = trials.as_dict(trials.advance(run))
    said = (
        f"{done['delivered']} decisions delivered, {done['revealed']} tasks got their next trial, "
        f"{done['queued']} new items wait, {done['nothing_recorded']} tasks have no recorded next trial."
    )
    _tell({"run": run, **done}, as_json, said)


@app.command("critical", epilog='Example: inferact run critical support --add "refund_*" --add "*.amount=*"')
def critical(
    run: Name,
    add: Annotated[list[str] | None, typer.Option(help="A pattern to add.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A pattern to take away.")] = None,
    as_json: Json = False,
) -> None:
    """Show or change the patterns of a run's critical actions, with candidates from the tools that the run used."""
    with writing() as session:
        found = runs.get(session, run)
        if add or remove:
            kept = [pattern for pattern in runs.patterns(found) if pattern not in (remove or [])]
            runs.set_patterns(session, found, [*kept, *(add or [])], now_ms())
        patterns = runs.patterns(found)
        candidates = [
            {"pattern": found.pattern, "count": found.count, "why": found.why}
            for found in runs.candidates(session, found)
        ]
    if as_json:
        emit_json({"run": run, "critical": patterns, "candidates": candidates})
        return
    say("Critical: " + (", ".join(patterns) or "nothing yet"))
    show_table(candidates, ("pattern", "count", "why"), empty="No further candidates among the tools used.")


@app.command("budget", epilog="Example: inferact run budget hotpot 50%")
def budget(
    run: Name,
    cap: Annotated[str, typer.Argument(help="Inspections per trial: a number, or P% of the non-halted of trial 0.")],
    as_json: Json = False,
) -> None:
    """Set the inspection budget of every trial of a run; it cannot go below what is spent."""
    wanted = importing.set_budget(run, cap)
    _tell({"run": run, "cap": wanted}, as_json, f"Every trial of {run} has {wanted} inspections.")


def _tell(document: dict[str, Any], as_json: bool, said: str) -> None:
    if as_json:
        emit_json(document)
    else:
        say(said)
