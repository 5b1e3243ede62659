"""Decisions on items: their checks and submission, and the claims that they need.

The queue manages its own transactions, so claims and decisions are passed to the queue without a session. All other
data of an item are read through a session.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from sqlmodel import Session, col, select

from console.auth.audit_log import Door, span
from console.database import reading, writing
from console.errors import BadInput, Refused, Unknown
from console.language import _, digits, gettext_noop
from console.review import decision_details
from console.review.access import OTHER_ITEM, ReviewTerms, get_review_terms, refuse_stranger
from console.review.access import claim_item as claim_item
from console.review.access import claim_most_urgent as claim_most_urgent
from console.review.access import claim_next_item as claim_next_item
from console.review.access import list_pending_trials as list_pending_trials
from console.review.decision_details import (
    Answer,
    MarkedStep,
    check_answers,
    check_marks,
    join_reason_codes,
    takes_marks,
    write_answers,
    write_marks,
)
from console.review.edit_fields import list_changed_arguments
from console.review.edits import TOOL_SCHEMA, check_edit
from console.runs import current_decisions
from console.trajectory import Label, Trajectory, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at, digest, pending_checkpoint
from storage import tables
from storage.queue import RUNS_AN_ACTION, Claim, DecisionRow, Queue
from storage.tables import DecisionKind, SlotStatus

DWELL_MS = 400
"""The time in ms after an item appears in which a decision is refused, as meant for the previous item."""

MAX_FEEDBACK = 20_000
"""The maximum length of feedback in characters; longer texts are usually pasted by mistake."""

NOT_WHOLE = gettext_noop("You can approve or edit only after seeing the whole action. Press “Show full action” first.")

_FIXED_LABELS: dict[str, Label | None] = {
    DecisionKind.APPROVE: Label.ALIGNED,
    DecisionKind.REJECT: Label.MISALIGNED,
    DecisionKind.EDIT: Label.MISALIGNED,
    DecisionKind.ESCALATE: None,
}


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """A reviewer's decision on one item; the decision determines the label, except for `respond`.

    `allow_other_tool` confirms an edit that calls a different tool than the pending action. With `escalate`, `note` is
    for the next reviewer or for the `addressee`; no agent reads the note. `marked_steps` are the steps that are wrong;
    `answers` are the answers to the run's questions, by key.
    """

    decision: str
    feedback_text: str = ""
    edited_action: str | None = None
    label: str | None = None
    annotator_kind: str = "human"
    door: Door = Door.BROWSER
    allow_other_tool: bool = False
    reason_codes: tuple[str, ...] = ()
    note: str = ""
    addressee: str = ""
    marked_steps: tuple[MarkedStep, ...] = ()
    answers: Mapping[str, Answer] = field(default_factory=dict)

    @property
    def feedback_type(self) -> str:
        """The type of feedback: `nl` if the decision explains what is wrong, else `binary`."""
        return "nl" if self.feedback_text or self.reason_codes or self.marked_steps else "binary"


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """A record of what a reviewer saw of an item: digests of text and action, and whether the action was whole."""

    digest: str
    action_digest: str
    action_whole: bool = True


@span("decide")
def submit(
    queue: Queue,
    run: tables.Run,
    claim: Claim,
    reviewer: str,
    answer: ReviewDecision,
    now_ms: int,
    *,
    shown_ms: int | None = None,
    submit_key: str | None = None,
    seen: ShownRecord | None = None,
    roles: Collection[str] = ("reviewer",),
) -> DecisionRow:
    """Record a decision on a claimed item, once per `submit_key`.

    Raise BadInput if the decision is incomplete or its edit cannot run. Raise Refused if the reviewer cannot have seen
    the item or its whole action. Raise Refused if the rule excludes the decision or the reviewer. Raise OtherTool if an
    edit calls another tool, and the queue's own errors (storage.errors) if the reviewer no longer holds the claim.
    `seen` is None if the shown text is unknown. `roles` are the reviewer's roles, which a rule may name.
    """
    _refuse_too_soon(shown_ms, now_ms)
    terms = _refuse_by_rule(queue, claim, answer, reviewer, roles)
    record = from_json(claim.body)
    pending = _pending_action(record, claim)
    checked = _check_for_run(answer, claim, run, record)
    _refuse_unseen(seen, checked, pending)
    if checked.edited_action is not None:
        _refuse_edit(checked.edited_action, pending, record, answer.allow_other_tool)
    row = queue.decide(
        item_id=claim.item_id,
        reviewer=reviewer,
        token=claim.token,
        decision=checked.decision,
        label=checked.label,
        feedback_type=checked.feedback_type,
        feedback_text=checked.feedback_text,
        edited_action=checked.edited_action,
        action_digest=digest(checked.edited_action or pending),
        annotator_kind=checked.annotator_kind,
        submit_key=submit_key or uuid.uuid4().hex,
        seen_digest=seen.digest if seen else None,
        door=str(checked.door),
        reason_codes=" ".join(checked.reason_codes),
        marked_steps=write_marks(checked.marked_steps) or None,
        answers=write_answers(checked.answers) or None,
        now_ms=now_ms,
        undo_ms=terms.undo_time(run),
    )
    _add_escalation_note(queue, row, checked)
    return row


def _refuse_too_soon(shown_ms: int | None, now_ms: int) -> None:
    if shown_ms is not None and now_ms - shown_ms < DWELL_MS:
        raise Refused(
            _(
                "Your decision was not recorded, because you pressed the key within 0.4 s of the item's appearance. "
                "Decide again."
            )
        )


def _refuse_by_rule(
    queue: Queue, claim: Claim, answer: ReviewDecision, reviewer: str, roles: Collection[str]
) -> ReviewTerms:
    """Return the terms of the review; raise Refused if the terms exclude the decision or the reviewer."""
    with reading(queue.url) as session:
        refuse_stranger(session, [session.get_one(tables.Run, claim.run_id)], reviewer)
        terms = get_review_terms(session, claim.item_id)
    refusal = terms.refusal(answer.decision, reviewer, roles, answer.door)
    if refusal is not None:
        raise Refused(refusal)
    return terms


def check_written_edit(claim: Claim, edited: str, *, allow_other_tool: bool = False) -> None:
    """Raise BadInput if the agent could not run this edit, or OtherTool if the edit must be confirmed."""
    record = from_json(claim.body)
    _refuse_edit(edited.strip(), _pending_action(record, claim), record, allow_other_tool)


def _add_escalation_note(queue: Queue, row: DecisionRow, answer: ReviewDecision) -> None:
    if not (answer.note or answer.addressee):
        return
    with writing(queue.url) as session:
        item, who, at_ms = row.item_id, row.reviewer, row.decided_ms
        decision_details.add_note(
            session, item, who, answer.note, at_ms, addressee=answer.addressee, decision_id=row.id
        )


def _refuse_unseen(seen: ShownRecord | None, checked: ReviewDecision, pending: str) -> None:
    if seen is None or checked.decision not in RUNS_AN_ACTION:
        return
    if seen.action_digest != digest(pending):
        raise Refused(_("The action has changed since you saw it. Read the action again, then decide."))
    if not seen.action_whole:
        raise Refused(_(NOT_WHOLE))


def _refuse_edit(edited: str, pending: str, record: Trajectory, allow_other_tool: bool) -> None:
    if edited == pending or not list_changed_arguments(pending, edited):
        raise BadInput(_("The edit has the same values as the pending action. Change a value or approve the action."))
    schema = record.extra.get(TOOL_SCHEMA)
    check_edit(
        edited,
        pending,
        environment_name=record.environment,
        tool_schema=schema if isinstance(schema, dict) else None,
        allow_other_tool=allow_other_tool,
    )


DECIDED = {
    str(DecisionKind.APPROVE): gettext_noop("approved"),
    str(DecisionKind.REJECT): gettext_noop("rejected"),
    str(DecisionKind.EDIT): gettext_noop("edited"),
    str(DecisionKind.RESPOND): gettext_noop("feedback only"),
    str(DecisionKind.ESCALATE): gettext_noop("escalated"),
}
"""The decisions as readers see them."""
_JUDGED = {
    str(DecisionKind.APPROVE): gettext_noop("marked as correct"),
    str(DecisionKind.REJECT): gettext_noop("marked as incorrect"),
}


def name_decision(decision: str, *, recorded: bool = False) -> str:
    """Return the name of a decision as pages show it; a decision on a `recorded` action only judges the action."""
    return _((_JUDGED if recorded else {}).get(decision, DECIDED[decision]))


def can_edit(run: tables.Run) -> bool:
    """Return whether reviewers may edit the action: always, except in a study with binary feedback."""
    return run.study_id is None or run.feedback_mode != "binary"


def _check_for_run(answer: ReviewDecision, claim: Claim, run: tables.Run, record: Trajectory) -> ReviewDecision:
    kind = CheckpointKind(claim.kind)
    checked = check_decision(answer, kind, run.feedback_mode)
    marks = check_marks(checkpoint_at(record, claim.step, kind), checked.marked_steps)
    checked = replace(checked, marked_steps=marks, answers=check_answers(run, checked.answers))
    if checked.decision == DecisionKind.EDIT and not can_edit(run):
        raise BadInput(_("In this part of the study, you can only approve or reject the action."))
    if marks and not takes_marks(run):
        raise BadInput(_("Steps cannot be marked in a study. Remove the marks and write feedback."))
    return checked


def check_decision(answer: ReviewDecision, kind: CheckpointKind, feedback_mode: str) -> ReviewDecision:
    """Return the cleaned decision with its label; raise BadInput if the decision is incomplete or invalid."""
    if answer.decision not in tuple(DecisionKind):
        none = _("{decision} is not a valid decision. Use one of {decisions}.")
        raise BadInput(none.format(decision=repr(answer.decision), decisions=", ".join(DecisionKind)))
    if kind is CheckpointKind.HALTED and answer.decision not in (DecisionKind.RESPOND, DecisionKind.ESCALATE):
        raise BadInput(_("This trial halted without a pending action. Respond with feedback, skip or escalate."))
    text = answer.feedback_text.strip()
    if len(text) > MAX_FEEDBACK:
        long = _("The feedback has {count} characters, but the maximum is {most}. Shorten the feedback.")
        raise BadInput(long.format(count=digits(len(text)), most=digits(MAX_FEEDBACK)))
    codes = tuple(join_reason_codes(answer.reason_codes).split())
    if codes and answer.decision == DecisionKind.APPROVE:
        raise BadInput(_("Reasons describe a wrong action. Remove the reasons to approve."))
    if answer.marked_steps and answer.decision == DecisionKind.APPROVE:
        raise BadInput(_("A marked step is feedback on a wrong action. Remove the marks to approve."))
    told = bool(text or codes or answer.marked_steps)
    if told and feedback_mode == "binary":
        raise BadInput(_("This run accepts binary feedback only. Remove the feedback text and the reasons."))
    if (answer.note or answer.addressee) and answer.decision != DecisionKind.ESCALATE:
        raise BadInput(_("Notes are for escalations only. Use feedback with other decisions."))
    edited = (answer.edited_action or "").strip() or None
    if answer.decision == DecisionKind.EDIT and edited is None:
        raise BadInput(_("The edited action is empty. Write the action that the agent should perform instead."))
    if answer.decision == DecisionKind.RESPOND and not told and feedback_mode != "binary":
        raise BadInput(_("The feedback is empty. Write the feedback for the agent."))
    edited = edited if answer.decision == DecisionKind.EDIT else None
    note = decision_details.clean_note(answer.note)
    label = _label(answer, kind)
    return replace(answer, feedback_text=text, edited_action=edited, label=label, reason_codes=codes, note=note)


def is_claimed_by(session: Session, item_id: int, reviewer: str) -> bool:
    """Return whether this reviewer has claimed the item."""
    slot = tables.Slot
    held = select(slot.id).where(slot.item_id == item_id, slot.reviewer == reviewer, slot.status == SlotStatus.CLAIMED)
    return session.exec(held).first() is not None


def get_claim(session: Session, item_id: int, reviewer: str) -> Claim:
    """Return the reviewer's latest claim on an item, even if expired; raise Unknown (no item) or Refused (no claim)."""
    item = session.get(tables.Item, item_id)
    if item is None:
        raise Unknown("review item", item_id, advice=OTHER_ITEM)
    slot = session.exec(
        select(tables.Slot).where(tables.Slot.item_id == item_id, tables.Slot.reviewer == reviewer)
    ).first()
    if slot is None:
        raise Refused(explain_not_claimed(reviewer, item_id))
    body = session.get(tables.TrajectoryBody, item.trajectory_id)
    budget = session.get(tables.Budget, slot.budget_id)
    return Claim(
        item_id=item_id,
        slot_id=slot.id or 0,
        token=slot.token,
        run_id=item.run_id,
        trial=item.trial,
        trajectory_id=item.trajectory_id,
        step=item.step,
        kind=item.kind,
        priority=item.priority,
        verdict_id=item.verdict_id,
        claimed_ms=slot.claimed_ms,
        lease_until_ms=slot.lease_until_ms,
        body=body.body if body else "{}",
        budget_cap=budget.cap if budget else None,
        budget_used=budget.used if budget else 0,
    )


