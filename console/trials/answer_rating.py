"""Ratings of free-text answers: each answer is rated by three annotators, and their majority counts (AutoPlan).

A rating is a run on the usual queue with one item per answer. The item shows the reference answer: approved means
correct, rejected means incorrect, and feedback is the comment. No agent receives the ratings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlmodel import Session, col, select

from console import runs
from console.database import now_ms, review_queue, writing
from console.environments import ENVIRONMENTS
from console.environments.environment import TaskSpec
from console.errors import BadInput, Refused
from console.runs import RunOptions, current_decisions, run_options
from console.runs.trajectory_rows import task_spec
from console.trajectory import Label, Outcome, Step, Trajectory, from_json
from console.trajectory.checkpoints import CheckpointKind
from console.trials.start import insert_tasks, insert_trials
from console.trials.store import list_latest_trials
from storage import tables
from storage.queue import NewItem
from storage.tables import DecisionKind, RunKind

if TYPE_CHECKING:
    from console.analysis.statistics.estimates import Estimate

ANNOTATORS = 3
"""The number of annotators in AutoPlan."""


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """One answer with its ratings; `majority` is None until more than half of all annotators agree."""

    task_id: str
    question: str
    answer: str
    correct: int
    incorrect: int
    majority: Label | None
    comments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ratings:
    """All answers of a rating, the share of correct answers among all answers with a majority, and the agreement."""

    answers: tuple[RatedAnswer, ...]
    accuracy: float | None
    agreement: dict[str, Estimate]


def start_rating(name: str, source: str, annotators: int = ANNOTATORS) -> int:
    """Queue the last answer of every task of a run in a new run; return their number.

    Raise BadInput if `annotators` is below 1, and Refused if the run has no answers.
    """
    if annotators < 1:
        raise BadInput("--annotators is less than 1. Give at least one annotator per answer.")
    with writing() as session:
        found = list(_answered(session, runs.get(session, source)))
        if not found:
            raise Refused(f"Run {source!r} has no trial that ended with an answer. Choose a run with answers to rate.")
        run = _rating_run(session, name, source, annotators, found)
        ids = insert_tasks(session, run, [task for task, _ in found])
        items = [
            Trajectory(one.task_id, one.environment, one.instruction, (Step(action=answer),), outcome=Outcome.FINISHED)
            for one, answer in found
        ]
        records = list(zip(ids, items, strict=True))
        trials = insert_trials(session, run, records, now_ms())
        run_id = run.id or 0
    queue, at_ms = review_queue(), now_ms()
    queue.open_budgets(run_id, [0], None)
    return queue.put(
        [NewItem(run_id, 0, id, 0, str(CheckpointKind.END), 0.0, annotators, None, at_ms) for id in trials]
    )


def get_ratings(session: Session, run: tables.Run) -> Ratings:
    """Return the ratings so far; raise Refused if the run is not a rating."""
    if not run_options(run).rates_answers:
        raise Refused(f"Run {run.name!r} is not a rating. Start a rating under another name: inferact review answers.")
    given = _given(session, run)
    answers = tuple(_rated(record, rows, run.reviews_per_item) for record, rows in given)
    decided = [one.majority for one in answers if one.majority]
    labels = [
        {"unit": record.task_id, "rater": row.reviewer, "label": row.label} for record, rows in given for row in rows
    ]
    import pandas as pd  # slow to load, and few commands need it

    from console.analysis.statistics.reviewer_agreement import estimate_agreement

    shares = estimate_agreement(pd.DataFrame(labels, columns=["unit", "rater", "label"]))
    accuracy = sum(one is Label.ALIGNED for one in decided) / len(decided) if decided else None
    return Ratings(answers, accuracy, {name: shares[name] for name in ("percent", "fleiss", "alpha")})


def _rating_run(
    session: Session, name: str, source: str, annotators: int, found: Sequence[tuple[TaskSpec, str]]
) -> tables.Run:
    options = RunOptions(view={"brief": "target", "highlights": "hidden"}, rates_answers=True).to_json()
    fields = {"reviews_per_item": annotators, "blind": True, "options": options, "detector": "full-validation"}
    run = runs.create(session, name, RunKind.ARCHIVE, now_ms(), actor=f"answers of {source}", **fields)
    run.environment = ",".join(dict.fromkeys(task.environment for task, _ in found))
    return run


def _answered(session: Session, run: tables.Run) -> Iterator[tuple[TaskSpec, str]]:
    for row in list_latest_trials(session, run):
        record = from_json(session.get_one(tables.TrajectoryBody, row.id).body)
        answer = final_answer(record)
        if answer and record.outcome not in (Outcome.RUNNING, Outcome.PAUSED):
            task = task_spec(session.get_one(tables.Task, row.task_id))
            yield replace(task, gold={**record.gold, **task.gold}), answer


def final_answer(record: Trajectory) -> str | None:
    """Return the final answer of a trial, from its Actor or from the answer action of its environment."""
    if isinstance(said := record.extra.get("answer"), str):
        return said.strip() or None
    before, slot, after = ENVIRONMENTS[record.environment].answering.partition("{answer}")
    action = record.steps[-1].action.strip() if record.steps else ""
    if not slot or not (action.startswith(before) and action.endswith(after)):
        return None
    return action[len(before) : len(action) - len(after)].strip() or None


def _given(session: Session, run: tables.Run) -> list[tuple[Trajectory, list[tables.Decision]]]:
    decision, item, body = tables.Decision, tables.Item, tables.TrajectoryBody
    statement = select(item.id, body.body).join(body, col(body.trajectory_id) == col(item.trajectory_id))
    records = {id: from_json(text) for id, text in session.exec(statement.where(item.run_id == run.id))}
    rows: dict[int, list[tables.Decision]] = {id: [] for id in records if id is not None}
    for row in session.exec(current_decisions().where(col(decision.item_id).in_(list(rows)))):
        if row.decision != DecisionKind.ESCALATE and row.label:
            rows[row.item_id].append(row)
    return [(records[id], found) for id, found in rows.items()]


def _rated(record: Trajectory, rows: Sequence[tables.Decision], annotators: int) -> RatedAnswer:
    correct = sum(row.label == Label.ALIGNED for row in rows)
    incorrect = len(rows) - correct
    won = Label.ALIGNED if correct > incorrect else Label.MISALIGNED
    majority = won if 2 * max(correct, incorrect) > annotators else None
    comments = tuple(row.feedback_text for row in rows if row.feedback_text)
    return RatedAnswer(
        record.task_id, record.instruction, record.steps[0].action, correct, incorrect, majority, comments
    )
