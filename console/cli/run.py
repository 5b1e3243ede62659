"""`inferact run`: start a run, list runs, show a run's status, play its next trial, change its settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from shlex import quote
from typing import Annotated, Any

import typer

from console import runs
from console.actors import ACTORS
from console.cli.output import Budget, Json, RunName, by_default, emit, emit_json, names_of, progress, say, show_table
from console.database import database_url, now_ms, reading, writing
from console.environments import playable
from console.errors import BadInput, Refused
from console.language import counted
from console.review import inbox
from console.runs import critical_suggestions, housekeeping, ingest
from console.trials import engine, release, replay, start
from console.trials.round import Advance
from storage.engine import overwrite_freed
from storage.tables import RunKind


def task_counts(env: str | None, tasks: str) -> dict[str, int]:
    """How many tasks of each environment, of `--env` and `--tasks`; raises BadInput."""
    if env is None:
        raise BadInput(f"Say where the Actor acts: --env {','.join(playable())}, or --actor replay --from RUN.")
    names = names_of(env)
    numbers = tasks.split(",")
    if len(numbers) not in (1, len(names)) or not all(number.strip().isdecimal() for number in numbers):
        raise BadInput(f"--tasks is one whole number, or one for each of {', '.join(names)}; not {tasks!r}.")
    return dict(zip(names, map(int, numbers * (len(names) if len(numbers) == 1 else 1)), strict=True))


def play(run: str, work: Callable[..., Advance], **options: int | None) -> Advance:
    """One round of a live run behind a progress bar; `work` is the engine's function."""
    with progress(f"{run}: trials") as tell:
        return work(run, progress=tell, **options)


def sentences(run: str, done: Advance) -> str:
    """The sentences about a round: what it did, and what to do where something did not go on."""
    parts = [done.in_words(now_ms()), *done.problems]
    if done.interrupted:
        parts.append(f"{done.interrupted} trials were interrupted; go on with: inferact run resume {quote(run)}")
    return " ".join(parts)


app = typer.Typer(
    help="Start runs, see how each trial stands, run the next trial.",
    epilog="Example: inferact run list",
    invoke_without_command=True,
)

Concurrency = Annotated[int | None, typer.Option(min=1, help="Trials at once.")]


@app.command("list", epilog="Example: inferact run list")
@by_default(app)
def list_runs(
    archived: Annotated[bool, typer.Option(help="Those that were archived, too.")] = False,
    tag: Annotated[str | None, typer.Option(help="Only runs with this tag.")] = None,
    as_json: Json = False,
) -> None:
    """List all runs, the newest first."""
    with reading() as session:
        rows = [runs.summary(session, run) for run in runs.every(session, archived=archived)]
    rows = [row for row in rows if tag is None or tag in row["tags"]]
    if as_json:
        emit_json(rows)
        return
    rows = [{**row, "tags": " ".join(row["tags"]) or None} for row in rows]
    show_table(
        rows, runs.SUMMARY_COLUMNS, empty="No runs yet. Import a log: inferact trajectory import FILE --run NAME"
    )


@app.command("status", epilog="Example: inferact run status hotpot --json")
def status(run: RunName, as_json: Json = False) -> None:
    """Show how each trial of a run stands: outcomes, flagged, inspections used and left."""
    document, rows, nothing = _status(run)
    if as_json:
        emit_json(document)
        return
    show_table(rows, tuple(*rows[:1]), empty=f"Run {run} has no trajectories yet.")
    if rows and nothing:
        say(nothing)


