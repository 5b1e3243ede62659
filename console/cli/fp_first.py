"""`inferact oversight fp-first`: the InferAct paper's simulation, in which false positives use the quota up first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from console import runs
from console.cli.output import Json, emit_json, names_of, plain_rows, say, show_table
from console.cli.run import play, task_counts
from console.database import reading
from console.review.simulated import simulate
from console.trials import engine, release, start
from storage.tables import RunKind

if TYPE_CHECKING:
    from console.detection.oversight import Pool

_PUBLISHED = "published"
_FEEDBACK = ("binary", "nl")
_SEES_ALL = "full-validation"
"""It has no quota: the oracle sees every action (InferAct, section 5.2)."""
_COUNTS = ("tp", "fp", "fn", "tn", "n", "budget", "kept", "lost", "caught")


def fp_first(
    confusion: Annotated[
        list[str] | None,
        typer.Option(help="A CSV with tp, fp, fn, tn; a run's name; or published: the paper's own. Can be repeated."),
    ] = None,
    budget: Annotated[str, typer.Option(help="Inspections per trial: a number, or P% of the non-halted.")] = "50%",
    env: Annotated[
        str | None, typer.Option(help="Play whole runs in these embedded environments; several with commas.")
    ] = None,
    tasks: Annotated[str, typer.Option(help="With --env: tasks per environment.")] = "40",
    method: Annotated[str, typer.Option(help="With --env: detectors, comma-separated.")] = "rules,full-validation",
    actor: Annotated[str, typer.Option(help="With --env: who acts.")] = "scripted",
    trials: Annotated[int, typer.Option(min=1, help="Trials after the first one.")] = 3,
    seed: Annotated[int, typer.Option(help="For tasks and for which true positives come first.")] = 0,
    as_json: Json = False,
) -> None:
    """Simulate a quota that false positives use up first: what is kept of each matrix, and success over trials."""
    from console.detection import oversight  # numpy and scipy, which few commands need

    given = list(confusion or ([] if env else [_PUBLISHED]))
    played = _play_all(env, tasks, method, actor, budget, trials, seed) if env else []
    names = [name for name in given if name != _PUBLISHED and not _is_file(name)]
    # Both forms of feedback share their first trial, so one of them has its matrix.
    pools = [_pool(name) for name in [*names, *played[:: len(_FEEDBACK)]]]
    rows: list[dict[str, Any]] = oversight.published_matrices() if _PUBLISHED in given else []
    rows += [
        row for name in given if name != _PUBLISHED and _is_file(name) for row in oversight.read_matrices(Path(name))
    ]
    rows += [row for pool in pools for row in oversight.matrices_of(pool) if row["detector"] == pool.routing]
    kept = plain_rows(oversight.quota_table(rows, budget))
    success = _success([*names, *played], trials)
    if as_json:
        emit_json({"budget": budget, "kept": kept, "success": success})
        return
    _print(kept, success, trials)


def _pool(name: str) -> Pool:
    from console.detection import oversight

    with reading() as session:
        return oversight.pool(session, runs.get(session, name))


def _is_file(name: str) -> bool:
    return Path(name).suffix.lower() == ".csv" or Path(name).is_file()


def _play_all(env: str, tasks: str, method: str, actor: str, budget: str, trials: int, seed: int) -> list[str]:
    """The names of the runs, one for each environment, detector and form of feedback; what is there goes on."""
    detectors = names_of(method, "detector with --method")
    cap, percent = runs.parse_budget(budget)
    played = []
    for environment, count in task_counts(env, tasks).items():
        for detector, feedback in product(detectors, _FEEDBACK):
            quota: dict[str, Any] = {} if detector == _SEES_ALL else {"budget_cap": cap, "budget_percent": percent}
            size = budget.replace("%", "pct") if quota else "all"
            name = f"fp-first {environment} {count} {actor} {detector} {feedback} {size} {trials} seed {seed}"
            fields: dict[str, Any] = {
                "feedback_mode": feedback,
                "trials": trials + 1,
                "halted_free": True,
                "undo_ms": 0,
                **quota,
            }
            with reading() as session:
                known = runs.find(session, name) is not None
            if not known:
                start.start(name, {environment: count}, actor_name=actor, detector_name=detector, seed=seed, **fields)
            _play(name, trials, seed)
            played.append(name)
    return played


def _play(name: str, trials: int, seed: int) -> None:
    """Every trial: inspected as far as the quota goes, the rest released, what got feedback tried again."""
    play(name, engine.resume)
    for trial in range(trials + 1):
        simulate.simulate(name, simulate.SimulationPlan(order="fp-first", seed=seed))
        release.release(name, trial=trial)
        play(name, engine.advance)


def _success(names: Sequence[str], trials: int) -> list[dict[str, Any]]:
    """Shares solved by each trial, for live runs: undecided actions count as released. One row for each trial."""
    rows = []
    for name in names:
        with reading() as session:
            run = runs.get(session, name)
            counted = runs.status(session, run)["trials"] if run.kind == RunKind.LIVE else []
            run_columns = {
                "run": name,
                "method": run.detector,
                "feedback": run.feedback_mode,
                "environment": run.environment,
            }
        for trial in range(trials + 1 if counted else 0):
            # A trial that nobody had to play leaves everything as the one before it.
            last = counted[min(trial, len(counted) - 1)]
            solved = last["success_paper"]
            share = None if solved is None else solved / last["run_tasks"]
            rows.append({**run_columns, "trial": trial, "success": share, "tasks": last["run_tasks"]})
    return rows


def _print(kept: Sequence[dict[str, Any]], success: Sequence[dict[str, Any]], trials: int) -> None:
    names = [name for row in kept for name in row if name not in _COUNTS]
    shown = [name for name in dict.fromkeys(names) if any(row.get(name) is not None for row in kept)]
    show_table(kept, [*shown, *_COUNTS], empty="No matrix was given.")
    say("kept: true positives within the budget when false positives come first. caught: kept / (tp + fn).")
    for environment in dict.fromkeys(row["environment"] for row in success):
        say(f"\n{environment}: per cent of tasks solved by trial N")
        show_table(_wide([row for row in success if row["environment"] == environment]), _heads(trials), empty="")


def _wide(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each run, a column for each trial."""
    lines: dict[str, dict[str, Any]] = {}
    for row in rows:
        line = lines.setdefault(row["run"], {"method": row["method"], "feedback": row["feedback"]})
        line[f"N={row['trial']}"] = None if row["success"] is None else f"{100 * row['success']:.1f}"
    return list(lines.values())


def _heads(trials: int) -> list[str]:
    return ["method", "feedback", *(f"N={trial}" for trial in range(trials + 1))]
