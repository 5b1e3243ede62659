"""Metrics of planning Actors, as in their papers: actions, plan revisions, success by training, and costs."""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from io import StringIO
from typing import Any

import orjson
import pandas as pd
from sqlmodel import Session, col, select

from console.actors.introspective import KEY
from console.analysis.statistics.estimates import Estimate, estimate_mean, estimate_proportion
from console.runs import run_options
from console.trajectory import Outcome, Trajectory, from_json
from storage import tables

FIGURES = {
    "success_rate": "Success in the last trial, %",
    "actions_first_trial": "Actions in the first trial",
    "actions_last_trial": "Actions in the last trial",
    "plan_revisions": "Plan revisions a trial",
    "backtracks": "Times gone back a trial",
}
"""The labels of a run's metrics by name; the paper reports all metrics except the last."""
_OPEN = (Outcome.RUNNING, Outcome.PAUSED)
TYPES = {
    "pick_and_place_simple": "pick",
    "look_at_obj_in_light": "light",
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
    "pick_two_obj_and_place": "pick_two",
}
"""The column of the published table for each ALFWorld task type."""


@dataclass(frozen=True, slots=True)
class TrainedPlan:
    """A row of the ablation: the test success of plans with one kind of training, over the training seeds.

    `success` and `sd` (None with one seed) are shares. Costs are means in USD, or None if unknown.
    """

    environment: str
    task_type: str
    batch: int
    flaw: bool
    revision: bool
    seeds: int
    tasks: int
    success: float
    sd: float | None
    usd_training: float | None
    usd_inference_task: float | None


def compute_figures(session: Session, run: tables.Run) -> dict[str, Estimate]:
    """Compute the metrics of a run over its tasks, excluding open and carried-over trials."""
    by_task: dict[int, list[Trajectory]] = defaultdict(list)
    for task_id, record in _records(session, run):
        if record.outcome not in _OPEN and not record.carried_over:
            by_task[task_id].append(record)
    trials = [record for records in by_task.values() for record in records]
    last = [records[-1] for records in by_task.values()]
    return {
        "success_rate": estimate_percent(sum(one.outcome is Outcome.SUCCEEDED for one in last), len(last)),
        "actions_first_trial": estimate_mean([len(records[0].steps) for records in by_task.values()], what="task"),
        "actions_last_trial": estimate_mean([len(one.steps) for one in last], what="task"),
        "plan_revisions": estimate_mean([_count(one, "revisions") for one in trials], what="task"),
        "backtracks": estimate_mean([_count(one, "backtracks") for one in trials], what="task"),
    }


def sum_usage(records: Sequence[Trajectory]) -> dict[str, float | None]:
    """Sum the requests, tokens and USD over the steps of these trials; USD is None if a price is unknown."""
    found = [extra.get("usage") for one in records for extra in (*(step.extra for step in one.steps), one.extra)]
    return _sum_parts([usage for usage in found if isinstance(usage, Mapping)])