@app.command("start", epilog="Example: inferact run start --env webshop --tasks 40 --name shop --budget 50%")
def start_run(
    name: Annotated[str, typer.Option("--name", help="The new run's name.")],
    source: Annotated[
        str | None, typer.Option("--from", help="With --actor replay: the archive run to replay.")
    ] = None,
    actor: Annotated[str | None, typer.Option(help=f"Who acts: replay, {', '.join(ACTORS)}.")] = None,
    env: Annotated[str | None, typer.Option(help=f"Where: {', '.join(playable())}; several with commas.")] = None,
    tasks: Annotated[str, typer.Option(help="Tasks per environment; several numbers with commas.")] = "20",
    trials: Annotated[int, typer.Option(min=1, help="Trials of a task at most, the first one included.")] = 4,
    detector: Annotated[str, typer.Option(help="The routing detector: it flags and ranks.")] = "rules",
    budget: Budget = None,
    feedback: Annotated[str, typer.Option(help="nl (words), binary, or none (no inspections, plain retries).")] = "nl",
    threshold: Annotated[float | None, typer.Option(help="Flag above this score.")] = None,
    seed: Annotated[int, typer.Option(help="For tasks, Actors and detectors that draw.")] = 0,
    blind: Annotated[bool, typer.Option(help="Reviewers see no gold, outcomes or others' answers.")] = True,
    reviews_per_item: Annotated[int, typer.Option(min=1, help="Reviews that every item needs.")] = 1,
    halted_free: Annotated[bool, typer.Option(help="Halted trials cost nothing, as in the paper.")] = False,
    undo_seconds: Annotated[float, typer.Option(min=0, help="How long a decision can be taken back for sure.")] = 5.0,
    plan: Annotated[str | None, typer.Option(help="With --actor autoplan: the plan that it goes by.")] = None,
    fine_errors: Annotated[bool, typer.Option(help="ALFWorld says why nothing happened.")] = False,
    concurrency: Concurrency = None,
    as_json: Json = False,
) -> None:
    """Start a run: an Actor does tasks and stops before critical actions, or a log is replayed trial by trial."""
    _refuse_what_does_not_go_together(actor, source, env, plan)
    cap, percent = runs.parse_budget(budget)
    fields: dict[str, Any] = {
        "budget_cap": cap,
        "budget_percent": percent,
        "feedback_mode": feedback,
        "threshold": threshold,
        "seed": seed,
        "blind": blind,
        "reviews_per_item": reviews_per_item,
        "halted_free": halted_free,
        "undo_ms": round(undo_seconds * 1_000),
    }
    if actor == "replay" or source is not None:
        problems = _start_replay(name, source, detector, fields)
    else:
        fields |= {"actor_name": actor or "scripted", "detector_name": detector, "trials": trials, "plan": plan}
        start.start(name, task_counts(env, tasks), task_options=_FINE if fine_errors else None, **fields)
        problems = play(name, engine.resume, concurrency=concurrency).problems
    document, _, nothing = _status(name)
    onward = nothing or f"Review it: inferact serve. Then: inferact run next {quote(name)}"
    emit(document, as_json, f"Started {name}. {onward}")
    if problems:
        raise Refused(f"{' '.join(problems)} When that is mended: inferact run resume {quote(name)}")


@app.command("next", epilog="Example: inferact run next shop")
def next_trial(run: RunName, concurrency: Concurrency = None, as_json: Json = False) -> None:
    """Deliver the decisions that are due and run the next trial of every task that got feedback."""
    with reading() as session:
        live = runs.get(session, run).kind == RunKind.LIVE
    done = play(run, engine.advance, concurrency=concurrency) if live else replay.advance(run)
    emit({"run": run, **done.as_dict()}, as_json, sentences(run, done))


@app.command("resume", epilog="Example: inferact run resume shop")
def resume(run: RunName, concurrency: Concurrency = None, as_json: Json = False) -> None:
    """Take up the trials that were under way when a run was stopped or a model failed; nothing new starts."""
    done = play(run, engine.resume, concurrency=concurrency)
    emit({"run": run, **done.as_dict()}, as_json, sentences(run, done))


@app.command("release", epilog="Example: inferact run release shop")
def release_undecided(
    run: RunName,
    trial: Annotated[int | None, typer.Option(min=0, help="Only that trial's.")] = None,
    as_json: Json = False,
) -> None:
    """For experiments: let undecided actions run in the embedded environments, as the paper's numbers assume."""
    done = play(run, release.release, trial=trial)
    emit({"run": run, **done.as_dict()}, as_json, f"Released {counted(done.released, 'undecided action')}.")


