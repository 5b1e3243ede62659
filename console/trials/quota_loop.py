"""The paper's loop with a quota: play, let a simulated reviewer inspect false positives first, release the rest, retry.

A loop is one run for one detector and one form of feedback (InferAct, section 5.2). An interrupted run continues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from console import runs
from console.actors import actor
from console.database import reading
from console.review.simulated import simulate
from console.runs.status import run_status
from console.trials import engine
from console.trials.start import ActorAndEnvironments, RunSettings, fit_run_name, start_run
from storage.tables import RunKind

FEEDBACK = ("binary", "nl")
SEES_ALL = "full-validation"
"""The detector without a quota: the oracle sees every action (InferAct, section 5.2)."""
Watch = Callable[[str], AbstractContextManager[engine.Progress | None]]
"""A function from a run's name to a context, whose value is a callback for progress or None."""


@dataclass(frozen=True, slots=True)
class QuotaLoop:
    """The settings of a loop: `budget` is a number or P% of the non-halted trajectories, `trials` counts the retries.

    `model` is the model that plays the user if `reviewer` is `model-user`.
    """

    environment: str
    tasks: int
    detector: str
    feedback: str
    actor: str = "scripted"
    budget: str = "50%"
    trials: int = 3
    seed: int = 0
    reviewer: str = "oracle"
    model: str | None = None

    @property
    def name(self) -> str:
        """The name of the loop's run."""
        size = self.budget.replace("%", "pct") if self.detector != SEES_ALL else "all"
        who = "" if self.reviewer == "oracle" else f" {self.reviewer}"
        who += f" {self.model}" if self.model else ""
        return fit_run_name(
            f"fp-first {self.environment} {self.tasks} {self.actor} {self.detector} {self.feedback} {size} "
            f"{self.trials} seed {self.seed}{who}"
        )


def play_loop(
    loop: QuotaLoop, watch: Watch = lambda name: nullcontext(), cast: ActorAndEnvironments | None = None
) -> str:
    """Play the loop to its end, or continue it; return the name of its run. The default `cast` is the loop's Actor.

    Raise BadInput or Unknown if a setting is invalid, and NoModel or ModelError if the model of the user fails. Raise
    Refused if trials were interrupted, because an undecided action would then be released without a verdict.
    """
    cast = cast or ActorAndEnvironments(actor(loop.actor))
    cap, percent = runs.parse_budget(loop.budget) if loop.detector != SEES_ALL else (None, None)
    settings = RunSettings(
        budget_cap=cap,
        budget_percent=percent,
        feedback_mode=loop.feedback,
        trials=loop.trials + 1,
        halted_free=True,
        undo_ms=0,
        seed=loop.seed,
    )
    with reading() as session:
        known = runs.find(session, loop.name) is not None
    if not known:
        counts = {loop.environment: loop.tasks}
        start_run(loop.name, counts, detector_name=loop.detector, actor_and_environments=cast, **settings)
    with watch(loop.name) as tell:
        engine.resume(loop.name, actor_and_environments=cast, progress=tell).refuse_interrupted()
    plan = simulate.SimulationPlan(loop.reviewer, "fp-first", seed=loop.seed, model=loop.model)
    # In each trial: inspect within the quota, release the rest, retry the tasks with feedback.
    for trial in range(loop.trials + 1):
        # An approved action in the middle of a trial leads to further items of the same trial.
        while simulate.simulate(loop.name, plan).inspected:
            engine.advance(loop.name, actor_and_environments=cast, retries=False).refuse_interrupted()
        engine.release_undecided(loop.name, trial=trial, actor_and_environments=cast).refuse_interrupted()
        with watch(loop.name) as tell:
            engine.advance(loop.name, actor_and_environments=cast, progress=tell).refuse_interrupted()
    return loop.name


def list_success(names: Sequence[str], trials: int) -> list[dict[str, Any]]:
    """Return the number and the share of tasks solved by each trial of live runs, one row per trial."""
    rows = []
    for name in names:
        with reading() as session:
            run = runs.get(session, name)
            counted = run_status(session, run)["trials"] if run.kind == RunKind.LIVE else []
            about = {"method": run.detector, "feedback": run.feedback_mode, "environment": run.environment}
        for trial in range(trials + 1 if counted else 0):
            # A trial without any attempt leaves the results of the previous one.
            last = counted[min(trial, len(counted) - 1)]
            solved = last["success_paper"]
            share = None if solved is None else solved / last["run_tasks"]
            rows.append({"run": name, **about, "trial": trial, "success": share, "tasks": last["run_tasks"]})
    return rows
