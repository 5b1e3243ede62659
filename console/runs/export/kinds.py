"""The exported tables: decisions and answers, items, trajectories, verdicts, budget, events, and further records.

`with_actions` adds the critical action at a row's own checkpoint; the trajectory's row may hold a different action.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import compress
from operator import itemgetter
from typing import Any, NamedTuple

import orjson
from sqlalchemy import func, literal, null, select
from sqlmodel import Session

from console.runs.export.answers import ALLOWED_CHECKS, ANSWERS, CORRECTIONS, with_task
from console.runs.export.formats import Page
from console.runs.export.query import (
    CONDITION,
    OF_TRAJECTORY,
    PARTICIPANT,
    RUN_NAME,
    STUDY,
    Amend,
    ExportColumn,
    ExportQuery,
    fields,
    integer,
    json,
    next_outcome,
    next_score,
    number,
    reasons_sent,
    record,
    text,
    time,
    truth,
)
from console.runs.trajectory_rows import load_pictures
from console.trajectory import Picture, from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at, digest
from storage.tables import DecisionKind, SlotStatus, Table

_tables = Table.metadata.tables
_NAMES = "decision item task verdict trajectory ask slot ledger budget event event_link trajectory_body seeded_item"
_decision, _item, _task, _verdict, _trajectory, _ask, _slot, _ledger, _budget, _event, _link, _body, _seeded = (
    _tables[name] for name in _NAMES.split()
)
_AT_ONCE = 50


class CheckpointKey(NamedTuple):
    """The position of a checkpoint."""

    trajectory_id: int
    step: int
    kind: CheckpointKind


def checkpoint_of(table: Any, action_digest: Any = None) -> tuple[Any, ...]:
    """Return the extra cells for `with_actions` after a row: checkpoint, steps, and the action's digest if known."""
    steps = Table.metadata.tables["trajectory"].c.n_steps
    known = null() if action_digest is None else action_digest
    return table.c.trajectory_id, table.c.step, table.c.kind, steps, known


def with_actions(cells: Sequence[ExportColumn]) -> Callable[[], Amend]:
    """Return an Amend function that writes the action at the row's checkpoint into the column `critical_action`."""
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
            trajectory = from_json(body)
            found.update({place: checkpoint_at(trajectory, place.step, place.kind).action for place in wanted[id]})
    return {place: action for place, action in found.items() if action}


def _asked(column: str) -> Any:
    """Return a column of the agent's check that queued the item, or null if the item is not from a check."""
    return select(_ask.c[column]).where(_ask.c.item_id == _item.c.id).limit(1).scalar_subquery()


_known_answer: Any = select(_seeded.c.item_id).where(_seeded.c.item_id == _item.c.id).correlate(_item).exists()
"""SQL condition for an item with a known answer, used to measure its reviewer."""

_DECISION_CELLS = (
    integer("decision_id", _decision.c.id),
    integer("item_id", _item.c.id),
    *OF_TRAJECTORY,
    text("study", STUDY),
    text("condition", CONDITION),
    text("participant", PARTICIPANT),
    *fields(_decision, "reviewer annotator_kind"),
    *fields(_verdict, "detector model score threshold flagged"),
    text("critical_action", _trajectory.c.critical_action),
    *fields(_decision, "decision label feedback_type feedback_text edited_action claimed_ms decided_ms"),
    integer("lead_time_ms", _decision.c.decided_ms - _decision.c.claimed_ms),
    *fields(_decision, "revision superseded budget_cap budget_used delivered_ms"),
    text("next_trial_outcome", next_outcome),
    text("gold_label", _trajectory.c.label),
    time("withdrawn_at", _decision.c.withdrawn_ms),
    truth("edited", _decision.c.decision == DecisionKind.EDIT),
    text("door", _decision.c.door),
    integer("policy_version", _asked("policy_version")),
    text("rule", _asked("rule")),
    *fields(_decision, "seen_digest reason_codes"),
    json("marked_steps", _decision.c.marked_steps),
    json("answers", _decision.c.answers),
    truth("known_answer", _known_answer),
    text("reasons_sent", reasons_sent),
    number("next_trial_score", next_score),
)

DECISIONS = ExportQuery(
    cells=_DECISION_CELLS,
    joined=with_task(_decision).outerjoin(_verdict, _verdict.c.id == _item.c.verdict_id),
    run_id=_item.c.run_id,
    key=_decision.c.id,
    needs=checkpoint_of(_item, _decision.c.action_digest),
    amend=with_actions(_DECISION_CELLS),
)


def _of_claims(value: Any) -> Any:
    held = (_slot.c.item_id == _item.c.id, _slot.c.status == SlotStatus.CLAIMED)
    return select(value).where(*held).correlate(_item).scalar_subquery()


_ITEM_CELLS = (
    integer("item_id", _item.c.id),
    integer("trajectory_id", _trajectory.c.id),
    text("task_id", _task.c.task_key),
    text("run", RUN_NAME),
    integer("trial", _item.c.trial),
    text("environment", _trajectory.c.environment),
    *fields(_item, "status priority"),
    *fields(_verdict, "score detector model threshold flagged"),
    text("claimed_by", _of_claims(func.aggregate_strings(_slot.c.reviewer, ", "))),
    time("claim_expires_at", _of_claims(func.min(_slot.c.lease_until_ms))),
    *fields(_item, "reviews_required open_slots step"),
    text("checkpoint", _item.c.kind),
    text("critical_action", _trajectory.c.critical_action),
    time("created_at", _item.c.created_ms),
    truth("known_answer", _known_answer),
)