def _sum_parts(parts: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    counted = ("requests", "prompt_tokens", "completion_tokens")
    counts: dict[str, float | None] = {name: sum(int(part.get(name) or 0) for part in parts) for name in counted}
    costs = [float(part["cost_usd"]) for part in parts if part.get("cost_usd") is not None]
    return {**counts, "cost_usd": sum(costs) if costs and len(costs) == len(parts) else None}


def get_run_usage(session: Session, run: tables.Run) -> dict[str, float | None]:
    """Return the sums of requests, tokens and USD over all trials of a run."""
    return sum_usage([record for _, record in _records(session, run)])


def list_trained_plans(session: Session) -> list[TrainedPlan]:
    """List the test success of each kind of training, for the last version of each plan in runs of other tasks."""
    found: dict[tuple[Any, ...], list[tuple[float, int, float | None, float | None]]] = defaultdict(list)
    for plan, run in _tests(session):
        records = [record for _, record in _records(session, run) if record.trial == 0]
        if any(record.outcome in _OPEN for record in records):
            continue
        learnt = orjson.loads(plan.training)
        kind = (plan.environment, plan.task_type, learnt["batch"], learnt["flaw"], learnt["revision"])
        share = sum(record.outcome is Outcome.SUCCEEDED for record in records) / len(records)
        spent = sum_usage(records)["cost_usd"]
        each = None if spent is None else spent / len(records)
        found[kind].append((share, len(records), get_training_usage(session, plan)["cost_usd"], each))
    return [_trained(kind, rows) for kind, rows in sorted(found.items())]


def get_training_usage(session: Session, plan: tables.PlanVersion) -> dict[str, float | None]:
    """Return the usage of a plan's training up to this version: of its trials, reflections and updates."""
    before = select(tables.PlanVersion).where(
        tables.PlanVersion.name == plan.name,
        tables.PlanVersion.task_type == plan.task_type,
        tables.PlanVersion.version <= plan.version,
    )
    by_run = {(learnt := orjson.loads(one.training)).get("run"): learnt.get("usage") for one in session.exec(before)}
    parts = [found for found in by_run.values() if found]
    for name in by_run:
        if name and (run := session.exec(select(tables.Run).where(tables.Run.name == name)).first()):
            parts.append(get_run_usage(session, run))
    return _sum_parts(parts)


def build_overlay(own: Mapping[str, Estimate], metric: str) -> pd.DataFrame:
    """Return a metric of the run with Devil's Advocate's values for WebArena, in the shape of `published_overlay`."""
    rows = [_row("introspective", "here", own[metric], metric)]
    for printed in read_published_rows("devils_advocate_webarena.csv"):
        if printed.get(metric):
            rows.append(_row(printed["method"], "Devil's Advocate paper", Estimate(float(printed[metric])), metric))
    return pd.DataFrame(rows)


def build_autoplan_overlay(rows: Sequence[TrainedPlan], environment: str, task_type: str) -> pd.DataFrame:
    """Return the console's success (%) by batch size, with the AutoPlan paper's values for these tasks."""
    metric, found = "success", []
    for one in rows:
        if (one.environment, one.task_type, one.flaw, one.revision) == (environment, task_type, True, True):
            share = estimate_percent(round(one.success * one.tasks), one.tasks)
            found.append(_row(f"autoplan, batch {one.batch}", "here", share, metric))
    column = "accuracy" if environment == "hotpotqa" else TYPES.get(task_type, "")
    for printed in (
        read_published_rows(f"autoplan_{environment}.csv") if environment in ("alfworld", "hotpotqa") else ()
    ):
        if printed.get(column):
            found.append(_row(printed["method"], "AutoPlan paper", Estimate(float(printed[column])), metric))
    return pd.DataFrame(found).assign(metric="Success, %") if found else pd.DataFrame()


def estimate_percent(successes: int, n: int) -> Estimate:
    """Return a proportion in per cent with its interval."""
    found = estimate_proportion(successes, n)
    if found.value is None or found.interval is None:
        return found
    bounds = type(found.interval)(100 * found.interval.low, 100 * found.interval.high, found.interval.level)
    return Estimate(100 * found.value, bounds, n=n)


def _count(record: Trajectory, name: str) -> int:
    kept = record.steps[-1].extra.get(KEY, {}) if record.steps else {}
    return int(kept.get(name, 0))


def _records(session: Session, run: tables.Run) -> Iterator[tuple[int, Trajectory]]:
    row, body = tables.Trajectory, tables.TrajectoryBody
    statement = (
        select(row.task_id, body.body)
        .join(body, col(body.trajectory_id) == col(row.id))
        .where(row.run_id == run.id)
        .order_by(col(row.task_id), col(row.trial))
    )
    for task_id, text in session.exec(statement):
        yield task_id, from_json(text)


def _tests(session: Session) -> Iterator[tuple[tables.PlanVersion, tables.Run]]:
    """Yield the last learnt version of each plan with each run that uses this version for other tasks."""
    plan, ends = tables.PlanVersion, {}
    for one in session.exec(select(plan).where(plan.author == "autoplan").order_by(col(plan.version))):
        if one.version:
            ends[one.name, one.task_type] = one
    by_id = {one.id: one for one in ends.values()}
    for run in session.exec(select(tables.Run).order_by(col(tables.Run.id))):
        options = run_options(run)
        if len(options.plans) == 1 and not options.explores:
            (plan_id,) = options.plans.values()
            if plan_id in by_id:
                yield by_id[plan_id], run


def _trained(kind: tuple[Any, ...], rows: Sequence[tuple[float, int, float | None, float | None]]) -> TrainedPlan:
    shares, counts, training, inference = zip(*rows, strict=True)
    environment, task_type, batch, flaw, revision = kind
    return TrainedPlan(
        environment,
        task_type,
        batch,
        flaw,
        revision,
        seeds=len(rows),
        tasks=sum(counts),
        success=statistics.mean(shares),
        sd=statistics.stdev(shares) if len(shares) > 1 else None,
        usd_training=_average(training),
        usd_inference_task=_average(inference),
    )


def _average(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return statistics.mean(known) if len(known) == len(costs) else None


def _row(name: str, source: str, found: Estimate, metric: str) -> dict[str, Any]:
    low, high = found.bounds
    value = {"detector": name, "source": source, "value": found.value, "metric": FIGURES.get(metric, metric)}
    return value | {"low": low, "high": high}


def read_published_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a printed table from the file with that name."""
    text = files("console.trials.planning").joinpath("published", name).read_text("utf-8")
    return list(csv.DictReader(StringIO(text)))
