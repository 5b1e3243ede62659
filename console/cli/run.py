"""`inferact run`: start and list runs, show their status, play the next trial, change settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from console import runs
from console.actors import ACTORS
from console.actors import actor as get_actor
from console.actors.move import PROTOCOLS
from console.cli.output import (
    Budget,
    Json,
    RunName,
    emit,
    emit_json,
    emit_table,
    noun,
    progress,
    run_by_default,
    say,
    show_table,
    split_names,
)
from console.database import database_url, now_ms, reading, writing
from console.detection import batch
from console.environments import ENVIRONMENTS, list_playable
from console.environments.sources import parse_sources
from console.errors import BadInput, Refused
from console.language import counted, list_counts
from console.review import inbox
from console.runs import critical_suggestions, maintenance
from console.runs.status import SUMMARY_COLUMNS, run_status, run_summary, status_rows, store_counts
from console.trials import engine, replay, start
from console.trials.round import Advance
from console.trials.start import ActorAndEnvironments
from storage.engine import overwrite_freed
from storage.tables import RunKind


def parse_task_counts(env: str | None, tasks: str) -> dict[str, int]:
    """Return the number of tasks per environment from `--env` and `--tasks`; raise BadInput if an option is invalid."""
    if env is None:
        raise BadInput(
            f"Name an environment, --env {','.join(list_playable())}, or replay a run: --actor replay --from RUN."
        )
    names = split_names(env)
    numbers = tasks.split(",")
    if len(numbers) not in (1, len(names)) or not all(number.strip().isdecimal() for number in numbers):
        raise BadInput(
            f"--tasks {tasks!r} is invalid. Give one whole number, or a number for each of {', '.join(names)}."
        )
    return dict(zip(names, map(int, numbers * (len(names) if len(numbers) == 1 else 1)), strict=True))


def play_run(run: str, work: Callable[..., Advance], **options: int | None) -> Advance:
    """Play one round of a live run with a progress bar; `work` is the engine's function to call."""
    with progress(f"{run}: trials") as tell:
        return work(run, progress=tell, **options)


def describe_round(run: str, done: Advance) -> str:
    """Describe the result of the round, and the command that continues interrupted trials."""
    parts = [done.in_words(now_ms()), *done.problems]
    if done.interrupted:
        parts.append(f"{counted(done.interrupted, 'interrupted trial')}. To continue: inferact run resume {quote(run)}")
    return " ".join(parts)


app = noun("Start runs, show their status, run the next trial.", "run list")

Worlds = Annotated[
    list[str] | None,
    typer.Option(
        "--world", help="Sources: webshop=URL, hotpotqa=FILE[@URL], alfworld=FOLDER, browser=FOLDER. Repeatable."
    ),
]
Environments = Annotated[
    str | None, typer.Option(help=f"Environments, comma-separated: {', '.join(list_playable(ENVIRONMENTS.built_in))}.")
]
Protocol = Annotated[
    str, typer.Option(help="Flagged actions: defer (wait), resample (choose again first), audit or undo (run first).")
]
Rationale = Annotated[
    float, typer.Option(min=0, max=1, help="Share of tasks (0 to 1) whose feedback includes the detector's reasons.")
]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Trials to run at the same time.")]


@app.command("list", epilog="Example: inferact run list")
@run_by_default(app)
def list_runs(
    archived: Annotated[bool, typer.Option(help="Include archived runs.")] = False,
    tag: Annotated[str | None, typer.Option(help="Only runs with this tag.")] = None,
    as_json: Json = False,
) -> None:
    """List all runs, the newest first."""
    store_counts()
    with reading() as session:
        rows = [run_summary(session, run) for run in runs.list_runs(session, archived=archived)]
    rows = [row for row in rows if tag is None or tag in row["tags"]]
    shown = [{**row, "tags": " ".join(row["tags"]) or None} for row in rows]
    emit_table(
        rows,
        SUMMARY_COLUMNS,
        as_json,
        empty="No runs yet. Import a log: inferact trajectory import FILE --run NAME",
        shown=shown,
    )


