"""Decisions: the next item for a reviewer, the answer to it, and taking that back.

The queue owns its transactions, so claims and answers go to it without a session; what a page shows around an item is
read through one.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace

import orjson
from sqlmodel import Session, col, select

from console.auth.origin import Door
from console.database import reading, writing
from console.errors import BadInput, Refused, Unknown
from console.language import _, digits, gettext_noop
from console.review import notes
from console.review.edits import TOOL_SCHEMA, check_edit
from console.review.reasons import codes_text
from console.runs.current_decisions import current_decisions
from console.trajectory import Label, Trajectory, from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at, digest
from storage import tables
from storage.queue import Claim, DecisionRow, NoClaim, NoClaimReason, Queue
from storage.tables import UNREVIEWED, DecisionKind, SlotStatus

DWELL_MS = 400
"""An answer that comes sooner after the item was shown was meant for the one before."""

MAX_FEEDBACK = 20_000
"""Characters; more is a paste by mistake."""

NOT_WHOLE = gettext_noop(
    "Approving and editing are off until the whole action was shown; press “Show the whole action” first."
)

_RUNS_ACTION = (DecisionKind.APPROVE, DecisionKind.EDIT)

_FIXED_LABELS: dict[str, Label | None] = {
    DecisionKind.APPROVE: Label.ALIGNED,
    DecisionKind.REJECT: Label.MISALIGNED,
    DecisionKind.EDIT: Label.MISALIGNED,
    DecisionKind.ESCALATE: None,
}


_OFFERED = (DecisionKind.APPROVE, DecisionKind.REJECT, DecisionKind.EDIT)
"""Decisions that a rule can leave out; the others let nothing run."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reviewer decides about one item; the label follows from the decision except for `respond`.

    `allow_other_tool` confirms an edit that calls another tool than the pending action. With escalate, `note` goes to
    the colleague who takes the item up, or to the `addressee`; no agent reads it.
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


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a rule that asked for a review: the decisions, people (names, roles) and doors it takes, or any."""

    offered: tuple[str, ...] | None = None
    who: tuple[str, ...] | None = None
    doors: tuple[str, ...] | None = None

    def refusal(self, decision: str, reviewer: str, roles: Collection[str], door: str = Door.BROWSER) -> str | None:
        """Why the decision is not that reviewer's to make, None where it is."""
        if self.offered is not None and decision in _OFFERED and decision not in self.offered:
            offers = _("The rule that asks for this review offers {offered}, not {decision}.")
            return offers.format(offered=f" {_('and')} ".join(map(_, self.offered)), decision=_(decision))
        if self.who is not None and decision != DecisionKind.ESCALATE and not {reviewer, *roles} & {*self.who}:
            leaves = _("The rule that asks for this review leaves it to {who}, not {reviewer}.")
            return leaves.format(who=", ".join(self.who) or _("nobody"), reviewer=reviewer)
        if self.doors is not None and decision != DecisionKind.ESCALATE and door not in self.doors:
            takes = _(
                "This review takes answers by {doors}, not by {door}; the rules of its policy name the ways (`doors`)."
            )
            return takes.format(doors=", ".join(self.doors) or "–", door=str(door))
        return None


def terms_of(session: Session, item_id: int) -> Terms:
    """The terms of that item's review; none where no rule stated any."""
    item = session.get(tables.Item, item_id)
    stated = orjson.loads(item.terms) if item else {}
    return Terms(*(tuple(stated[name]) if name in stated else None for name in ("decisions", "who", "doors")))


@dataclass(frozen=True, slots=True)
class Seen:
    """What the reviewer was shown of an item: the digests of the text and of the action, and whether that was whole."""

    digest: str
    action_digest: str
    action_whole: bool = True


def next_item(
    queue: Queue, session: Session, run: tables.Run, reviewer: str, now_ms: int, *, settles: bool = True
) -> Claim | NoClaim:
    """Claims the next item of the run, earliest trial first; says why where there is none."""
    answer = NoClaim(NoClaimReason.EMPTY, 0)
    waiting = 0
    for trial in waiting_trials(session, run):
        found = queue.claim(
            run_id=run.id or 0,
            trial=trial,
            reviewer=reviewer,
            now_ms=now_ms,
            lease_ms=run.lease_ms,
            settles=settles,
            halted_free=run.halted_free,
        )
        if isinstance(found, Claim):
            return found
        waiting += found.waiting
        if found.reason != NoClaimReason.EMPTY:
            answer = found
    return NoClaim(answer.reason, waiting)


def open_item(
    queue: Queue,
    session: Session,
    run: tables.Run,
    item_id: int,
    reviewer: str,
    now_ms: int,
    *,
    settles: bool = True,
) -> Claim | NoClaim:
    """Claims that very item of the run, at one unit; says why where that cannot be. Raises Unknown."""
    item = session.get(tables.Item, item_id)
    if item is None or item.run_id != run.id:
        raise Unknown("review item", item_id)
    return queue.claim(
        run_id=item.run_id,
        trial=item.trial,
        reviewer=reviewer,
        now_ms=now_ms,
        lease_ms=run.lease_ms,
        item_id=item_id,
        settles=settles,
        halted_free=run.halted_free,
    )


