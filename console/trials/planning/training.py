"""Plan training: batches of trials with the current plan, reflection on each, and one update per batch (AutoPlan).

Each batch is a live run, so that reviewers decide on its critical actions and the update uses their feedback. A later
call continues an interrupted training.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random

import orjson
from sqlmodel import Session, select

from console import runs
from console.actors import ActorView, actor, autoplan
from console.actors.replies import connect_chosen_model
from console.database import now_ms, reading, writing
from console.environments.environment import TaskSpec
from console.errors import BadInput
from console.llm import LLM, ModelUsage
from console.review.resolution import feedback_to_agent, is_feedback, list_current_decisions
from console.runs import RunOptions, run_options
from console.trajectory import Outcome
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from console.trials import engine, start, store
from console.trials.planning import versions
from console.trials.start import ActorAndEnvironments, draw_tasks, task_digest
from console.trials.store import list_latest_trials
from storage import tables

_OPEN = (Outcome.RUNNING, Outcome.PAUSED)


@dataclass(frozen=True, slots=True)
class Training:
    """The training of a plan: `iterations` batches of `batch` tasks from a pool of `pool` tasks (papers: 6, 4, 24).

    `feedback` is none, or nl if reviewers decide on the flagged actions of a batch. With `fine_errors`, ALFWorld gives
    the reason why an action had no effect (the fine-grained errors of the paper).
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
    fine_errors: bool = False

    def check(self) -> None:
        """Raise BadInput if an option of the training is invalid."""
        if min(self.batch, self.iterations) < 1 or self.pool < self.batch:
            raise BadInput("Give --batch and --iterations of at least 1, and --pool of at least --batch.")
        if self.feedback not in ("none", "nl"):
            raise BadInput(f"--feedback {self.feedback!r} is invalid for a training. Use none or nl.")
        if self.fine_errors and self.environment != "alfworld":
            raise BadInput("Only ALFWorld has fine errors. Leave out --fine-errors, or use --env alfworld.")


@dataclass(slots=True)
class TrainingReport:
    """The progress of a training: the latest version, and the batch with open trials, with their number."""

    name: str
    version: int = 0
    waits_at: str | None = None
    waiting: int = 0
    problems: list[str] = field(default_factory=list)


