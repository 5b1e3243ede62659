"""The critical action of a row's own checkpoint, which is not always the one that its trajectory is listed with.

Decisions in long form: one row for each revision of each reviewer's answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import compress
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import null, select
from sqlmodel import Session

from console.runs.export.formats import Page
from console.runs.export.query import (
    CONDITION,
    PARTICIPANT,
    RUN_NAME,
    STUDY,
    Amend,
    ExportColumn,
    ExportQuery,
    integer,
    number,
    text,
    time,
    truth,
)
from console.trajectory import from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at, digest
from storage.tables import DecisionKind, Table

_AT_ONCE = 50

_body = Table.metadata.tables["trajectory_body"]


class CheckpointKey(NamedTuple):
    """Where a checkpoint is."""

    trajectory_id: int
    step: int
    kind: CheckpointKind


def checkpoint_of(table: Any, action_digest: Any = None) -> tuple[Any, ...]:
    """What `with_actions` needs at the end of a row: the checkpoint, the steps there are, the digest where known."""
    steps = Table.metadata.tables["trajectory"].c.n_steps
    known = null() if action_digest is None else action_digest
    return table.c.trajectory_id, table.c.step, table.c.kind, steps, known


def with_actions(cells: Sequence[ExportColumn]) -> Callable[[], Amend]:
    """Puts the action of the row's checkpoint in the place of the trajectory's in column `critical_action`."""
    place = [cell.column.name for cell in cells].index("critical_action")

    spot = itemgetter(place, -4, -3, -2, -1)

    def amend(session: Session, page: Page) -> Page:
        certain = {seen: _is_certain(*seen) for seen in set(map(spot, page))}
        if all(certain.values()):
            return page
        unsure = [not certain[spot(row)] for row in page]
        actions = _look_up(session, {CheckpointKey(*row[-5:-2]) for row in compress(page, unsure)})
        return [
            (*row[:place], actions.get(CheckpointKey(*row[-5:-2])), *row[place + 1 :]) if doubt else row
            for row, doubt in zip(page, unsure, strict=True)
        ]

    return lambda: amend


def _is_certain(action: str | None, step: int, kind: str, steps: int, known: str | None) -> bool:
    if kind == CheckpointKind.HALTED:
        return action is None
    return step >= steps or (action is not None and known == digest(action))


def _look_up(session: Session, places: Collection[CheckpointKey]) -> dict[CheckpointKey, str]:
    wanted: dict[int, list[CheckpointKey]] = {}
    for place in places:
        wanted.setdefault(place.trajectory_id, []).append(place)
    found: dict[CheckpointKey, str] = {}
    ids = sorted(wanted)
    for start in range(0, len(ids), _AT_ONCE):
        chosen = _body.c.trajectory_id.in_(ids[start : start + _AT_ONCE])
        for id, body in session.execute(select(_body.c.trajectory_id, _body.c.body).where(chosen)):
            record = from_json(body)
            found.update({place: checkpoint_at(record, place.step, place.kind).action for place in wanted[id]})
    return {place: action for place, action in found.items() if action}


_tables = Table.metadata.tables
_decision, _item, _task, _verdict = (_tables[name] for name in ("decision", "item", "task", "verdict"))
_trajectory, _next = _tables["trajectory"], _tables["trajectory"].alias("next_trial")

next_outcome: Any = (
    select(_next.c.outcome)
    .where(_next.c.task_id == _trajectory.c.task_id, _next.c.trial == _trajectory.c.trial + 1)
    .order_by(_next.c.id.desc())
    .limit(1)
    .scalar_subquery()
)

_ask = _tables["ask"]


def _asked(column: str) -> Any:
    """A column of the check that the item was queued for; null where no agent asked."""
    return select(_ask.c[column]).where(_ask.c.item_id == _item.c.id).limit(1).scalar_subquery()


_CELLS = (
    integer("decision_id", _decision.c.id),
    integer("item_id", _item.c.id),
    integer("trajectory_id", _trajectory.c.id),
    text("task_id", _task.c.task_key),
    text("run", RUN_NAME),
    integer("trial", _trajectory.c.trial),
    text("environment", _trajectory.c.environment),
    text("study", STUDY),
    text("condition", CONDITION),
    text("participant", PARTICIPANT),
    text("reviewer", _decision.c.reviewer),
    text("annotator_kind", _decision.c.annotator_kind),
    text("detector", _verdict.c.detector),
    text("model", _verdict.c.model),
    number("score", _verdict.c.score),
    number("threshold", _verdict.c.threshold),
    truth("flagged", _verdict.c.flagged),
    text("critical_action", _trajectory.c.critical_action),
    text("decision", _decision.c.decision),
    text("label", _decision.c.label),
    text("feedback_type", _decision.c.feedback_type),
    text("feedback_text", _decision.c.feedback_text),
    text("edited_action", _decision.c.edited_action),
    time("claimed_at", _decision.c.claimed_ms),
    time("decided_at", _decision.c.decided_ms),
    integer("lead_time_ms", _decision.c.decided_ms - _decision.c.claimed_ms),
    integer("revision", _decision.c.revision),
    truth("superseded", _decision.c.superseded),
    integer("budget_cap", _decision.c.budget_cap),
    integer("budget_used", _decision.c.budget_used),
    time("delivered_at", _decision.c.delivered_ms),
    text("next_trial_outcome", next_outcome),
    text("gold_label", _trajectory.c.label),
    time("withdrawn_at", _decision.c.withdrawn_ms),
    truth("edited", _decision.c.decision == DecisionKind.EDIT),
    text("door", _decision.c.door),
    integer("policy_version", _asked("policy_version")),
    text("rule", _asked("rule")),
    text("seen_digest", _decision.c.seen_digest),
    text("reason_codes", _decision.c.reason_codes),
)

DECISIONS = ExportQuery(
    cells=_CELLS,
    joined=_decision.join(_item, _item.c.id == _decision.c.item_id)
    .join(_trajectory, _trajectory.c.id == _item.c.trajectory_id)
    .join(_task, _task.c.id == _trajectory.c.task_id)
    .outerjoin(_verdict, _verdict.c.id == _item.c.verdict_id),
    run_id=_item.c.run_id,
    key=_decision.c.id,
    needs=checkpoint_of(_item, _decision.c.action_digest),
    amend=with_actions(_CELLS),
)