def waiting_trials(session: Session, run: tables.Run) -> list[int]:
    """The trials of a run that have an item pending or claimed, in order."""
    item = tables.Item
    statement = (
        select(item.trial)
        .where(item.run_id == run.id, col(item.status).in_(UNREVIEWED))
        .distinct()
        .order_by(col(item.trial))
    )
    return list(session.exec(statement))


def submit(
    queue: Queue,
    run: tables.Run,
    claim: Claim,
    reviewer: str,
    answer: Answer,
    now_ms: int,
    *,
    shown_ms: int | None = None,
    submit_key: str | None = None,
    seen: Seen | None = None,
    roles: Collection[str] = ("reviewer",),
) -> DecisionRow:
    """Records the answer to a claimed item, once per `submit_key`.

    Raises BadInput where the answer is not complete or its edit cannot be run, Refused where the item, or all of its
    action, cannot have been seen or where its rule does not offer the decision or leaves it to others, OtherTool
    (edits), and the queue's own refusals (storage.errors) where the claim is no longer this reviewer's. `seen` is None
    where nobody knows what was shown; `roles` are the reviewer's, of which a rule may name one.
    """
    _refuse_too_soon(shown_ms, now_ms)
    _refuse_what_its_rule_does(queue, claim, answer, reviewer, roles)
    record = from_json(claim.body)
    pending = _pending_action(record, claim)
    checked = _checked(answer, claim, run)
    if seen is not None and checked.decision in _RUNS_ACTION:
        _refuse_unseen(seen, pending)
    if checked.edited_action is not None:
        _refuse_edit(checked.edited_action, pending, record, answer.allow_other_tool)
    row = queue.decide(
        item_id=claim.item_id,
        reviewer=reviewer,
        token=claim.token,
        decision=checked.decision,
        label=checked.label,
        feedback_type="nl" if checked.feedback_text or checked.reason_codes else "binary",
        feedback_text=checked.feedback_text,
        edited_action=checked.edited_action,
        action_digest=digest(checked.edited_action or pending),
        annotator_kind=checked.annotator_kind,
        submit_key=submit_key or uuid.uuid4().hex,
        seen_digest=seen.digest if seen else None,
        door=str(checked.door),
        reason_codes=" ".join(checked.reason_codes),
        now_ms=now_ms,
        undo_ms=run.undo_ms,
    )
    if checked.note or checked.addressee:
        _hand_over(queue, row, checked)
    return row


def _refuse_too_soon(shown_ms: int | None, now_ms: int) -> None:
    if shown_ms is not None and now_ms - shown_ms < DWELL_MS:
        raise Refused(_("That came within 0.4 s of this item's appearance, so it was not taken as your answer to it."))


def _refuse_what_its_rule_does(
    queue: Queue, claim: Claim, answer: Answer, reviewer: str, roles: Collection[str]
) -> None:
    with reading(queue.url) as session:
        refusal = terms_of(session, claim.item_id).refusal(answer.decision, reviewer, roles, answer.door)
    if refusal is not None:
        raise Refused(refusal)


def check_written_edit(claim: Claim, edited: str, *, allow_other_tool: bool = False) -> None:
    """Raises BadInput or OtherTool where that action could not be sent in place of the pending one."""
    record = from_json(claim.body)
    _refuse_edit(edited.strip(), _pending_action(record, claim), record, allow_other_tool)


def _hand_over(queue: Queue, row: DecisionRow, answer: Answer) -> None:
    with writing(queue.url) as session:
        item, who, at_ms = row.item_id, row.reviewer, row.decided_ms
        notes.add_note(session, item, who, answer.note, at_ms, addressee=answer.addressee, decision_id=row.id)


def _refuse_unseen(seen: Seen, pending: str) -> None:
    if seen.action_digest != digest(pending):
        raise Refused(_("The action has changed since it was shown to you; read it again and decide then."))
    if not seen.action_whole:
        raise Refused(_(NOT_WHOLE))


def _refuse_edit(edited: str, pending: str, record: Trajectory, allow_other_tool: bool) -> None:
    if edited == pending:
        raise BadInput(_("The edited action is the one that waits; change it, or approve it as it is."))
    schema = record.extra.get(TOOL_SCHEMA)
    check_edit(
        edited,
        pending,
        environment_name=record.environment,
        tool_schema=schema if isinstance(schema, dict) else None,
        allow_other_tool=allow_other_tool,
    )


def may_edit(run: tables.Run) -> bool:
    """Whether reviewers may write another action: not in the binary arm of a study, where they would tell by it."""
    return run.study_id is None or run.feedback_mode != "binary"