def explain_not_claimed(reviewer: str, item_id: int) -> str:
    """Explain that the reviewer must claim the item before deciding on it."""
    return _("{reviewer} has not claimed item {number}. Claim the item first.").format(
        reviewer=reviewer, number=item_id
    )


def find_undelivered_decision(session: Session, run: tables.Run, reviewer: str) -> tables.Decision | None:
    """Return the reviewer's latest decision in this run that is neither delivered nor undone, or None."""
    decision, item = tables.Decision, tables.Item
    statement = (
        current_decisions()
        .join(item, col(item.id) == decision.item_id)
        .where(item.run_id == run.id, decision.reviewer == reviewer, col(decision.delivered_ms).is_(None))
        .order_by(col(decision.id).desc())
        .limit(1)
    )
    return session.exec(statement).first()


def find_decision_on_item(session: Session, item_id: int, reviewer: str) -> tables.Decision | None:
    """Return the reviewer's current decision on an item, or None if there is none."""
    decision = tables.Decision
    statement = current_decisions().where(decision.item_id == item_id, decision.reviewer == reviewer)
    return session.exec(statement).first()


def _label(answer: ReviewDecision, kind: CheckpointKind) -> str | None:
    if answer.decision in _FIXED_LABELS:
        return _FIXED_LABELS[answer.decision]
    if kind is CheckpointKind.HALTED:
        return None
    if answer.label not in tuple(Label):
        raise BadInput(_("A response needs a label. Choose aligned or misaligned."))
    return answer.label


def pending_action(claim: Claim) -> str:
    """Return the pending action of a claim, or an empty text for a halted trial."""
    return checkpoint_of_claim(claim).action


def checkpoint_of_claim(claim: Claim) -> Checkpoint:
    """Return the checkpoint of a claim."""
    return checkpoint_at(from_json(claim.body), claim.step, CheckpointKind(claim.kind))


def _pending_action(record: Trajectory, claim: Claim) -> str:
    return pending_checkpoint(record, claim.step, claim.kind).action
