"""The gate's rows: its run, created if missing, its checks, their trajectories and intents.

Each function that takes a session is part of the caller's transaction.
"""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import orjson
from sqlalchemy import Integer, Select, and_, bindparam
from sqlalchemy import select as sa_select
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select, update

from console import runs
from console.auth import agents, audit_log
from console.auth.audit_log import By, Door, acting, current_origin
from console.auth.people import find_person
from console.database import now_ms, reading, writing
from console.detection import audit_draws
from console.detection.routing import flagged_item, list_late_items
from console.errors import BadInput, Refused
from console.gate.limits import refuse_run
from console.gate.policy import policy_store
from console.gate.policy.rules import UNDO_S
from console.gate.request import TOOL_HINTS, Asker, CheckRequest, Reason, Ruled
from console.review.access import OTHERS
from console.review.edits import TOOL_SCHEMA
from console.runs import run_options
from console.runs.trajectory_rows import Prepared, insert_row, intend, prepare, write
from console.trajectory import Outcome, Step, Trajectory, from_json
from console.trajectory.checkpoints import digest
from console.trials.store import UNKNOWN_EXECUTION, end_trial
from storage import tables
from storage.queue import statements as sql
from storage.queue.transaction import Transaction
from storage.tables import RunKind

FAILED = "detector_failed"
"""The parameter that marks a verdict whose detector failed."""

# Built once: on the way of every critical action, building a statement costs more than running it. The second asks for
# the id alone, since most actions are asked about once, and an entity that is not there costs as much as one that is.
_RUN_BY_NAME = select(tables.Run).where(col(tables.Run.name) == bindparam("name"))
_ASK_ID = sa_select(col(tables.Ask.id)).where(
    col(tables.Ask.run_id) == bindparam("run_id"), col(tables.Ask.digest) == bindparam("digest")
)
_log = logging.getLogger(__name__)

_JUDGE = "rules"
"""The detector of a run that an agent opens under a common policy."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The settings that a gate gives for its run."""

    name: str
    environment: str
    critical: tuple[str, ...]
    detector: str
    threshold: float | None
    budget_cap: int | None
    reviews_per_item: int
    undo_ms: int
    agent: str | None
    judged: tuple[str, ...] = ()
    """The patterns of the run's first policy, if no common policy exists; a person is asked about all other actions."""
    is_agents: bool = False
    """True if an agent over HTTP gave the settings; under a common policy, this agent cannot choose the detector."""

    @property
    def fields(self) -> dict[str, Any]:
        """The columns of the run that these settings fill."""
        return {
            "critical": orjson.dumps(list(self.critical)).decode(),
            "detector": self.detector,
            "threshold": self.threshold,
            "budget_cap": self.budget_cap,
            "reviews_per_item": self.reviews_per_item,
            "undo_ms": self.undo_ms,
        }


def load_run(session: Session, spec: RunSpec) -> tables.Run | None:
    """Return the stored run of that name, or None if there is none; raise Refused if the run is of another kind."""
    run = find_run(session, spec.name)
    if run is None:
        return None
    if run.kind != RunKind.GATE:
        raise Refused(f"Run {spec.name!r} is of kind {run.kind}. Choose another run name for the gate.")
    session.expunge(run)
    differing = [name for name, value in spec.fields.items() if getattr(run, name) != value]
    if differing:
        _warn_of_difference(run.name, run.created_ms, ", ".join(differing))
    return run


def open_run(url: str, spec: RunSpec) -> None:
    """Create the run if no run has its name; raise Refused if a run of another kind has it."""
    with reading(url) as session:
        run = load_run(session, spec)
    if run is None:
        create_run(url, spec)


def create_run(url: str, spec: RunSpec) -> None:
    """Create the run with its policy, unless another process creates it at the same moment."""
    agent = By(spec.agent or "agent", Door.PYTHON)
    # With PostgreSQL, another process can create the run between our look and our write.
    with suppress(IntegrityError), acting(current_origin() or agent), writing(url) as session:
        if load_run(session, spec) is None:
            _insert_run(session, spec)


def _insert_run(session: Session, spec: RunSpec) -> None:
    if spec.is_agents and spec.agent is not None:
        refuse_run(session, spec.agent, now_ms())
    run = runs.create(session, spec.name, RunKind.GATE, now_ms(), actor=spec.agent or "agent", **spec.fields)
    run.environment = spec.environment
    session.flush()
    if spec.is_agents:
        # An agent can neither shorten the time to undo nor, under a common policy, choose its judge.
        run.undo_ms = max(run.undo_ms, round(UNDO_S * 1_000))
        if policy_store.effective_version(session, run) is not None:
            run.detector, run.threshold = _JUDGE, None
        session.flush()
    policy_store.ensure_policy(session, run, now_ms(), spec.judged)


