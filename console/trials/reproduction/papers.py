"""The runs behind a paper's tables, played or continued, and the figures that they give.

Offline, the scripted Actor takes the place of the paper's, and detectors without a model that of the paper's detectors.
Every run has a name of its own, so that a reproduction that was interrupted continues.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from sqlmodel import Session, col, select

from console import runs
from console.analysis.metrics.bootstrap import Interval
from console.analysis.statistics.estimates import Estimate
from console.database import reading
from console.detection import batch
from console.detection.evaluation.metrics import evaluate
from console.environments import ENVIRONMENTS
from console.errors import BadInput
from console.runs.status import run_status
from console.runs.trajectory_rows import task_spec
from console.trajectory import Outcome
from console.trials import engine, quota_loop
from console.trials.planning.metrics import TYPES, compute_figures, estimate_percent
from console.trials.quota_loop import QuotaLoop, Watch
from console.trials.reproduction import tables as printed
from console.trials.reproduction.tables import Cell
from console.trials.start import start_run
from storage import tables

ACTOR = "scripted"
DETECTORS = ("rules", "random", "full-validation")
"""The detectors of an offline reproduction."""
_OUTCOMES = {"successful": "succeeded", "failed": "failed", "halted": "halted"}
Found = dict[tuple[int, str, str, str], tuple[Estimate, int]]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The settings: tasks per environment, trials after the first, and the tables to fill (all if empty)."""

    paper: str
    tasks: int = 60
    trials: int = 3
    seed: int = 0
    wanted: frozenset[int] = field(default_factory=frozenset)
    watch: Watch = lambda name: nullcontext()

    def wants(self, *numbers: int) -> bool:
        """Return whether any of these tables is to be filled."""
        return not self.wanted or bool(self.wanted & set(numbers))


def reproduce(asked: Reproduction) -> list[Cell]:
    """Play the paper's runs offline, or continue them; return the figures of the wanted tables.

    Raise BadInput if the paper has no table of a wanted number.
    """
    cells = printed.list_printed(asked.paper)
    if unknown := asked.wanted - {one.table for one in cells}:
        known = ", ".join(map(str, sorted({one.table for one in cells})))
        raise BadInput(f"The paper has no table {min(unknown)} here. Use one of {known} with --tables.")
    measured = _PAPERS[asked.paper](asked)
    return [one for one in printed.list_cells(cells, measured) if asked.wants(one.table)]


def _played(asked: Reproduction, environment: str, tasks: int, trials: int) -> str:
    """Play a run without inspections, or continue it; return its name."""
    name = f"paper {asked.paper} {environment} {tasks} {ACTOR} {trials} seed {asked.seed}"
    with reading() as session:
        known = runs.find(session, name) is not None
    if not known:
        start_run(name, {environment: tasks}, ACTOR, feedback_mode="none", trials=trials, seed=asked.seed)
    for trial in range(trials):
        with asked.watch(name) as tell:
            engine.advance(name, progress=tell, onward=trial > 0)
    return name


def _inferact(asked: Reproduction) -> Found:
    found: Found = {}
    for environment in printed.ENVIRONMENTS:
        if asked.wants(1, 2, 5):
            name = _played(asked, environment, asked.tasks, 1)
            found |= _count_outcomes(name, environment)
            if asked.wants(1, 2):
                batch.detect(name, DETECTORS)
                found |= _evaluate(name, environment)
        if asked.wants(3, 7):
            loops = [
                QuotaLoop(environment, asked.tasks, one, feedback, ACTOR, trials=asked.trials, seed=asked.seed)
                for one in DETECTORS
                for feedback in quota_loop.FEEDBACK
            ]
            found |= _measure_loops(loops, environment, asked.watch)
    return found


def _count_outcomes(name: str, environment: str) -> Found:
    with reading() as session:
        (counted,) = run_status(session, runs.get(session, name))["trials"]
    total = counted["tasks"]
    own = {metric: counted[outcome] for metric, outcome in _OUTCOMES.items()} | {"total": total}
    return {(5, environment, "Actor", metric): (Estimate(float(count)), total) for metric, count in own.items()}


