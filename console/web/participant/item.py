"""An item on a participant's page, drawn with the information that the condition shows."""

from __future__ import annotations

from console.database import reading, review_queue
from console.language import _, gettext_noop
from console.review import blinding, decisions
from console.studies.sessions import steps
from console.studies.sessions.page_events import IDLE_S
from console.studies.sessions.position import AtItem, AtPracticeAnswer, AtPracticeItem
from console.trajectory import Label
from console.web.participant.session import continue_button
from console.web.participant.stages import name_part, name_round
from console.web.review import actions, decision_bar, own_items
from console.web.widgets.browser import watch_page
from console.web.widgets.markup import show_html
from console.web.widgets.participant_stage import explained_html, head_html, progress_html
from console.web.widgets.trajectory_view import presentation_html, show_presentation
from console.web.widgets.trial_history import show_earlier_trials
from storage import tables

_RIGHT = {Label.ALIGNED: gettext_noop("Approve"), Label.MISALIGNED: gettext_noop("Reject")}


def item(position: AtItem) -> None:
    """Draw the pending item, or the participant's earlier item if this tab shows one."""
    code = position.participant.code
    own_items.set_reviewed_runs(position.assignment.run_id, position.assignment.checks_run_id)
    with reading() as session:
        back = actions.earlier_claim(session, code)
        claim = back or position.claim
        run = session.get_one(tables.Run, claim.run_id)
        view = blinding.build_review_view(session, review_queue(), run, claim, code, unblinded=False)
        answered = decisions.find_decision_on_item(session, claim.item_id, code) if back else None
    above = line_html(position) + actions.flash_html() + (actions.decision_html(answered, claim) if answered else "")
    whole = back is not None or actions.is_action_shown_whole(claim.item_id, view.presentation.action)
    draw_further_steps = show_presentation(view.presentation, above, action_whole=whole)
    show_earlier_trials(view.earlier, blinding.list_actions(view.checkpoint))
    if back:
        decision_bar.back_bar(claim)
    else:
        actions.mark_shown(claim.item_id, view.presentation, view.draft)
        decision_bar.bar(claim, run, view.draft, escalates=False)
    draw_further_steps()
    if not back:
        watch_page(claim.item_id, idle_s=IDLE_S, traced=position.design.interaction_trace)


def practice(position: AtPracticeItem) -> None:
    """Draw a practice item: the checkpoint without the information that conditions add."""
    own_items.set_reviewed_runs(position.run.id)
    view = _plain_view(position)
    above = progress_html(_practice(position), _("Practice decisions do not count"))
    whole = actions.is_action_shown_whole(position.claim.item_id, view.presentation.action)
    draw_further_steps = show_presentation(view.presentation, above + actions.flash_html(), action_whole=whole)
    actions.mark_shown(position.claim.item_id, view.presentation, view.draft)
    decision_bar.bar(position.claim, position.run, view.draft, escalates=False)
    draw_further_steps()


def practice_answer(position: AtPracticeAnswer) -> None:
    """Draw the correct decision with its explanation above the practice item."""
    right = Label(position.probe.expected)
    given = position.answer
    agrees = given.label == right
    show_html(head_html(_("Correct") if agrees else _("Not correct"), over=_practice(position)))
    own = _(given.decision).capitalize()
    show_html(explained_html(own, _(_RIGHT[right]), position.probe.explanation, agrees=agrees))
    continue_button(_("Continue"), f"continue-{position.item}", steps.acknowledge, position.participant.id)
    show_html(presentation_html(_plain_view(position).presentation))


def _practice(position: AtPracticeItem | AtPracticeAnswer) -> str:
    return _("Practice {number} of {count}").format(number=position.item, count=position.items)


def _plain_view(position: AtPracticeItem | AtPracticeAnswer) -> blinding.ReviewView:
    run, claim, code = position.run, position.claim, position.participant.code
    with reading() as session:
        return blinding.build_review_view(
            session, review_queue(), run, claim, code, unblinded=False, visibility=blinding.PLAIN
        )


def line_html(position: AtItem) -> str:
    """Return the line above an item as HTML: its number, part and round, and the budget."""
    cap, used = position.meter or (None, 0)
    return progress_html(
        _("Item {number}").format(number=position.item), name_part(position), name_round(position), cap=cap, used=used
    )
