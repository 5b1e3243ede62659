"""Plan training: batches of trials by the present plan, reflection on each, and one update a batch (AutoPlan).

Each batch is a live run of its own, so that its critical actions wait at the gate and reviewers' words enter the batch.
What is done is in the database: stopped at any point, the training goes on when called again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any

import orjson
from sqlmodel import Session, select

from console import runs
from console.actors import ActorView, actor
from console.actors.asking import ModelUsage, chosen_model
from console.actors.autoplan.reflection import (
    Ablation,
    EndedTrial,
    Experience,
    PlanLine,
    ReviewersWords,
    reflect,
    update,
)
from console.database import now_ms, reading, writing
from console.environments.environment import TaskSpec
from console.errors import BadInput
from console.llm import LLM
from console.review.resolution import current_answers, is_feedback
from console.runs.options import RunOptions
from console.trajectory import Outcome
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from console.trials import engine, start, store
from console.trials.pending import latest
from console.trials.planning import versions
from console.trials.planning.task_draw import content, draw
from console.trials.start import ActorAndEnvironments
from storage import tables

_OPEN = (Outcome.RUNNING, Outcome.PAUSED)


@dataclass(frozen=True, slots=True)
class Training:
    """How a plan is learnt: `pool` tasks to draw batches of `batch` from, `iterations` of them (papers: 24, 4, 6).

    `feedback` is none, or nl where flagged trials of a batch wait for reviewers.
    """

    environment: str
    task_type: str = ""
    batch: int = 4
    iterations: int = 6
    pool: int = 24
    seed: int = 0
    flaw: bool = True
    revision: bool = True
    feedback: str = "none"
    detector: str = "rules"

    def check(self) -> None:
        """Raises BadInput where it cannot be done."""
        if min(self.batch, self.iterations) < 1 or self.pool < self.batch:
            raise BadInput("A training needs a batch and iterations of at least 1, and a pool as large as a batch.")
        if self.feedback not in ("none", "nl"):
            raise BadInput(f"Feedback of a training is none or nl, not {self.feedback!r}.")


@dataclass(slots=True)
class TrainingReport:
    """How far a training came: the latest version, and the batch whose trials are not over, with how many."""

    name: str
    version: int = 0
    waits_at: str | None = None
    waiting: int = 0
    problems: list[str] = field(default_factory=list)


def train(
    name: str,
    training: Training,
    *,
    actor_and_environments: ActorAndEnvironments | None = None,
    llm: LLM | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TrainingReport:
    """Learns the plan, or goes on learning it; returns early where a batch waits for reviewers or a model fails.

    Raises BadInput, Unknown, and Refused for a plan of that name that is learnt otherwise.
    """
    training.check()
    players = actor_and_environments or ActorAndEnvironments(actor("autoplan"))
    report = TrainingReport(name)
    types = (training.task_type,) if training.task_type else ()
    pool = draw(players.environment(training.environment), training.seed, training.pool, types=types)
    plan = _begun(name, training, pool)
    while (done := _iterations(plan)) < training.iterations:
        run = _batch_run(plan, training, pool, done, players)
        if not _ended(run, report, players):
            break
        plan = _improved(plan, training, run, llm or chosen_model(), players)
        if progress:
            progress(done + 1, training.iterations)
    report.version = plan.version
    return report


def _begun(name: str, training: Training, pool: Sequence[TaskSpec]) -> tables.PlanVersion:
    """The plan's latest version, its empty first one where there is none yet."""
    wanted = {**asdict(training), "tasks": [content(task) for task in pool]}
    with writing() as session:
        if (name, training.task_type) in versions.plans(session):
            plan = versions.versions(session, name, training.task_type)[-1]
            _refuse_other(plan, wanted)
        else:
            first = {**wanted, "iteration": 0}
            plan = versions.begin(session, name, training.environment, training.task_type, first, now_ms())
        session.expunge(plan)
    return plan


def _refuse_other(plan: tables.PlanVersion, wanted: Mapping[str, Any]) -> None:
    known = orjson.loads(plan.training)
    differs = [name for name in wanted if name not in ("iterations",) and known.get(name) != wanted[name]]
    if differs:
        raise BadInput(
            f"The plan {plan.name!r} is learnt with another {' and '.join(differs)}; "
            "go on as it was begun, or give the new one a name of its own."
        )


def _iterations(plan: tables.PlanVersion) -> int:
    return int(orjson.loads(plan.training).get("iteration", 0))


def batch_tasks(training: Training, pool: Sequence[TaskSpec], iteration: int) -> list[TaskSpec]:
    """The tasks of that batch (from 0): the pool in an order of its own each time that it is gone through."""
    drawn: list[TaskSpec] = []
    turn = 0
    while len(drawn) < training.batch * (iteration + 1):
        again = list(pool)
        Random(f"{training.seed} {turn}").shuffle(again)
        # A task stands in a batch once, so the last of a turn that do not fill one are left out.
        drawn += again[: len(again) - len(again) % training.batch]
        turn += 1
    return drawn[training.batch * iteration : training.batch * (iteration + 1)]