def _checked(answer: Answer, claim: Claim, run: tables.Run) -> Answer:
    checked = check(answer, CheckpointKind(claim.kind), run.feedback_mode)
    if checked.decision == DecisionKind.EDIT and not may_edit(run):
        raise BadInput(_("This part takes approve or reject only; another action would be words to the agent."))
    return checked


def check(answer: Answer, kind: CheckpointKind, feedback_mode: str) -> Answer:
    """The answer with its label, or BadInput in one sentence."""
    if answer.decision not in tuple(DecisionKind):
        none = _("{decision} is no decision; use one of {decisions}.")
        raise BadInput(none.format(decision=repr(answer.decision), decisions=", ".join(DecisionKind)))
    if kind is CheckpointKind.HALTED and answer.decision not in (DecisionKind.RESPOND, DecisionKind.ESCALATE):
        raise BadInput(
            _("This trial halted, so no action is waiting: respond with words to the agent, skip or escalate.")
        )
    text = answer.feedback_text.strip()
    if len(text) > MAX_FEEDBACK:
        long = _("The feedback has {count} characters; keep it under {most}.")
        raise BadInput(long.format(count=digits(len(text)), most=digits(MAX_FEEDBACK)))
    codes = tuple(codes_text(answer.reason_codes).split())
    if codes and answer.decision == DecisionKind.APPROVE:
        raise BadInput(_("Reasons say what is wrong; take them away to approve."))
    if (text or codes) and feedback_mode == "binary":
        raise BadInput(_("This run takes binary feedback only; leave the words to the agent, and reasons, out."))
    if (answer.note or answer.addressee) and answer.decision != DecisionKind.ESCALATE:
        raise BadInput(_("A note goes with an escalation; words to the agent go with the others."))
    edited = (answer.edited_action or "").strip() or None
    if answer.decision == DecisionKind.EDIT and edited is None:
        raise BadInput(_("Write the action that the agent is to do instead."))
    if answer.decision == DecisionKind.RESPOND and not (text or codes) and feedback_mode != "binary":
        raise BadInput(_("Write the words that the agent is to get."))
    edited = edited if answer.decision == DecisionKind.EDIT else None
    note = notes.checked_note(answer.note)
    label = _label(answer, kind)
    return replace(answer, feedback_text=text, edited_action=edited, label=label, reason_codes=codes, note=note)


def is_held(session: Session, item_id: int, reviewer: str) -> bool:
    """Whether the item is in this reviewer's hands."""
    slot = tables.Slot
    held = select(slot.id).where(slot.item_id == item_id, slot.reviewer == reviewer, slot.status == SlotStatus.CLAIMED)
    return session.exec(held).first() is not None


def claim_of(session: Session, item_id: int, reviewer: str) -> Claim:
    """The reviewer's latest claim on an item, live or lapsed; raises Unknown or Refused."""
    item = session.get(tables.Item, item_id)
    if item is None:
        raise Unknown("review item", item_id)
    slot = session.exec(
        select(tables.Slot).where(tables.Slot.item_id == item_id, tables.Slot.reviewer == reviewer)
    ).first()
    if slot is None:
        raise Refused(not_claimed(reviewer, item_id))
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


def not_claimed(reviewer: str, item_id: int) -> str:
    """Why an item that is somebody else's cannot be answered."""
    return _("{reviewer} has not claimed item {number}; claim it first.").format(reviewer=reviewer, number=item_id)


def last_decision(session: Session, run: tables.Run, reviewer: str) -> tables.Decision | None:
    """The reviewer's latest answer in this run that has not been delivered or taken back."""
    decision, item = tables.Decision, tables.Item
    statement = (
        current_decisions()
        .join(item, col(item.id) == decision.item_id)
        .where(item.run_id == run.id, decision.reviewer == reviewer, col(decision.delivered_ms).is_(None))
        .order_by(col(decision.id).desc())
        .limit(1)
    )
    return session.exec(statement).first()


def last_answer(session: Session, item_id: int, reviewer: str) -> tables.Decision | None:
    """The reviewer's standing answer to an item, or None."""
    decision = tables.Decision
    statement = current_decisions().where(decision.item_id == item_id, decision.reviewer == reviewer)
    return session.exec(statement).first()


def _label(answer: Answer, kind: CheckpointKind) -> str | None:
    if answer.decision in _FIXED_LABELS:
        return _FIXED_LABELS[answer.decision]
    if kind is CheckpointKind.HALTED:
        return None
    if answer.label not in tuple(Label):
        raise BadInput(_("Say whether the agent is aligned or misaligned: a response needs a label of its own."))
    return answer.label


def pending_action(claim: Claim) -> str:
    """The action that waits for the answer; empty for a halted trial."""
    return _pending_action(from_json(claim.body), claim)


def _pending_action(record: Trajectory, claim: Claim) -> str:
    return checkpoint_at(record, claim.step, CheckpointKind(claim.kind)).action