@app.command("status", epilog="Example: inferact run status hotpot --json")
def status(run: RunName, as_json: Json = False) -> None:
    """Show the status of each trial of a run: outcomes, flags, used and remaining inspections."""
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
    source: Annotated[str | None, typer.Option("--from", help="With --actor replay: the archive to replay.")] = None,
    actor: Annotated[str | None, typer.Option(help=f"The Actor: replay, {', '.join(ACTORS.built_in)}.")] = None,
    env: Environments = None,
    tasks: Annotated[str, typer.Option(help="Tasks per environment: one number, or one number for each.")] = "20",
    trials: Annotated[int, typer.Option(min=1, help="Maximum trials per task, including the first one.")] = 4,
    detector: Annotated[str, typer.Option(help="The detector that flags and ranks.")] = "rules",
    budget: Budget = None,
    feedback: Annotated[str, typer.Option(help="Feedback: nl (text), binary, or none (no inspections).")] = "nl",
    threshold: Annotated[float | None, typer.Option(help="Flag scores above this threshold.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of tasks, Actors and detectors.")] = 0,
    blind: Annotated[bool, typer.Option(help="Hide labels, outcomes and others' decisions from reviewers.")] = True,
    reviews_per_item: Annotated[int, typer.Option(min=1, help="Reviews per item.")] = 1,
    halted_free: Annotated[bool, typer.Option(help="Reviews of halted trials are free, as in the paper.")] = False,
    undo_seconds: Annotated[float, typer.Option(min=0, help="Seconds in which a decision can be undone.")] = 5.0,
    plan: Annotated[str | None, typer.Option(help="With --actor autoplan: the plan to use.")] = None,
    protocol: Protocol = PROTOCOLS[0],
    rationale: Rationale = 0.0,
    fine_errors: Annotated[bool, typer.Option(help="Let ALFWorld explain why an action had no effect.")] = False,
    questions: Annotated[Path | None, typer.Option(help="With --env hotpotqa: a file in HotPotQA's format.")] = None,
    world: Worlds = None,
    concurrency: Concurrency = None,
    as_json: Json = False,
) -> None:
    """Start a run: an Actor works on tasks and stops before critical actions, or a log is replayed trial by trial."""
    _check_options(actor, source, env, plan, plays=protocol != PROTOCOLS[0] or rationale > 0)
    cap, percent = runs.parse_budget(budget)
    settings = start.RunSettings(
        budget_cap=cap,
        budget_percent=percent,
        feedback_mode=feedback,
        threshold=threshold,
        seed=seed,
        blind=blind,
        reviews_per_item=reviews_per_item,
        halted_free=halted_free,
        undo_ms=round(undo_seconds * 1_000),
        trials=trials,
    )
    if actor == "replay" or source is not None:
        _start_replay(name, source, detector, settings)
        problems: Sequence[str] = ()
    else:
        fine = {"errors": "fine"} if fine_errors else None
        begin = partial(start.start_run, plan=plan, protocol=protocol, rationale=rationale, task_options=fine)
        cast = _choose_cast(actor or "scripted", env, questions, world or [])
        begin(name, parse_task_counts(env, tasks), "", detector, actor_and_environments=cast, **settings)
        problems = play_run(name, engine.resume, concurrency=concurrency).problems
    _report_start(name, problems, as_json)


def _check_options(actor: str | None, source: str | None, env: str | None, plan: str | None, *, plays: bool) -> None:
    if plays and (actor == "replay" or source is not None):
        raise BadInput("A replay has no agent that acts, so --protocol and --rationale do not apply. Leave them out.")
    if plan is not None and actor != "autoplan":
        raise BadInput(
            "--plan needs --actor autoplan, because other Actors do not use plans. Add --actor autoplan, or "
            "leave out --plan."
        )
    if source is not None and (env is not None or actor not in (None, "replay")):
        raise BadInput("--from needs --actor replay. For other Actors, name the environment with --env.")


def _choose_cast(actor: str, env: str | None, questions: Path | None, worlds: Sequence[str]) -> ActorAndEnvironments:
    """Return the Actor and the environments, with the tasks of their sources if any are given."""
    if questions is not None and env != "hotpotqa":
        raise BadInput("--questions needs --env hotpotqa. Add --env hotpotqa, or leave out --questions.")
    found = parse_sources([*worlds, *([] if questions is None else [f"hotpotqa={questions}"])])
    if unused := sorted(set(found) - set(split_names(env or ""))):
        raise BadInput(
            f"--world names {', '.join(unused)}, but --env does not. Add the environment to --env, or remove it "
            "from --world."
        )
    return ActorAndEnvironments(get_actor(actor), {**ENVIRONMENTS, **found})


