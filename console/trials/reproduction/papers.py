"""The runs behind a paper's tables, and the figures from these runs.

Offline, the scripted Actor replaces the paper's Actor, and detectors without a model replace the paper's detectors.
With a model, the papers' Actors, detectors and baselines use this model, which also plays the user who gives feedback.
Every run has its own name, so that an interrupted reproduction continues.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from sqlmodel import Session, col, select

from console import runs
from console.actors import actor
from console.actors.autoplan import STEP_CAPS
from console.analysis.metrics.bootstrap import Interval
from console.analysis.statistics.estimates import Estimate, estimate_mean
from console.database import reading
from console.detection import batch
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.evaluation.metrics import evaluate, tune
from console.environments import ENVIRONMENTS
from console.environments.sources import parse_sources
from console.errors import BadInput, Refused
from console.runs.status import run_status
from console.runs.trajectory_rows import task_spec
from console.trajectory import Outcome
from console.trajectory.checkpoints import digest
from console.trials import engine, quota_loop
from console.trials.planning.metrics import TYPES, compute_figures, estimate_percent
from console.trials.planning.training import Training, train_plan
from console.trials.quota_loop import QuotaLoop, Watch
from console.trials.reproduction import tables as printed
from console.trials.reproduction.spending import PILOT, Part, Spending
from console.trials.reproduction.tables import Cell
from console.trials.start import ActorAndEnvironments, fit_run_name, start_run
from storage import tables

OFFLINE = ("rules", "random", "full-validation")
"""The detectors of an offline reproduction."""
AGGREGATIONS = {f"multi-step-{name}": name for name in ("min", "max", "mean")} | {"multi-step": "product"}
PAPER = (
    "direct", "self-consistency", "token-prob", "token-entropy", "multi-step", "inferact-verb", "inferact-prob",
)  # fmt: skip
"""The detectors of the InferAct paper."""
_OUTCOMES = {"successful": "succeeded", "failed": "failed", "halted": "halted"}
_DEV = 50
"""The number of tasks on which the paper chooses its thresholds."""
Found = dict[tuple[int, str, str, str], tuple[Estimate, int]]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The settings: tasks per environment, trials after the first, and the tables to fill (all if empty).

    Without a `model`, the reproduction is offline. `iterations` is the number of batches in a training, and `pilot` the
    number of tasks in a pilot. `sources` are real worlds that replace embedded editions, as ENVIRONMENT=SOURCE.
    `spending` collects the usage of each part. With `fine_errors`, ALFWorld tells why an action had no effect.
    """

    paper: str
    tasks: int = 60
    trials: int = 3
    seed: int = 0
    wanted: frozenset[int] = field(default_factory=frozenset)
    watch: Watch = lambda name: nullcontext()
    model: str = ""
    iterations: int = 6
    pilot: int = PILOT
    sources: tuple[str, ...] = ()
    spending: Spending = field(default_factory=Spending)
    is_pilot: bool = False
    fine_errors: bool = False

    def wants(self, *numbers: int) -> bool:
        """Return whether any of these tables has to be filled."""
        return not self.wanted or bool(self.wanted & set(numbers))

    @property
    def detectors(self) -> tuple[str, ...]:
        """The compared detectors."""
        return (*PAPER, "full-validation") if self.model else OFFLINE

    @property
    def actor(self) -> str:
        """The Actor of the InferAct paper, or its offline replacement."""
        return "react" if self.model else "scripted"

    @property
    def suffix(self) -> str:
        """The end of run names, which distinguishes models and worlds."""
        told = "fine errors" if self.fine_errors else ""
        return "".join(f" {one}" for one in (self.model, *sorted(self.sources), told) if one)

    def as_pilot(self) -> Reproduction:
        """Return the pilot of this reproduction: the first tasks, and two batches of one training."""
        tasks, account = min(self.pilot, self.tasks), f"{self.account} pilot"
        return replace(self, tasks=tasks, iterations=2, spending=Spending(account, self.model), is_pilot=True)

    @property
    def account(self) -> str:
        """The name of the account for the model's usage, independent of the number of tasks."""
        wanted = ",".join(map(str, sorted(self.wanted))) or "all"
        return f"paper {self.paper} tables {wanted} {self.trials} seed {self.seed}{self.suffix}"