ITEMS = ExportQuery(
    cells=_ITEM_CELLS,
    joined=_item.join(_trajectory, _trajectory.c.id == _item.c.trajectory_id)
    .join(_task, _task.c.id == _trajectory.c.task_id)
    .outerjoin(_verdict, _verdict.c.id == _item.c.verdict_id),
    run_id=_item.c.run_id,
    key=_item.c.id,
    needs=checkpoint_of(_item),
    amend=with_actions(_ITEM_CELLS),
)

TRAJECTORIES = ExportQuery(
    cells=(
        *OF_TRAJECTORY,
        text("instruction", _task.c.instruction),
        *fields(_trajectory, "outcome recorded_outcome released_by n_steps"),
        integer("n_critical_actions", _trajectory.c.n_critical),
        *fields(_trajectory, "critical_action carried_over"),
        text("gold_label", _trajectory.c.label),
        json("source", _trajectory.c.source),
        time("created_at", _trajectory.c.created_ms),
        record("trajectory", _body.c.body),
    ),
    joined=_trajectory.join(_task, _task.c.id == _trajectory.c.task_id).join(
        _body, _body.c.trajectory_id == _trajectory.c.id
    ),
    run_id=_trajectory.c.run_id,
    key=_trajectory.c.id,
    page=50,
    for_researchers=True,
)


def _with_pictures() -> Amend:
    """Return an Amend function that adds a line for each new picture (base64) before the record with the picture."""
    written: set[str] = set()
    place = next(number for number, cell in enumerate(TRAJECTORIES.cells) if cell.column.name == "trajectory")

    def amend(session: Session, page: Page) -> Page:
        return [(*row[:place], "\n".join([*_picture_lines(session, row[place], written), row[place]])) for row in page]

    return amend


def _picture_lines(session: Session, body: str, written: set[str]) -> Iterator[str]:
    shown: dict[Picture, None] = {}
    if '"pictures"' in body:
        trajectory = from_json(body)
        shown = dict.fromkeys([*trajectory.pictures, *(one for step in trajectory.steps for one in step.pictures)])
    fresh = [picture for picture in shown if picture.digest not in written]
    stored = load_pictures(session, fresh)
    for picture in fresh:
        if picture.digest in stored:
            written.add(picture.digest)
            data = base64.b64encode(stored[picture.digest][1]).decode()
            yield orjson.dumps({"picture": asdict(picture) | {"data": data}}).decode()


WITH_PICTURES = replace(TRAJECTORIES, page=1, amend=_with_pictures)
"""The export of trajectories with the bytes of their pictures, one trajectory per page to limit memory."""

_VERDICT_CELLS = (
    integer("verdict_id", _verdict.c.id),
    *OF_TRAJECTORY,
    integer("step", _verdict.c.step),
    text("checkpoint", _verdict.c.kind),
    text("critical_action", _trajectory.c.critical_action),
    *fields(_verdict, "detector model score probability threshold flagged inferred_task rationale prompt_fingerprint"),
    json("parameters", _verdict.c.parameters),
    *fields(_verdict, "seed raw latency_ms requests prompt_tokens completion_tokens cost_usd created_ms"),
    text("outcome", _trajectory.c.outcome),
    text("gold_label", _trajectory.c.label),
    json("requirements", _verdict.c.requirements),
)

VERDICTS = ExportQuery(
    cells=_VERDICT_CELLS,
    joined=_verdict.join(_trajectory, _trajectory.c.id == _verdict.c.trajectory_id).join(
        _task, _task.c.id == _trajectory.c.task_id
    ),
    run_id=_verdict.c.run_id,
    key=_verdict.c.id,
    needs=checkpoint_of(_verdict),
    amend=with_actions(_VERDICT_CELLS),
    for_researchers=True,
)

_BUDGET_CELLS = (
    integer("entry_id", _ledger.c.id),
    integer("budget_id", _budget.c.id),
    text("run", RUN_NAME),
    *fields(_budget, "trial scope"),
    integer("item_id", _ledger.c.item_id),
    integer("claim_id", _ledger.c.slot_id),
    *fields(_ledger, "reviewer entry reason units"),
    integer("cap", _budget.c.cap),
    integer("used", literal(0)),
    time("at", _ledger.c.at_ms),
)


def _running() -> Amend:
    used: Counter[int] = Counter()
    names = [cell.column.name for cell in _BUDGET_CELLS]
    budget, units, place = (names.index(name) for name in ("budget_id", "units", "used"))

    def amend(_session: Session, page: Page) -> Page:
        amended = []
        for row in page:
            used[row[budget]] += row[units]
            amended.append((*row[:place], used[row[budget]], *row[place + 1 :]))
        return amended

    return amend


BUDGET = ExportQuery(
    cells=_BUDGET_CELLS,
    joined=_ledger.join(_budget, _budget.c.id == _ledger.c.budget_id),
    run_id=_budget.c.run_id,
    key=_ledger.c.id,
    amend=_running,
)

EVENTS = ExportQuery(
    cells=(
        integer("event_id", _event.c.id),
        text("run", RUN_NAME),
        time("at", _event.c.at_ms),
        *fields(_event, "actor kind subject"),
        json("detail", _event.c.detail),
        text("door", _event.c.door),
        text("where", _event.c.place),
        json("before", _event.c.before),
        json("after", _event.c.after),
        *fields(_link, "content_digest previous_hash hash chain place"),
    ),
    joined=_event.outerjoin(_link, _link.c.event_id == _event.c.id),
    run_id=_event.c.run_id,
    key=_event.c.id,
    for_researchers=True,
)

KINDS: dict[str, ExportQuery] = {
    "decisions": DECISIONS,
    "items": ITEMS,
    "trajectories": TRAJECTORIES,
    "verdicts": VERDICTS,
    "budget": BUDGET,
    "events": EVENTS,
    "corrections": CORRECTIONS,
    "allowed": ALLOWED_CHECKS,
    "answers": ANSWERS,
}
