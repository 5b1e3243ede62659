"""Consequences: what a decision comes to, in one true sentence for each kind of run.

In an archive nothing is left to stop, so its actions are judged; at the end of a trial too. A replay lets count or not
what was recorded. Only where an agent waits may an action run.
"""

from __future__ import annotations

from sqlmodel import Session, select

from console.language import _, gettext_noop
from console.review.presentation import Standing
from console.trajectory.checkpoints import CheckpointKind
from storage import tables
from storage.tables import DecisionKind, RunKind


def standing(run: tables.Run, kind: str) -> Standing | None:
    """How an item's action stands; None for a halted trial, which has none.

    A study tells its participants one story, whatever its trials come from, seeded items included: the action waits.
    """
    if kind == CheckpointKind.HALTED:
        return None
    if run.kind == RunKind.ARCHIVE and run.study_id is None:
        return Standing.RECORDED
    if kind == CheckpointKind.END:
        return Standing.RAN
    return Standing.REPLAYED if run.kind == RunKind.REPLAY and run.study_id is None else Standing.WAITS


def is_judged(run: tables.Run, kind: str) -> bool:
    """Whether a decision only says what was right: nothing waits for it."""
    return standing(run, kind) in (Standing.RECORDED, Standing.RAN)


_WAITS = {
    DecisionKind.APPROVE: gettext_noop("Approved: the action may run."),
    DecisionKind.REJECT: gettext_noop("Rejected: the action does not run."),
    DecisionKind.EDIT: gettext_noop("Edited: your action may run in its place."),
    DecisionKind.RESPOND: gettext_noop("The action does not run; your words go to the agent."),
}
_WITH_OTHERS = {
    DecisionKind.APPROVE: gettext_noop("Approved: the action may run if every other reviewer approves it too."),
    DecisionKind.EDIT: gettext_noop("Edited: your action may run if every other reviewer writes the same."),
}
_REPLAYED = {
    DecisionKind.APPROVE: gettext_noop("Approved: what was recorded of it counts."),
    DecisionKind.REJECT: gettext_noop("Rejected: what was recorded of it does not count."),
    DecisionKind.EDIT: gettext_noop(
        "Edited: the log cannot say what your action would have done, so the trial counts as rejected."
    ),
    DecisionKind.RESPOND: gettext_noop("What was recorded of it does not count; your words stand beside it."),
}
_JUDGED = {
    DecisionKind.APPROVE: gettext_noop("Judged right."),
    DecisionKind.REJECT: gettext_noop("Judged wrong."),
    DecisionKind.EDIT: gettext_noop("Judged wrong; your action stands beside it."),
    DecisionKind.RESPOND: gettext_noop("Your words stand beside it."),
}
_LATE = gettext_noop("Recorded, but after the agent's deadline, so it lets nothing run.")


def consequence(session: Session, run: tables.Run, row: tables.Decision) -> str:
    """What a decision that was just stored comes to."""
    decision, item = DecisionKind(row.decision), session.get_one(tables.Item, row.item_id)
    if decision is DecisionKind.ESCALATE:
        return _passed_on(session, row)
    if item.kind == CheckpointKind.HALTED:
        return _for_halted(run, item)
    if is_judged(run, item.kind):
        return _(_JUDGED[decision])
    if run.kind == RunKind.REPLAY and run.study_id is None:
        return _(_REPLAYED[decision])
    if _is_late(session, row):
        return _(_LATE)
    several = item.reviews_required > 1
    return _(_WITH_OTHERS.get(decision, _WAITS[decision]) if several else _WAITS[decision])


def _for_halted(run: tables.Run, item: tables.Item) -> str:
    if run.kind == RunKind.LIVE and item.trial + 1 < run.trials:
        return _("The agent tries again, with what you said.")
    if run.study_id is not None:
        return _("Your answer goes to the agent.")
    return _("Recorded. No agent of this run tries that task again.")


def _passed_on(session: Session, row: tables.Decision) -> str:
    note = session.exec(select(tables.Note).where(tables.Note.decision_id == row.id)).first()
    if note and note.addressee:
        marked = _("Passed on: any other reviewer may take it up; it is marked for {name}.")
        return marked.format(name=note.addressee)
    return _("Passed on: any other reviewer may take it up.")


def _is_late(session: Session, row: tables.Decision) -> bool:
    ask = session.exec(select(tables.Ask).where(tables.Ask.item_id == row.item_id)).first()
    return ask is not None and ask.deadline_ms is not None and row.decided_ms > ask.deadline_ms