def reproduce(asked: Reproduction) -> list[Cell]:
    """Play the paper's runs, or continue them; return the figures of the wanted tables.

    Raise BadInput if the paper has no table with a wanted number. Raise Refused if a failed model or world leaves
    trials or verdicts incomplete; a later call continues.
    """
    cells = printed.list_printed(asked.paper)
    if unknown := asked.wanted - {one.table for one in cells}:
        known = ", ".join(map(str, sorted({one.table for one in cells})))
        raise BadInput(f"The paper has no table {min(unknown)} here. Use one of {known} with --tables.")
    measured = _PAPERS[asked.paper](asked)
    found = [one for one in printed.list_cells(cells, measured) if asked.wants(one.table)]
    if not asked.model:
        return found
    # The model was there: what is missing has another reason.
    lacks = [one for one in found if one.measured is None and one.note in printed.NEED_MODEL]
    return [replace(one, note=_why_missing(asked, one)) if one in lacks else one for one in found]


def _why_missing(asked: Reproduction, one: Cell) -> str:
    if (asked.paper, one.table) == ("inferact", 3) and asked.trials != 3:
        return "not run: it is printed for --trials 3"
    return "not run: this method, or its world, has no counterpart here"


def plan_parts(asked: Reproduction) -> dict[str, Part]:
    """Return the parts of a reproduction, with their numbers of units, without playing them."""
    parts: dict[str, Part] = {}
    if asked.paper == "inferact":
        return {environment: Part(asked.tasks) for environment in printed.ENVIRONMENTS}
    if asked.paper == "devils-advocate":
        return {name: Part(asked.tasks) for name in _PLANNERS}
    for table, environment in _LEARNT.items():
        if asked.wants(table):
            names = list(TYPES) if environment == "alfworld" and not asked.is_pilot else [""]
            units = len(names) * asked.iterations * _BATCH
            parts[f"{environment} training"] = Part(units, is_repeated=environment in _ONE_PLAN)
            for name in _LEARNERS:
                parts[f"{environment} {name}"] = Part(asked.tasks, is_repeated=name != "autoplan")
    return parts


def _cast(asked: Reproduction, name: str) -> ActorAndEnvironments:
    found = actor(name)
    if asked.paper == "autoplan" and asked.model:
        # The paper plays its ReAct baselines in AutoPlan's own loop.
        found = replace(found, step_caps=STEP_CAPS)
    return ActorAndEnvironments(found, {**ENVIRONMENTS, **parse_sources(asked.sources)})


def _play_run(
    asked: Reproduction, part: Part, environment: str, trials: int, name: str = "", plan: str | None = None
) -> str:
    """Play a run without inspections, or continue it; return its name."""
    cast = _cast(asked, name or asked.actor)
    learnt = f" plan {plan}" if plan else ""
    run = f"paper {asked.paper} {environment} {asked.tasks} {cast.actor.name} {trials} seed {asked.seed}"
    run = fit_run_name(f"{run}{asked.suffix}{learnt}")
    with reading() as session:
        known = runs.find(session, run) is not None
    if not known:
        counts = {environment: asked.tasks}
        fields: dict[str, Any] = {"feedback_mode": "none", "trials": trials, "seed": asked.seed}
        if asked.fine_errors and environment == "alfworld":
            fields["task_options"] = {"errors": "fine"}
        start_run(run, counts, actor_and_environments=cast, plan=plan, **fields)
    for trial in range(trials):
        with asked.watch(run) as tell:
            played = engine.advance(run, actor_and_environments=cast, progress=tell, onward=trial > 0)
        played.refuse_interrupted()
    part.runs.append(run)
    return run


def _detected(asked: Reproduction, run: str) -> None:
    detectors = (*AGGREGATIONS, *asked.detectors) if asked.model and asked.wants(8) else asked.detectors
    asking = ModelOptions(model=asked.model, paper=True) if asked.model else None
    for report in batch.detect(run, list(dict.fromkeys(detectors)), asking=asking):
        if report.errors:
            raise Refused(
                f"{report.errors} verdicts of {report.detector} are missing ({report.last_problem}). Fix the "
                "problem, then run the command again."
            )


def _inferact(asked: Reproduction) -> Found:
    found: Found = {}
    for environment in printed.ENVIRONMENTS:
        with asked.spending.part(environment, asked.tasks) as part:
            if asked.wants(1, 2, 4, 5, 6, 8):
                name = _play_run(asked, part, environment, 1)
                found |= _count_outcomes(name, environment)
                if asked.wants(1, 2, 4, 6, 8):
                    _detected(asked, name)
                    found |= _evaluate(name, environment)
                    found |= _measure_models(asked, name, environment) if asked.model else {}
            if asked.wants(3, 7):
                found |= _measure_loops(asked, part, environment)
    return found