def _report_start(name: str, problems: Sequence[str], as_json: bool) -> None:
    document, _, nothing = _status(name)
    onward = nothing or f"Review its items: inferact serve. Then: inferact run next {quote(name)}"
    emit(document, as_json, f"Started {name}. {onward}")
    if problems:
        raise Refused(f"{' '.join(problems)} Fix these problems, then continue: inferact run resume {quote(name)}")


@app.command("next", epilog="Example: inferact run next shop")
def next_trial(run: RunName, concurrency: Concurrency = None, as_json: Json = False) -> None:
    """Deliver the decisions that are due and run the next trial of every task with feedback."""
    with reading() as session:
        live = runs.get(session, run).kind == RunKind.LIVE
    done = play_run(run, engine.advance, concurrency=concurrency) if live else replay.advance(run)
    emit({"run": run, **done.as_dict()}, as_json, describe_round(run, done))


@app.command("resume", epilog="Example: inferact run resume shop")
def resume(run: RunName, concurrency: Concurrency = None, as_json: Json = False) -> None:
    """Continue trials that were interrupted by a crash or a failing model; new trials do not start."""
    done = play_run(run, engine.resume, concurrency=concurrency)
    emit({"run": run, **done.as_dict()}, as_json, describe_round(run, done))


@app.command("release", epilog="Example: inferact run release shop")
def release_undecided(
    run: RunName,
    trial: Annotated[int | None, typer.Option(min=0, help="Only this trial.")] = None,
    as_json: Json = False,
) -> None:
    """Run undecided actions in the embedded environments, as the paper's experiments do."""
    done = play_run(run, engine.release_undecided, trial=trial)
    emit({"run": run, **done.as_dict()}, as_json, f"Released {counted(done.released, 'undecided action')}.")