# Over HTTP each check brings its settings; one line a run in the log is enough. The time tells runs of one name apart.
@lru_cache(maxsize=256)
def _warn_of_difference(run: str, _created_ms: int, differing: str) -> None:
    _log.warning("Run %r was started with other settings (%s); the stored ones apply.", run, differing)


def find_run(session: Session, name: str) -> tables.Run | None:
    """Return the run of that name, or None if there is none."""
    found: tables.Run | None = session.execute(_RUN_BY_NAME, {"name": name}).scalars().first()
    return found


def latest_ask(session: Session, run: tables.Run, request: CheckRequest) -> tables.Ask | None:
    """Return the latest row of table `ask` with this request's digest, or None."""
    asked = {"run_id": run.id, "digest": request.digest}
    ask_id = session.connection().execute(_ASK_ID, asked).scalar()
    return None if ask_id is None else session.get(tables.Ask, ask_id)


def intent_of(session: Session, request: CheckRequest, trajectory_id: int) -> tables.Intent | None:
    """Return the intent to run this request's action, or None if the action was not allowed to run."""
    intent = tables.Intent
    statement = select(intent).where(intent.trajectory_id == trajectory_id, intent.step == request.step)
    return session.exec(statement).first()


def set_outcome(session: Session, run: tables.Run, trajectory_id: int, outcome: Outcome) -> None:
    """Set the outcome of a stored trajectory."""
    body = session.get_one(tables.TrajectoryBody, trajectory_id)
    write(session, trajectory_id, replace(from_json(body.body), outcome=outcome), runs.patterns(run))


def store_result(session: Session, run: tables.Run, intent: tables.Intent, observation: str, now_ms: int) -> None:
    """Store the result with the intent, and add it as the trajectory's next step if no later step exists."""
    intent.finished_ms, intent.result_digest = now_ms, digest(observation)
    session.add(intent)
    record = from_json(session.get_one(tables.TrajectoryBody, intent.trajectory_id).body)
    if len(record.steps) == intent.step:
        step = Step(action=intent.action, observation=observation, extra=_origin(session, intent))
        moved = replace(resume(record), steps=(*record.steps, step), critical_action=None, outcome=Outcome.RUNNING)
        write(session, intent.trajectory_id, moved, runs.patterns(run))


def mark_unreported(session: Session, run: tables.Run, intent_id: int, now_ms: int) -> None:
    """End the trajectory of an agent that repeats its request without a result; the result may still arrive."""
    intent = session.get_one(tables.Intent, intent_id)
    record = from_json(session.get_one(tables.TrajectoryBody, intent.trajectory_id).body)
    if intent.finished_ms is not None or record.outcome is Outcome.ERROR or len(record.steps) != intent.step:
        return
    write(session, intent.trajectory_id, end_trial(record, Outcome.ERROR, UNKNOWN_EXECUTION), runs.patterns(run))
    detail = {"trajectory_id": intent.trajectory_id, "intent_id": intent_id, "action": intent.action}
    audit_log.record(session, run, f"gate: {UNKNOWN_EXECUTION}", now_ms, by="gate", detail=detail)


def resume(record: Trajectory) -> Trajectory:
    """Return the trajectory without the mark of an unknown execution, because the agent continues the trajectory."""
    kept = {name: value for name, value in record.extra.items() if (name, value) != ("reason", UNKNOWN_EXECUTION)}
    return replace(record, extra=kept)


def _origin(session: Session, intent: tables.Intent) -> dict[str, object]:
    if intent.decision_id is None:
        return {}
    edited = select(tables.Decision.edited_action).where(tables.Decision.id == intent.decision_id)
    asked = from_json(session.get_one(tables.TrajectoryBody, intent.trajectory_id).body).critical_action
    instead = {"instead_of": asked} if session.exec(edited).first() else {}
    return {"decision_id": intent.decision_id, **instead}