def _measure_models(asked: Reproduction, name: str, environment: str) -> Found:
    """Return the figures that need a model: time and cost of a verdict, and thresholds tuned on some tasks."""
    found: Found = {}
    verdict = tables.Verdict
    with reading() as session:
        run = runs.get(session, name)
        for detector in PAPER:
            of_detector = select(verdict.latency_ms, verdict.cost_usd).where(
                verdict.run_id == run.id, verdict.detector == detector
            )
            rows = session.exec(of_detector).all()
            row = "InferAct" if detector == "inferact-prob" else detector
            if environment == "webshop" and detector != "inferact-verb":
                seconds = estimate_mean([latency / 1_000 for latency, _ in rows], what="verdict")
                found[4, environment, row, "seconds"] = seconds, len(rows)
                costs = [cost for _, cost in rows if cost is not None]
                found[4, environment, row, "usd"] = estimate_mean(costs, what="verdict"), len(costs)
            half = min(_DEV, _compute_metrics(session, run).get(detector, {"n": 0})["n"] // 2)
            if half and detector in ("token-entropy", "token-prob", "multi-step", "inferact-prob"):
                found[6, environment, row, "threshold"] = _tuned(session, run, detector, half, asked.seed), half
    return found


def _tuned(session: Session, run: tables.Run, detector: str, half: int, seed: int) -> Estimate:
    try:
        return Estimate(float(tune(session, run, detector, half, seed)["threshold"]))
    except Refused as too_few:
        return Estimate(None, note=str(too_few))


def _count_outcomes(name: str, environment: str) -> Found:
    with reading() as session:
        (counted,) = run_status(session, runs.get(session, name))["trials"]
    total = counted["tasks"]
    own = {metric: counted[outcome] for metric, outcome in _OUTCOMES.items()} | {"total": total}
    # A process that was killed leaves actions whose execution is unknown; such trials are never repeated.
    if unknown := total - sum(counted[outcome] for outcome in _OUTCOMES.values()):
        own["ended with an error"] = unknown
    return {(5, environment, "Actor", metric): (Estimate(float(count)), total) for metric, count in own.items()}


def _compute_metrics(session: Session, run: tables.Run) -> dict[str, Any]:
    """Return the metrics by detector, or an empty dict if no trial has a label because all trials halted."""
    try:
        return evaluate(session, run)
    except Refused:
        return {}


def _evaluate(name: str, environment: str) -> Found:
    with reading() as session:
        measured = _compute_metrics(session, runs.get(session, name))
    found: Found = {}
    if not measured:
        nothing = Estimate(None, note="undefined: no trial has a label"), 0
        metrics = {1: ("macro_f1", "cost", "er", "pr_auc"), 2: ("ece",)}
        return {(table, environment, row, one): nothing for table in metrics for one in metrics[table] for row in PAPER}
    for row, figures in measured.items():
        for metric in ("macro_f1", "cost", "er", "pr_auc", "ece"):
            bounds = figures["intervals"].get(metric)
            interval = Interval(bounds["low"], bounds["high"], bounds["level"]) if bounds else None
            note = "" if figures[metric] is not None else "undefined for this detector"
            estimate = Estimate(figures[metric], interval, note=note)
            if row in AGGREGATIONS and metric in ("macro_f1", "pr_auc"):
                found[8, environment, f"multi-step, {AGGREGATIONS[row]}", metric] = _in_percent(estimate), figures["n"]
            if row not in AGGREGATIONS or row == "multi-step":
                found[2 if metric == "ece" else 1, environment, row, metric] = estimate, figures["n"]
    return found


def _in_percent(share: Estimate) -> Estimate:
    if share.value is None:
        return share
    low, high = share.bounds
    interval = None if low is None or high is None else Interval(100 * low, 100 * high, 0.95)
    return replace(share, value=100 * share.value, interval=interval)


def _solved(share: float | None, tasks: int) -> Estimate:
    undecided = Estimate(None, note="not measured: actions of this trial are undecided")
    return undecided if share is None else estimate_percent(round(share * tasks), tasks)


def _measure_loops(asked: Reproduction, part: Part, environment: str) -> Found:
    found: Found = {}
    user = {"reviewer": "model-user", "model": asked.model} if asked.model else {}
    for loop in (
        QuotaLoop(environment, asked.tasks, one, feedback, asked.actor, trials=asked.trials, seed=asked.seed, **user)
        for one in asked.detectors
        for feedback in quota_loop.FEEDBACK
    ):
        name = quota_loop.play_loop(loop, asked.watch, _cast(asked, loop.actor))
        part.runs.append(name)
        rows = quota_loop.list_success([name], loop.trials)
        solved = {row["trial"]: _solved(row["success"], row["tasks"]) for row in rows}
        last = f"{loop.detector}, {loop.feedback}, N={loop.trials}"
        for row, trial in (("any detector, N=0", 0), (last, loop.trials)):
            found[3, environment, row, "success_percent"] = solved[trial], rows[0]["tasks"]
        if loop.detector != quota_loop.SEES_ALL:
            with reading() as session:
                budget = run_status(session, runs.get(session, name))["trials"][0]["budget"]["cap"]
            found[7, environment, "quota", "inspections"] = Estimate(float(budget)), rows[0]["tasks"]
    return found


_PLANNERS = {"introspective": "anticipatory_reflection", "plan-act": "plan+act"}
"""The Actors of Devil's Advocate, each with its row in the paper's table."""


def _devils_advocate(asked: Reproduction) -> Found:
    found: Found = {}
    metrics = ["success_rate", "actions_first_trial", "actions_last_trial"]
    environment = "browser" if any(one.startswith("browser=") for one in asked.sources) else "webshop"
    if environment == "browser" and not asked.model:
        raise BadInput("The scripted Actor does not act in a browser. Use --model NAME instead of --offline.")
    for name in _PLANNERS if asked.model else [asked.actor]:
        with asked.spending.part(name, asked.tasks) as part:
            run = _play_run(asked, part, environment, asked.trials + 1, name)
        with reading() as session:
            figures = compute_figures(session, runs.get(session, run))
        row = f"{_PLANNERS[name]} ({name})" if asked.model else f"{name} Actor"
        # The scripted Actor has no plans.
        for metric in [*metrics, "plan_revisions"] if asked.model else metrics:
            found[1, environment, row, metric] = figures[metric], figures[metric].n
    return found


_LEARNERS = {
    "autoplan": {"alfworld": "AutoPlan", "hotpotqa": "AutoPlan"},
    "react": {"alfworld": "ReAct (2 shot)", "hotpotqa": "ReAct (6 shot)"},
    "react-0-shot": {"alfworld": "ReAct (0 shot)", "hotpotqa": "ReAct (0 shot)"},
}
"""The Actors of AutoPlan, each with its rows in the paper's tables by environment."""
_LEARNT = {1: "alfworld", 2: "hotpotqa"}
_ONE_PLAN = frozenset({"hotpotqa"})
"""Environments with one task type, in which the full training includes the pilot's training."""
_BATCH, _POOLS = 4, {"alfworld": 24, "hotpotqa": 50}


def _autoplan(asked: Reproduction) -> Found:
    found: Found = {}
    for table, environment in _LEARNT.items():
        if not asked.wants(table):
            continue
        plan = _train_plans(asked, environment) if asked.model else None
        for name in _LEARNERS if asked.model else [asked.actor]:
            with asked.spending.part(f"{environment} {name}", asked.tasks) as part:
                run = _play_run(asked, part, environment, 1, name, plan if name == "autoplan" else None)
            row = _LEARNERS[name][environment] if asked.model else f"{name} Actor"
            with reading() as session:
                by_type = _count_by_type(session, runs.get(session, run))
            for task_type, outcomes in by_type.items():
                solved = estimate_percent(sum(one == Outcome.SUCCEEDED for one in outcomes), len(outcomes))
                found[table, environment, row, TYPES.get(task_type, "accuracy")] = solved, len(outcomes)
    return found


def _train_plans(asked: Reproduction, environment: str) -> str:
    """Train a plan for each type of tasks, or continue the training; a pilot trains one plan for all types."""
    whole = f"paper {environment} seed {asked.seed}{asked.suffix}{' pilot' if asked.is_pilot else ''}"
    name = f"{environment}-{digest(whole)[:8]}"  # short: the names of its batches add the type of tasks
    types = list(TYPES) if environment == "alfworld" and not asked.is_pilot else [""]
    with asked.spending.part(f"{environment} training", len(types) * asked.iterations * _BATCH) as part:
        for task_type in types:
            settings = (environment, task_type, _BATCH, asked.iterations, _POOLS[environment], asked.seed + 1_000)
            training = Training(*settings, fine_errors=asked.fine_errors and environment == "alfworld")
            report = train_plan(name, training, actor_and_environments=_cast(asked, "autoplan"))
            if report.problems:
                raise Refused(" ".join(report.problems))
            label = " ".join(filter(None, [name, task_type]))
            part.runs += [f"{label} batch {iteration}" for iteration in range(asked.iterations)]
    return name


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
