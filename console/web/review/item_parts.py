"""The parts of a claimed item on the Review page; if a part fails, the other parts and the decisions still work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from console.database import now_ms, reading, review_queue
from console.language import _, gettext_noop
from console.review import blinding, decisions, inbox
from console.review.blinding import ReviewView
from console.review.decision_details import get_judging
from console.review.presentation import ActionStatus, Block
from console.review.resolution import find_decided_status
from console.review.waiting import measure_offered
from console.runs import withholds_items
from console.trajectory.checkpoints import CheckpointKind
from console.web.review import actions
from console.web.review.colleagues import notes_html
from console.web.widgets import boundary
from console.web.widgets.boundary import draw_part
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import done_html
from console.web.widgets.status import status_line_html
from console.web.widgets.trajectory_view import show_presentation
from console.web.widgets.trial_history import earlier_trials_html, last_feedback_html
from storage import tables
from storage.queue import Claim, KeptDraft
from storage.tables import RunKind


def get_view(run: tables.Run, claim: Claim, reviewer: str, *, unblinded: bool) -> ReviewView:
    """Return the view of the item; if it cannot be built, return only the task, the action and the steps."""

    def build() -> ReviewView | None:
        with reading() as session:
            return blinding.build_review_view(session, review_queue(), run, claim, reviewer, unblinded=unblinded)

    if (view := draw_part(boundary.ITEM, build, None)) is not None:
        return draw_part(boundary.STATUS, lambda: _stamp_gone(view), view)
    draft = review_queue().draft(item_id=claim.item_id, reviewer=reviewer)
    return blinding.build_bare_view(run, claim, draft or KeptDraft())


def _stamp_gone(view: ReviewView) -> ReviewView:
    """Return the view; if the agent stopped waiting for this item, add a stamp that states this fact."""
    with reading() as session:
        waiter = inbox.list_waiting_agents(session, [view.claim.item_id]).get(view.claim.item_id)
    is_gone = waiter is not None and waiter.is_gone(now_ms())
    return _stamp(view, ActionStatus.GONE) if is_gone else view


def stamp_decided(view: ReviewView) -> ReviewView:
    """Return the view of a decided item with the present status of its action."""
    with reading() as session:
        status = find_decided_status(session, view.claim.item_id, original=True)
    is_gone = status is ActionStatus.WAITS and view.presentation.stamp is ActionStatus.GONE
    return view if status is None or is_gone else _stamp(view, status)


def _stamp(view: ReviewView, status: ActionStatus) -> ReviewView:
    shown = view.presentation
    steps = tuple(replace(step, stamp=status) if step.stamp else step for step in shown.steps)
    return replace(view, presentation=replace(shown, heading=Block.CRITICAL, stamp=status, steps=steps))


_STOPPED = gettext_noop("The agents of this run are stopped. A decision takes effect when the run continues.")


def above_item_html(run: tables.Run, view: ReviewView, reviewer: str, *, is_decided: bool) -> str:
    """Return the content above an item as HTML: status, messages, notes and the effect of earlier feedback."""
    claim = view.claim

    def feedback() -> str:
        # The later trials of a log were recorded before any feedback.
        live = run.kind == RunKind.LIVE
        return last_feedback_html(view.earlier, blinding.list_actions(view.checkpoint), claim.trial) if live else ""

    parts: tuple[tuple[str, Callable[[], str]], ...] = (
        (boundary.STATUS, lambda: _status_html(run, claim, reviewer)),
        (boundary.MESSAGES, actions.flash_html),
        (boundary.MESSAGES, lambda: done_html(_(_STOPPED)) if withholds_items(run) else ""),
        (boundary.MESSAGES, lambda: _decided_html(claim, reviewer) if is_decided else ""),
        (boundary.MESSAGES, lambda: notes_html(view.notes, view.escalation)),
        (boundary.EARLIER, feedback),
    )
    return "".join(draw_part(part, draw, "") for part, draw in parts)


def _status_html(run: tables.Run, claim: Claim, reviewer: str) -> str:
    with reading() as session:
        pending = measure_offered(session, [run.id or 0], reviewer)
        mine = inbox.count_my_reviews(session, run, reviewer)
        waiter = inbox.list_waiting_agents(session, [claim.item_id]).get(claim.item_id)
    trials = run.trials if run.kind in (RunKind.LIVE, RunKind.REPLAY) else None
    return status_line_html(run.name, claim, pending, mine, now_ms=now_ms(), waiter=waiter, trials=trials)


def _decided_html(claim: Claim, reviewer: str) -> str:
    with reading() as session:
        answered = decisions.find_decision_on_item(session, claim.item_id, reviewer)
    return actions.decision_html(answered, claim) if answered else ""


def show_item(
    view: ReviewView, above: str, *, is_decided: bool, editor: Callable[[], None] | None = None
) -> Callable[[], None]:
    """Draw the item below the HTML `above`; return the function that draws the further steps.

    If the item cannot be drawn, draw the task and the pending action in full as plain text. `editor` draws the edit.
    """
    item, shown = view.claim.item_id, view.presentation
    whole = draw_part(boundary.WHOLE, lambda: is_decided or actions.is_action_shown_whole(item, shown.action), False)

    def draw() -> Callable[[], None] | None:
        return show_presentation(shown, above, action_whole=whole, item=item, note=_wrong_html(view), editor=editor)

    if (further := draw_part(boundary.ITEM, draw, None)) is not None:
        return further
    show_html(above)
    st.text(shown.task)
    actions.show_whole_action(item, shown.action)
    st.code(shown.action or _("No pending action: the agent halted without a result."), language=None, wrap_lines=True)
    if editor is not None:
        editor()
    return lambda: None


def _wrong_html(view: ReviewView) -> str:
    if view.presentation.brief or view.claim.kind == CheckpointKind.HALTED:
        return ""
    judging = draw_part(boundary.MESSAGES, lambda: get_judging(view.checkpoint.environment), None)
    if judging is None:
        return ""
    return f'<p class="ia-wrong"><b>{plain(_("Counts as wrong:"))}</b> {plain(_(judging.wrong))}</p>'


def show_earlier_trials(view: ReviewView) -> None:
    """Draw the earlier trials of the task."""
    show_html(earlier_trials_html(view.earlier, blinding.list_actions(view.checkpoint)))


def mark_shown(view: ReviewView) -> None:
    """Record the shown parts of the item; if a part failed, record that the reviewer saw only a part of the item."""
    item, shown = view.claim.item_id, view.presentation

    def mark() -> bool:
        actions.mark_shown(item, shown)
        return True

    if not draw_part(boundary.ITEM, mark, False):
        actions.mark_partly_shown(item, shown.action)


def announcement(view: ReviewView) -> str:
    """Return the text that a screen reader announces for the item."""
    heading, action = _(view.presentation.heading), view.presentation.action[:200]
    return f"{_('Next item.')} {view.presentation.task[:300]} {heading}: {action}"