def store_request(
    session: Session,
    run: tables.Run,
    request: CheckRequest,
    verdict: dict[str, Any],
    ruled: Ruled,
    deadline_ms: int,
    now_ms: int,
    *,
    beats: bool = False,
) -> dict[str, Any]:
    """Store the request with its verdict, and its item if a person has to decide; return the row of table `ask`.

    Raise IntegrityError if the request is stored already.
    """
    asks = ruled.asks(verdict)
    trajectory_id = _store_asked(session, run, request, Outcome.PAUSED if asks else Outcome.RUNNING, now_ms)
    row = verdict | {"trajectory_id": trajectory_id}
    connection = session.connection()
    row["id"] = insert_row(connection, "verdict", row)
    if ruled.audited:
        draw = audit_draws.build_draw(run, run_options(run), tables.Verdict(**row), ruled.number, now_ms)
        if draw is not None:
            audit_draws.store_draw(session, draw)
    asked: dict[str, Any] = {
        "run_id": run.id,
        "digest": request.digest,
        "trajectory_id": trajectory_id,
        "item_id": _enqueue(session, run, request, tables.Verdict(**row), ruled, now_ms) if asks else None,
        "asked_ms": now_ms,
        "heartbeat_ms": now_ms,
        "deadline_ms": deadline_ms,
        "answer": None if asks else Reason.NOT_FLAGGED.value,
        "answered_ms": None if asks else now_ms,
        "beats": beats,
        "action": None if asks else request.action,
        **_asker_columns(request),
        **ruled.columns,
    }
    return asked | {"id": insert_row(connection, "ask", asked)}


def store_answered(
    session: Session, run: tables.Run, request: CheckRequest, ruled: Ruled, answer: Reason, now_ms: int
) -> None:
    """Store a request that the policy decides without a person; raise IntegrityError if it is stored already."""
    outcome = Outcome.REJECTED if answer is Reason.DENIED else Outcome.RUNNING
    asked: dict[str, Any] = {
        "run_id": run.id,
        "digest": request.digest,
        "trajectory_id": _store_asked(session, run, request, outcome, now_ms),
        "answer": answer.value,
        **dict.fromkeys(("asked_ms", "heartbeat_ms", "answered_ms"), now_ms),
        "beats": False,
        **_asker_columns(request),
        **ruled.columns,
    }
    insert_row(session.connection(), "ask", asked)


def _asker_columns(request: CheckRequest) -> dict[str, Any]:
    """Return the columns of table `ask` for the agent, the step and the token."""
    asker = request.asker
    return {"token": secrets.token_hex(16), "step": request.step, "agent_id": asker.agent_id, "asker": asker.name}


def _store_asked(session: Session, run: tables.Run, request: CheckRequest, outcome: Outcome, now_ms: int) -> int:
    if request.follows is not None:
        ask = tables.Ask
        session.execute(update(ask).where(col(ask.id) == request.follows).values(digest=request.own_digest))
    return _store_trajectory(session, run, request, replace(request.record, outcome=outcome), now_ms)


def _enqueue(
    session: Session, run: tables.Run, request: CheckRequest, verdict: tables.Verdict, ruled: Ruled, now_ms: int
) -> int:
    if FAILED in verdict.parameters:
        detail = {"trajectory_id": verdict.trajectory_id, "reason": verdict.rationale}
        audit_log.record(session, run, "detector failed", now_ms, by="gate", detail=detail)
    item = flagged_item(run, run_options(run), request.record.trial, verdict, lambda: request.checkpoint, now_ms)
    item = replace(item, reviews_required=ruled.reviews(run))
    if ruled.is_audit and not verdict.flagged:
        item = audit_draws.place_live_audit(item, verdict.threshold, ruled.number, ruled.audited)
    Transaction.joined(session).run_many(sql.PUT, [vars(item)])
    at = select(tables.Item.id).where(
        tables.Item.trajectory_id == item.trajectory_id, tables.Item.step == item.step, tables.Item.kind == item.kind
    )
    item_id = session.exec(at).one() or 0
    leaves_out = OTHERS in (ruled.ruling.who or ())
    terms = ruled.terms(now_ms, find_person_asking(session, request.asker) if leaves_out else "")
    session.execute(update(tables.Item).where(col(tables.Item.id) == item_id).values(terms=terms))
    return item_id


def begin_action(
    session: Session, run: tables.Run, place: tuple[int, int], action: str, decision_id: int | None, now_ms: int
) -> int:
    """Store the intent to run the action at its trajectory and step; queue its audit if it is audited after it ran.

    Return the intent's id.
    """
    intent_id = intend(session, *place, action, decision_id, now_ms)
    options = run_options(run)
    if options.audits_after and decision_id is None:
        late = list_late_items(session, run, options, now_ms, place[0])
        Transaction.joined(session).run_many(sql.PUT, [vars(item) for item in late])
    return intent_id