def train_plan(
    name: str,
    training: Training,
    *,
    actor_and_environments: ActorAndEnvironments | None = None,
    llm: LLM | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TrainingReport:
    """Train the plan, or continue its training; return early if a batch is pending a review or a model fails.

    Raise BadInput if the options are invalid or differ from the plan's stored options; raise the errors of `advance`.
    """
    training.check()
    players = actor_and_environments or ActorAndEnvironments(actor("autoplan"))
    report = TrainingReport(name)
    types = (training.task_type,) if training.task_type else ()
    pool = draw_tasks(players.environment(training.environment), training.seed, training.pool, types=types)
    plan = _latest_or_first(name, training, pool)
    while (done := _iterations(plan)) < training.iterations:
        run = _batch_run(plan, training, pool, done, players)
        if not _continue_batch(run, report, players):
            break
        plan = _improved(plan, training, run, llm or connect_chosen_model(), players)
        if progress:
            progress(done + 1, training.iterations)
    report.version = plan.version
    return report


def _latest_or_first(name: str, training: Training, pool: Sequence[TaskSpec]) -> tables.PlanVersion:
    """Return the plan's latest version; if the plan is new, add its empty first version."""
    wanted = {**asdict(training), "tasks": [task_digest(task) for task in pool]}
    with writing() as session:
        if (name, training.task_type) in versions.list_plans(session):
            plan = versions.list_versions(session, name, training.task_type)[-1]
            known = orjson.loads(plan.training)
            if differs := [name for name in wanted if name != "iterations" and known.get(name, False) != wanted[name]]:
                raise BadInput(
                    f"The plan {plan.name!r} was started with a different {' and '.join(differs)}. "
                    "Use the same options to continue it, or choose another name for a new plan."
                )
        else:
            first = {**wanted, "iteration": 0}
            plan = versions.add_first_version(session, name, training.environment, training.task_type, first, now_ms())
        session.expunge(plan)
    return plan


def _iterations(plan: tables.PlanVersion) -> int:
    return int(orjson.loads(plan.training).get("iteration", 0))


def batch_tasks(training: Training, pool: Sequence[TaskSpec], iteration: int) -> list[TaskSpec]:
    """Return the tasks of this batch, counted from 0; a used-up pool is shuffled again."""
    drawn: list[TaskSpec] = []
    turn = 0
    while len(drawn) < training.batch * (iteration + 1):
        again = list(pool)
        Random(f"{training.seed} {turn}").shuffle(again)
        # A batch holds a task once, so the last tasks that do not fill a batch are left out.
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
            run = start.add_run(
                session,
                name,
                [_played(task, training) for task in batch_tasks(training, pool, iteration)],
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


def _played(task: TaskSpec, training: Training) -> TaskSpec:
    return replace(task, options={**task.options, "errors": "fine"}) if training.fine_errors else task


def _continue_batch(run: tables.Run, report: TrainingReport, players: ActorAndEnvironments) -> bool:
    """Continue the batch; return whether all of its trials have ended."""
    done = engine.advance(run.name, actor_and_environments=players)
    with reading() as session:
        still_open = sum(row.outcome in _OPEN for row in list_latest_trials(session, run))
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
    now = {"iteration": _iterations(plan) + 1, "run": run.name, "usage": asdict(usage), versions.KEPT: lines is None}
    if lines is None:
        lines = [autoplan.PlanLine(one.line) for one in versions.list_line_origins(plan)]
    learnt_by = orjson.loads(plan.training) | now
    with writing() as session:
        added = versions.add_learnt_version(session, plan, lines, tasks, learnt_by, now_ms())
        session.expunge(added)
    return added


async def _reflected(
    plan: tables.PlanVersion, training: Training, ended: Sequence[autoplan.EndedTrial], llm: LLM, usage: ModelUsage
) -> list[autoplan.PlanLine] | None:
    ablation = autoplan.Ablation(training.flaw, training.revision)
    experiences = [await autoplan.reflect(llm, one, ablation, usage) for one in ended]
    return await autoplan.update_plan(llm, plan.environment, plan.text, experiences, usage)


def _batch(
    session: Session, run: tables.Run, players: ActorAndEnvironments
) -> tuple[list[autoplan.EndedTrial], dict[str, str]]:
    ended: list[autoplan.EndedTrial] = []
    tasks: dict[str, str] = {}
    (plan,) = versions.get_plan_texts(session, run_options(run)).values()
    trials = store.load_trials(session, [row.id or 0 for row in list_latest_trials(session, run)])
    for number, trial in enumerate(trials, start=1):
        said = _reviewers(session, trial)
        one = _ended_trial(f"E{number}", trial, plan, players)
        ended.append(replace(one, reviewers=said))
        tasks |= {one.mark: trial.task.task_id} | {words.mark: trial.task.task_id for words in said}
    return ended, tasks


def _ended_trial(mark: str, trial: store.Trial, plan: str, players: ActorAndEnvironments) -> autoplan.EndedTrial:
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
    success = record.outcome is Outcome.SUCCEEDED
    if record.environment != "hotpotqa":
        return autoplan.EndedTrial(mark, view, success)
    titles = dict.fromkeys(fact["title"] for fact in gold.get("supporting_facts", ()))
    return autoplan.EndedTrial(mark, view, success, str(gold.get("answer", "")), ", ".join(titles))


def _reviewers(session: Session, trial: store.Trial) -> tuple[autoplan.ReviewersWords, ...]:
    item, found = tables.Item, []
    for reviewed in session.exec(select(item).where(item.trajectory_id == trial.id)):
        seen = checkpoint_at(trial.record, reviewed.step, CheckpointKind(reviewed.kind))
        for answer in list_current_decisions(session, reviewed.id):
            if is_feedback(answer, reviewed.kind):
                found.append(_read_feedback(answer, seen.action, trial))
    return tuple(found)


def _read_feedback(answer: tables.Decision, action: str, trial: store.Trial) -> autoplan.ReviewersWords:
    """Return the reviewer's feedback and the rejected action; if the reviewer edited the action, also a revision."""
    mark, said = f"R{answer.id}", feedback_to_agent(answer)
    if not answer.edited_action:
        return autoplan.ReviewersWords(mark, said, rejected=action)
    taken = next((s for s in trial.record.steps if s.extra.get("decision_id") == answer.id), None)
    action = str(taken.extra.get("instead_of", action)) if taken else action
    return autoplan.ReviewersWords(mark, said, f"Instead of {action}, do {answer.edited_action}.", action)