def _batch_run(
    plan: tables.PlanVersion,
    training: Training,
    pool: Sequence[TaskSpec],
    iteration: int,
    players: ActorAndEnvironments,
) -> tables.Run:
    name = " ".join(filter(None, [plan.name, plan.task_type, f"batch {iteration}"]))
    with writing() as session:
        run = runs.find(session, name)
        if run is None:
            options = RunOptions(plans={training.task_type: plan.id or 0}, explores=True).to_json()
            run = start.begin(
                session,
                name,
                batch_tasks(training, pool, iteration),
                actor_and_environments=players,
                detector_name=training.detector,
                feedback_mode=training.feedback,
                seed=training.seed * 1_000 + iteration,
                undo_ms=0,
                options=options,
            )
        session.flush()
        session.expunge(run)
    return run


def _ended(run: tables.Run, report: TrainingReport, players: ActorAndEnvironments) -> bool:
    """Plays the batch on; False where a trial of it is still open."""
    done = engine.advance(run.name, actor_and_environments=players)
    with reading() as session:
        still_open = sum(row.outcome in _OPEN for row in latest(session, run))
    report.problems += done.problems
    if still_open:
        report.waits_at, report.waiting = run.name, still_open
    return not still_open


def _improved(
    plan: tables.PlanVersion, training: Training, run: tables.Run, llm: LLM, players: ActorAndEnvironments
) -> tables.PlanVersion:
    with reading() as session:
        ended, tasks = _batch(session, run, players)
    usage = ModelUsage()
    lines = asyncio.run(_reflected(plan, training, ended, llm, usage))
    learnt_by = {
        **orjson.loads(plan.training),
        "iteration": _iterations(plan) + 1,
        "run": run.name,
        "usage": usage.as_dict(),
    }
    with writing() as session:
        added = versions.learnt(session, plan, lines, tasks, learnt_by, now_ms())
        session.expunge(added)
    return added


async def _reflected(
    plan: tables.PlanVersion, training: Training, ended: Sequence[EndedTrial], llm: LLM, usage: ModelUsage
) -> list[PlanLine]:
    ablation = Ablation(training.flaw, training.revision)
    experiences: list[Experience] = []
    for one in ended:
        experiences.append(await reflect(llm, one, ablation, usage))
    return await update(llm, plan.environment, plan.text, experiences, usage)


def _batch(session: Session, run: tables.Run, players: ActorAndEnvironments) -> tuple[list[EndedTrial], dict[str, str]]:
    """(the trials of the batch, what each mark stands for: the key of a task, and that of a decision's task)."""
    ended: list[EndedTrial] = []
    tasks: dict[str, str] = {}
    (plan,) = versions.texts_of(session, run).values()
    trials = store.load(session, [row.id or 0 for row in latest(session, run)])
    for number, trial in enumerate(trials, start=1):
        said = _reviewers(session, trial)
        one = _ended_trial(f"E{number}", trial, plan, players)
        ended.append(replace(one, reviewers=said))
        tasks |= {one.mark: trial.task.task_id} | {words.mark: trial.task.task_id for words in said}
    return ended, tasks


def _ended_trial(mark: str, trial: store.Trial, plan: str, players: ActorAndEnvironments) -> EndedTrial:
    record, gold = trial.record, trial.task.gold
    view = ActorView(
        record.environment,
        record.instruction,
        record.opening,
        record.steps,
        surroundings=players.environment(record.environment),
        plan=plan,
        explores=True,
    )
    if record.environment != "hotpotqa":
        return EndedTrial(mark, view, record.outcome is Outcome.SUCCEEDED)
    titles = dict.fromkeys(fact["title"] for fact in gold.get("supporting_facts", ()))
    success = record.outcome is Outcome.SUCCEEDED
    return EndedTrial(mark, view, success, str(gold.get("answer", "")), ", ".join(titles))


def _reviewers(session: Session, trial: store.Trial) -> tuple[ReviewersWords, ...]:
    """What the decisions on a trial say against it, each once."""
    item, found = tables.Item, []
    for reviewed in session.exec(select(item).where(item.trajectory_id == trial.id)):
        seen = checkpoint_at(trial.record, reviewed.step, CheckpointKind(reviewed.kind))
        for answer in current_answers(session, reviewed.id):
            if is_feedback(answer, reviewed.kind):
                found.append(_words(answer, seen.action, trial))
    return tuple(found)


def _words(answer: tables.Decision, action: str, trial: store.Trial) -> ReviewersWords:
    if answer.edited_action:
        taken = next((s for s in trial.record.steps if s.extra.get("decision_id") == answer.id), None)
        action = str(taken.extra.get("instead_of", action)) if taken else action
    flaw = answer.feedback_text.strip() or f"{action or 'what was done'} was not right."
    revision = f"Instead of {action}, do {answer.edited_action}." if answer.edited_action else ""
    return ReviewersWords(f"R{answer.id}", flaw, revision)