@app.command("critical", epilog='Example: inferact run critical support --add "refund_*" --add "*.amount=*"')
def critical(
    run: RunName,
    add: Annotated[list[str] | None, typer.Option(help="A pattern to add.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A pattern to remove.")] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Add the suggested patterns if no action is critical.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show or change the patterns of a run's critical actions, with suggestions from its tools."""
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
        document = {"run": run, "critical": patterns, "candidates": candidates, "withdrawn": withdrawn}
        emit_json({**document, "seen": looked.seen, "trajectories": looked.total, "unapplied": looked.unapplied})
        return
    if withdrawn:
        say(runs.withdrawn_sentence(withdrawn))
    told = ", ".join(patterns) or "no patterns yet"
    if changed.kind == RunKind.GATE:
        told = f"set by its policy: inferact policy show {quote(run)}"
    say(f"Critical: {told}")
    show_table(candidates, ("pattern", "count", "why"), empty="No further suggestions.")
    say(looked.share)
    if looked.unapplied:
        say(critical_suggestions.explain_unapplied(looked.unapplied))


@app.command("budget", epilog="Example: inferact run budget hotpot 50%")
def budget(
    run: RunName,
    cap: Annotated[
        str, typer.Argument(help="Inspections per trial: a number, or P% of the non-halted trajectories of trial 0.")
    ],
    as_json: Json = False,
) -> None:
    """Set the inspection budget of every trial of a run; the budget cannot be lower than the inspections used."""
    wanted = runs.set_budget(run, cap)
    emit({"run": run, "cap": wanted}, as_json, runs.budget_sentence(run, wanted))


@app.command("audit", epilog='Example: inferact run audit hotpot "20% budget"')
def audit(
    run: RunName,
    share: Annotated[
        str,
        typer.Argument(
            help='A share of the unflagged actions, such as 5%, or of the budget: "20% budget". 0 for none.'
        ),
    ],
    by_score: Annotated[bool, typer.Option("--by-score", help="Draw actions with high scores twice as often.")] = False,
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Set the chances of high and low scores from the labels so far.")
    ] = False,
    after: Annotated[
        bool, typer.Option("--after", help="In a run of agents: audit actions after they ran, instead of holding them.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Draw random audits from the unflagged actions of a run, so that `inferact certify` can bound the misses."""
    spread = batch.Spread.ADAPTIVE if adaptive else batch.Spread.SCORE if by_score else batch.Spread.EVEN
    counts = batch.set_audits(run, share, spread, after=after)
    told = f"{counts.drawn:,} of {counted(counts.population, 'unflagged action')} drawn for an audit."
    if not counts.population:
        told = "Audits are drawn when the actions are judged." if counts.probability else "Audits are off."
    emit({"run": run, **asdict(counts)}, as_json, told)


@app.command("rename", epilog="Example: inferact run rename shop shop-pilot")
def rename(run: RunName, to: Annotated[str, typer.Argument(help="The new name.")], as_json: Json = False) -> None:
    """Rename a run."""
    with writing() as session:
        maintenance.rename_run(session, runs.get(session, run), to, now_ms())
    emit({"run": to, "before": run}, as_json, f"Renamed {run} to {to}.")


@app.command("tag", epilog="Example: inferact run tag shop --add pilot --remove draft")
def tag(
    run: RunName,
    add: Annotated[list[str] | None, typer.Option(help="A tag to add.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A tag to remove.")] = None,
    as_json: Json = False,
) -> None:
    """Show or change the tags of a run."""
    with writing() as session:
        tags = maintenance.tag_run(session, runs.get(session, run), add or [], remove or [], now_ms())
    emit({"run": run, "tags": tags}, as_json, f"Tags of {run}: {', '.join(tags) or 'none'}.")


@app.command("stop", epilog="Example: inferact run stop support")
def stop(
    run: RunName,
    undo: Annotated[bool, typer.Option("--undo", help="Let the agents continue.")] = False,
    as_json: Json = False,
) -> None:
    """Stop the agents of a run: withdraw their pending checks and let none of their actions begin."""
    with writing() as session:
        gone = maintenance.set_stopped(session, runs.get(session, run), not undo, now_ms())
    emit({"run": run, "stopped": not undo, "withdrawn": gone}, as_json, maintenance.stop_sentence(run, not undo, gone))


@app.command("archive", epilog="Example: inferact run archive shop")
def archive(
    run: RunName,
    undo: Annotated[bool, typer.Option("--undo", help="Restore the run to the lists.")] = False,
    as_json: Json = False,
) -> None:
    """Archive a run without pending items: hide it from the lists and keep its data."""
    with writing() as session:
        maintenance.set_archived(session, runs.get(session, run), not undo, now_ms())
    told = f"Restored {run}." if undo else f"Archived {run}. Undo: inferact run archive {quote(run)} --undo"
    emit({"run": run, "archived": not undo}, as_json, told)


@app.command("delete", epilog="Example: inferact run delete shop --yes")
def delete(
    run: RunName,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the deletion.")] = False,
    as_json: Json = False,
) -> None:
    """Delete a run permanently with all its data, including decisions and the content of its events."""
    with writing() as session:
        found = runs.get(session, run)
        held = maintenance.count_records(session, found)
        what = list_counts(held)
        if not yes:
            raise Refused(f"{run} has {what}. To delete them permanently: inferact run delete {quote(run)} --yes")
        maintenance.delete_run(session, found, now_ms())
    overwrite_freed(database_url())
    emit({"run": run, "deleted": held}, as_json, f"Deleted {run}: {what}.")


def _status(name: str) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    """Return the run's status, its table rows, and a sentence if its queue is empty."""
    with reading() as session:
        run = runs.get(session, name)
        status = run_status(session, run)
        return status, status_rows(status, run.kind), inbox.explain_empty_queue(session, run)


def _start_replay(name: str, source: str | None, detector: str, settings: start.RunSettings) -> None:
    if source is None:
        raise BadInput("The run to replay is missing. Name an archive run: --from RUN.")
    if settings["feedback_mode"] not in ("nl", "binary"):
        raise BadInput(f"--feedback {settings['feedback_mode']!r} is invalid for a replay. Use nl or binary.")
    replay.start_replay(name, source, detector, **settings)