def find_person_asking(session: Session, asker: Asker) -> str:
    """Return the person for whom the agent asks: its owner, or in process the person of its name; "" if unknown."""
    if asker.agent_id is not None:
        return agents.owner_of(session, asker.agent_id)
    with suppress(BadInput):
        person = find_person(session, asker.name)
        return "" if person is None else person.name
    return ""


def _store_trajectory(session: Session, run: tables.Run, request: CheckRequest, asked: Trajectory, now_ms: int) -> int:
    """Extend the trial's latest trajectory, or store a new trajectory if the steps differ; return its id."""
    task_id, trajectory_id, body = _latest_of_trial(session, run, asked, request.asker.agent_id)
    if trajectory_id is not None:
        before = from_json(body)
        if _continues(session, trajectory_id, before, asked):
            steps = before.steps + asked.steps[len(before.steps) :]
            # The schema and hints are those of the previous pending action.
            gone = (TOOL_SCHEMA, TOOL_HINTS)
            kept = {name: value for name, value in resume(before).extra.items() if name not in gone}
            extra = kept | dict(asked.extra)
            grown = replace(
                before, steps=steps, critical_action=asked.critical_action, outcome=asked.outcome, extra=extra
            )
            write(session, trajectory_id, grown, runs.patterns(run))
            return trajectory_id
    return _inserted(session, run, task_id, prepare(asked, runs.patterns(run)), request.own_digest, now_ms)


def _inserted(session: Session, run: tables.Run, task_id: int | None, ready: Prepared, digest: str, now_ms: int) -> int:
    connection = session.connection()
    if task_id is None:
        task_id = insert_row(connection, "task", {**ready.task, "run_id": run.id})
    row = {**ready.row, "run_id": run.id, "task_id": task_id, "digest": digest, "created_ms": now_ms}
    trajectory_id = insert_row(connection, "trajectory", row)
    insert_row(connection, "trajectory_body", {"trajectory_id": trajectory_id, "body": ready.body})
    return trajectory_id


def _latest_of_trial(
    session: Session, run: tables.Run, asked: Trajectory, agent_id: int | None
) -> tuple[int | None, int | None, str]:
    """Return (task id, trajectory id, body) of the agent's latest trajectory in the trial; missing ids are None."""
    trial = {"run_id": run.id, "task": asked.task_id, "instruction": asked.instruction, "trial": asked.trial}
    trial["agent_id"] = agent_id
    found = session.connection().execute(_latest_trajectory(), trial).first()
    return (None, None, "") if found is None else (found[0], found[1], found[2])


@cache
def _latest_trajectory() -> Select[Any]:
    names = ("trajectory", "task", "trajectory_body", "ask")
    record, task, body, ask = (tables.Table.metadata.tables[name].c for name in names)
    own = ask.agent_id.is_not_distinct_from(bindparam("agent_id", type_=Integer))
    is_own = sa_select(ask.id).where(ask.trajectory_id == record.id, own).correlate(record.id.table).exists()
    tried = and_(record.task_id == task.id, record.trial == bindparam("trial"), is_own)
    return (
        sa_select(task.id, record.id, body.body)
        .select_from(task.id.table)
        .join(record.id.table, tried, isouter=True)
        .join(body.body.table, body.trajectory_id == record.id, isouter=True)
        .where(task.run_id == bindparam("run_id"), task.task_key == bindparam("task"))
        .where(task.instruction == bindparam("instruction"))
        .order_by(record.id.desc())
        .limit(1)
    )


def _continues(session: Session, trajectory_id: int, before: Trajectory, asked: Trajectory) -> bool:
    """Return whether the steps continue the stored steps, so that no step that a reviewer has seen changes."""
    held = len(before.steps)
    if len(asked.steps) < held or not all(map(_same, before.steps, asked.steps)):
        return False
    if before.critical_action is None:
        return True
    if len(asked.steps) == held:
        return False
    intent = tables.Intent
    ran = session.exec(select(intent.action).where(intent.trajectory_id == trajectory_id, intent.step == held)).first()
    return asked.steps[held].action in (before.critical_action, ran)


def _same(ours: Step, theirs: Step) -> bool:
    return (ours.thought, ours.action, ours.observation) == (theirs.thought, theirs.action, theirs.observation)