@app.command("critical", epilog='Example: inferact run critical support --add "refund_*" --add "*.amount=*"')
def critical(
    run: RunName,
    add: Annotated[list[str] | None, typer.Option(help="A pattern to add.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A pattern to take away.")] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Add the first candidates where nothing is critical.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show or change the patterns of a run's critical actions, with candidates from the tools that the run used."""
    withdrawn: list[int] = []
    with writing() as session:
        changed = runs.get(session, run)
        if accept:
            end = critical_suggestions.dead_end(session, changed)
            add = [*(add or []), *(end[1] if end else [])]
        if add or remove:
            kept = [pattern for pattern in runs.patterns(changed) if pattern not in (remove or [])]
            withdrawn = runs.set_patterns(session, changed, [*kept, *(add or [])], now_ms())
        patterns = runs.patterns(changed)
        looked = critical_suggestions.candidates(session, changed)
    candidates = [{"pattern": one.pattern, "count": one.count, "why": one.why} for one in looked.found]
    if as_json:
        emit_json({"run": run, "critical": patterns, "candidates": candidates, "withdrawn": withdrawn,
                   "seen": looked.seen, "trajectories": looked.total})  # fmt: skip
        return
    if withdrawn:
        say(runs.withdrawn_sentence(withdrawn))
    of_policy = changed.kind == RunKind.GATE
    told = (
        f"as its policy says: inferact policy show {quote(run)}" if of_policy else ", ".join(patterns) or "nothing yet"
    )
    say(f"Critical: {told}")
    show_table(candidates, ("pattern", "count", "why"), empty="No further candidates among the actions.")
    say(looked.share)


@app.command("budget", epilog="Example: inferact run budget hotpot 50%")
def budget(
    run: RunName,
    cap: Annotated[str, typer.Argument(help="Inspections per trial: a number, or P% of the non-halted of trial 0.")],
    as_json: Json = False,
) -> None:
    """Set the inspection budget of every trial of a run; it cannot go below what is spent."""
    wanted = ingest.set_budget(run, cap)
    emit({"run": run, "cap": wanted}, as_json, ingest.budget_sentence(run, wanted))


@app.command("rename", epilog="Example: inferact run rename shop shop-pilot")
def rename(run: RunName, to: Annotated[str, typer.Argument(help="The new name.")], as_json: Json = False) -> None:
    """Give a run another name."""
    with writing() as session:
        housekeeping.rename(session, runs.get(session, run), to, now_ms())
    emit({"run": to, "before": run}, as_json, f"{run} is now {to}.")


@app.command("tag", epilog="Example: inferact run tag shop --add pilot --remove draft")
def tag(
    run: RunName,
    add: Annotated[list[str] | None, typer.Option(help="A tag to add.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A tag to take away.")] = None,
    as_json: Json = False,
) -> None:
    """Show or change the tags of a run."""
    with writing() as session:
        tags = housekeeping.tag(session, runs.get(session, run), add or [], remove or [], now_ms())
    emit({"run": run, "tags": tags}, as_json, f"Tags of {run}: {', '.join(tags) or 'none'}.")


@app.command("archive", epilog="Example: inferact run archive shop")
def archive(
    run: RunName, undo: Annotated[bool, typer.Option("--undo", help="Put it back.")] = False, as_json: Json = False
) -> None:
    """Take a run in which nothing waits out of the lists, with all that it holds kept."""
    with writing() as session:
        housekeeping.set_archived(session, runs.get(session, run), not undo, now_ms())
    told = f"{run} is back in the lists." if undo else f"{run} is archived; inferact run archive {quote(run)} --undo"
    emit({"run": run, "archived": not undo}, as_json, told)


@app.command("delete", epilog="Example: inferact run delete shop --yes")
def delete(
    run: RunName, yes: Annotated[bool, typer.Option("--yes", help="Really.")] = False, as_json: Json = False
) -> None:
    """Delete a run with all that it holds, its decisions and the content of its events too; this cannot be undone."""
    with writing() as session:
        found = runs.get(session, run)
        held = housekeeping.holdings(session, found)
        what = ", ".join(f"{count} {name}" for name, count in held.items())
        if not yes:
            raise Refused(f"{run} holds {what}. To delete them for good: inferact run delete {quote(run)} --yes")
        housekeeping.remove(session, found, now_ms())
    overwrite_freed(database_url())
    emit({"run": run, "deleted": held}, as_json, f"Deleted {run}: {what}.")


_FINE = {"errors": "fine"}


def _status(name: str) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    """(the run's status, the same as rows of a table, a sentence where nothing came into its queue)."""
    with reading() as session:
        run = runs.get(session, name)
        status = runs.status(session, run)
        return status, runs.status_rows(status, run.kind), inbox.nothing_queued(session, run)


def _refuse_what_does_not_go_together(actor: str | None, source: str | None, env: str | None, plan: str | None) -> None:
    if plan is not None and actor != "autoplan":
        raise BadInput("--plan goes with --actor autoplan; the other Actors go by none.")
    if source is not None and (env is not None or actor not in (None, "replay")):
        raise BadInput("--from goes with --actor replay; an Actor gets its tasks from --env.")


def _start_replay(name: str, source: str | None, detector: str, fields: dict[str, Any]) -> Sequence[str]:
    if source is None:
        raise BadInput("Say which archive run is to be replayed: --from RUN.")
    if fields["feedback_mode"] not in ("nl", "binary"):
        raise BadInput(f"Feedback of a replay is nl or binary, not {fields['feedback_mode']!r}.")
    replay.start_replay(name, source, detector, **fields)
    return ()