def _evaluate(name: str, environment: str) -> Found:
    with reading() as session:
        measured = evaluate(session, runs.get(session, name))
    found: Found = {}
    for row, figures in measured.items():
        for metric in ("macro_f1", "cost", "er", "pr_auc", "ece"):
            bounds = figures["intervals"].get(metric)
            interval = Interval(bounds["low"], bounds["high"], bounds["level"]) if bounds else None
            note = "" if figures[metric] is not None else "undefined for this detector"
            estimate = Estimate(figures[metric], interval, note=note)
            found[2 if metric == "ece" else 1, environment, row, metric] = estimate, figures["n"]
    return found


def _measure_loops(loops: Sequence[QuotaLoop], environment: str, watch: Watch) -> Found:
    found: Found = {}
    for loop in loops:
        name = quota_loop.play_loop(loop, watch)
        rows = quota_loop.list_success([name], loop.trials)
        solved = {row["trial"]: estimate_percent(round(row["success"] * row["tasks"]), row["tasks"]) for row in rows}
        last = f"{loop.detector}, {loop.feedback}, N={loop.trials}"
        for row, trial in (("any detector, N=0", 0), (last, loop.trials)):
            found[3, environment, row, "success_percent"] = solved[trial], rows[0]["tasks"]
        if loop.detector != quota_loop.SEES_ALL:
            with reading() as session:
                budget = run_status(session, runs.get(session, name))["trials"][0]["budget"]["cap"]
            found[7, environment, "quota", "inspections"] = Estimate(float(budget)), rows[0]["tasks"]
    return found


def _devils_advocate(asked: Reproduction) -> Found:
    name = _played(asked, "webshop", asked.tasks, asked.trials + 1)
    with reading() as session:
        figures = compute_figures(session, runs.get(session, name))
    metrics = ("success_rate", "actions_first_trial", "actions_last_trial")  # the scripted Actor has no plans
    return {(1, "webshop", f"{ACTOR} Actor", metric): (figures[metric], figures[metric].n) for metric in metrics}


def _autoplan(asked: Reproduction) -> Found:
    found: Found = {}
    if asked.wants(1):
        name = _played(asked, "alfworld", asked.tasks, 1)
        with reading() as session:
            by_type = _count_by_type(session, runs.get(session, name))
        for task_type, outcomes in by_type.items():
            solved = sum(one == Outcome.SUCCEEDED for one in outcomes)
            place = (1, "alfworld", f"{ACTOR} Actor", TYPES[task_type])
            found[place] = estimate_percent(solved, len(outcomes)), len(outcomes)
    if asked.wants(2):
        counted = _count_outcomes(_played(asked, "hotpotqa", asked.tasks, 1), "hotpotqa")
        successes, n = counted[5, "hotpotqa", "Actor", "successful"]
        share = estimate_percent(round(successes.value or 0), n)
        found[2, "hotpotqa", f"{ACTOR} Actor", "accuracy"] = share, n
    return found


def _count_by_type(session: Session, run: tables.Run) -> dict[str, list[str]]:
    household, found = ENVIRONMENTS["alfworld"], dict[str, list[str]]()
    record, task = tables.Trajectory, tables.Task
    statement = select(task, record.outcome).join(record, col(record.task_id) == task.id).where(record.run_id == run.id)
    for asked, outcome in session.exec(statement):
        found.setdefault(household.task_type(task_spec(asked)), []).append(outcome)
    return found


_PAPERS: dict[str, Callable[[Reproduction], Found]] = {
    "inferact": _inferact,
    "devils-advocate": _devils_advocate,
    "autoplan": _autoplan,
}


def list_left_out(cells: Collection[Cell]) -> list[str]:
    """Return one sentence for each table with figures that were not measured."""
    left: dict[tuple[int, str], int] = {}
    for one in cells:
        if one.measured is None and one.note:
            left[one.table, one.note] = left.get((one.table, one.note), 0) + 1
    counts = {1: "1 figure"}
    return [f"Table {table}: {counts.get(count, f'{count} figures')}, {note}." for (table, note), count in left.items()]
