"""The stages of a participant: welcome, start of a part, items, end of a round, break, end, withdrawal."""

from __future__ import annotations

from urllib.parse import urlsplit

import orjson
import streamlit as st

from console.database import now_ms, reading, review_queue
from console.language import _, gettext_noop
from console.review import blinding, decisions
from console.studies.design import Design
from console.studies.sessions import steps
from console.studies.sessions.position import (
    AtBreak,
    AtEnd,
    AtIntroduction,
    AtItem,
    AtPause,
    AtPracticeAnswer,
    AtPracticeItem,
    AtRoundEnd,
    InPart,
    InRound,
)
from console.studies.sessions.stages import ParticipantStage
from console.studies.sessions.steps import IDLE_S
from console.studies.sessions.withdrawal import withdraw
from console.trajectory import Label
from console.web.participant import session
from console.web.participant.onboarding import points
from console.web.participant.session import continue_button, sign_out_participant, step
from console.web.review import actions, decision_bar, edit_form, own_items
from console.web.sign_in import participant_outside_id, participant_secret
from console.web.widgets.browser import watch_page
from console.web.widgets.markup import show_html
from console.web.widgets.participant_stage import (
    clock_html,
    consent_link_html,
    explain_html,
    formatted_prose_html,
    head_html,
    points_html,
    progress_html,
    prose_html,
    return_link_html,
)
from console.web.widgets.tables import capitalize
from console.web.widgets.trajectory_view import presentation_html, show_presentation
from console.web.widgets.trial_history import ROUNDS, earlier_trials_html
from storage import tables
from storage.tables import DecisionKind, StudyStatus

_CHECK_EVERY_S = 3


def name_part(position: InPart) -> str:
    """Return the part's number and the number of parts as text; return an empty string if there is only one part."""
    words = _("Part {number} of {count}").format(number=position.condition, count=position.conditions)
    return words if position.conditions > 1 else ""


def name_round(position: InRound) -> str:
    """Return the round's number and the number of rounds as text; return an empty string if there is only one round."""
    words = _("Round {number} of {count}").format(number=position.trial, count=position.trials)
    return words if position.trials > 1 else ""


def introduction(position: AtIntroduction) -> None:
    """Draw the introduction of a part, with a button that plays the agents' first trial."""
    task = f"begin {position.condition}"
    session.run_work(task, _("The agents are starting"), steps.begin, position.participant.id or 0)
    sentences = points(position.design, orjson.loads(position.assignment.levels), first=position.condition == 1)
    show_html(head_html(name_part(position) or _("Start of the study")) + points_html(sentences))
    continue_button(_("Start"), f"begin-{position.condition}", session.request_work, task)


def round_over(position: AtRoundEnd) -> None:
    """Draw the end of a round, with a button that delivers the decisions to the agents."""
    task = f"hand-over-{position.condition}-{position.trial}"
    last = position.trial >= position.trials
    words = _("Sending your decisions") if last else _("The agents are trying again")
    session.run_work(task, words, steps.hand_over, position.participant.id or 0)
    if position.assignment and position.run:
        own_items.set_reviewed_runs(position.assignment.run_id, position.assignment.checks_run_id)
    title = _("Round {number} is done").format(number=position.trial) if position.trials > 1 else _("No items left")
    follows = "words" if position.run and position.run.feedback_mode == "nl" else "again"
    ends = "part" if position.conditions > 1 else "end"
    said = _(_NEXT[ends if last else follows])
    show_html(head_html(title, over=name_part(position)) + prose_html(said))
    continue_button(_("Send decisions"), task, session.request_work, task, undoes=position.run is not None)


def agents_working() -> None:
    """Draw the note that the agents are working; check every few seconds whether they have finished."""
    words = _("This page continues automatically when the agents finish.")
    show_html(head_html(_("The agents are working")) + prose_html(words))
    _check_again()


def pause(position: AtBreak) -> None:
    """Draw a break, which ends after a fixed time or when the participant continues."""
    done = _("Parts done: {done} of {count}").format(done=position.condition - 1, count=position.conditions)
    show_html(head_html(_("Time for a break"), over=done))
    show_html(prose_html(position.sentence or _("The study continues when the time is up. You can also continue now.")))
    _clock(position.until_ms)
    if not position.sentence:
        continue_button(_("Continue now"), f"end-break-{position.condition}", steps.end_break, position.participant.id)


def draw_paused(position: AtPause) -> None:
    """Draw the note that the study is paused or closed."""
    over = position.study.status == StudyStatus.CLOSED
    show_html(head_html(_("The study is over") if over else _("The study is paused")) + prose_html(position.sentence))
    if not over:
        _check_again()


def draw_finished(position: AtEnd) -> None:
    """Draw the thanks, the debriefing, the return link and the completion code."""
    design, code = position.design, position.completion_code
    debriefing = formatted_prose_html(design.debriefing.text)
    show_html(head_html(_("Thank you, you have finished")) + debriefing)
    done = gettext_noop("Press this button to return. {place} will be informed that you have finished.")
    show_return_link(design, design.recruiting.completion_url, code or "", done)
    if code:
        show_html(prose_html(_what_for(design)))
        st.code(code, language=None, width=260)
    if design.consent.text.strip():
        show_html(consent_link_html())


def _what_for(design: Design) -> str:
    shows, then = _("This code shows that you have finished."), _("Copy the code before you close the page.")
    if design.recruiting.completion_url:
        then = _("Copy the code before you close the page, in case you need it later.")
    elif platform := design.recruiting.of_platform:
        into = _("Copy the code into your task page on {platform} before you close this page.")
        then = into.format(platform=platform.title)
    return f"{shows} {then}"


_TURNED_AWAY = {
    ParticipantStage.SCREENED_OUT: gettext_noop(
        "Thank you for your interest. Your answers show that you are not in the group that this study is for. "
        "We have not kept your answers."
    ),
    ParticipantStage.OVER_QUOTA: gettext_noop(
        "Thank you for your interest. The study already has enough participants who gave the same answers. "
        "We have not kept your answers."
    ),
    ParticipantStage.FAILED_QUIZ: gettext_noop(
        "Thank you for your interest. Not all of your quiz answers were correct, and you have no tries left."
    ),
}


def draw_screened_out(design: Design, stage: ParticipantStage) -> None:
    """Draw the reason why the person cannot take part, with the code and the return link of the platform."""
    code = design.recruiting.screen_out_code
    show_html(head_html(_("You cannot take part")) + prose_html(_(_TURNED_AWAY[stage])))
    left = gettext_noop("Press this button to return. {place} will be informed that you could not take part.")
    show_return_link(design, design.recruiting.screen_out_url, code, left)
    if code:
        show_html(
            prose_html(_("This code shows that you could not take part. Copy the code before you close the page."))
        )
        st.code(code, language=None, width=260)


def show_return_link(design: Design, address: str, code: str, words: str) -> None:
    """Draw the return link to the recruiting platform with this sentence; draw nothing if the address is empty."""
    platform = design.recruiting.of_platform
    if not address:
        return
    found = design.recruiting.way_back(address, participant_outside_id(), code)
    if found:
        title = _("Return to {platform}").format(platform=platform.title if platform else urlsplit(found).hostname)
        place = platform.title if platform else _("The website you came from")
        show_html(prose_html(_(words).format(place=place)) + return_link_html(title, found))
    else:
        lost = _(
            "You can only return from the browser that you started in. Open this page there, or ask the researchers."
        )
        show_html(prose_html(lost))


def draw_declined(design: Design) -> None:
    """Draw the note that the person declined, with the return link."""
    kept, then = _("We store only that a person declined, and when."), _("You can close this page.")
    if design.recruiting.return_url:
        then = ""
    elif platform := design.recruiting.of_platform:
        returned = _("Please also give up your place on {platform}, so that another person can take the place.")
        then = returned.format(platform=platform.title)
    show_html(head_html(_("You are not taking part")) + prose_html(f"{kept} {then}".strip()))
    _return(design)


def draw_withdrawn(design: Design | None = None) -> None:
    """Draw the note that the participant has withdrawn, with the return link."""
    closing = _("Your participation has ended. You can close this page.")
    returns = design is not None and bool(design.recruiting.return_url)
    show_html(head_html(_("You have withdrawn")) + ("" if returns else prose_html(closing)))
    if design:
        _return(design)


def _return(design: Design) -> None:
    left = gettext_noop("Press this button to return. {place} will be informed that you are not taking part.")
    show_return_link(design, design.recruiting.return_url, "", left)


_NEXT = {
    "again": gettext_noop("The agents get your decisions and retry the tasks that failed. The next round follows."),
    "words": gettext_noop(
        "The agents get your decisions and feedback, and retry the tasks that failed. The next round follows."
    ),
    "part": gettext_noop("Send your last decisions to the agents to finish this part."),
    "end": gettext_noop("Send your last decisions to the agents to finish."),
}


@st.fragment(run_every=_CHECK_EVERY_S)
def _check_again() -> None:
    participant_id = st.session_state.get("participant_id")
    shown = st.session_state.get("shown_kind")
    if participant_id and steps.find_position(participant_id).kind != shown:
        st.rerun(scope="app")


@st.fragment(run_every=1)
def _clock(until_ms: int) -> None:
    left_ms = until_ms - now_ms()
    show_html(clock_html(left_ms))
    if left_ms <= 0:
        st.rerun(scope="app")


def welcome() -> None:
    """Draw instructions for joining a study, for a visitor without a participant's secret."""
    if message := actions.flash_html():
        show_html(message)
    if st.session_state.get("left"):
        draw_withdrawn(st.session_state.get("left_study"))
        return
    words = _("Open the link you received, or enter the code of the study.")
    show_html(head_html(_("Take part in a study")) + prose_html(words))
    st.link_button(_("Enter code"), "/join", type="primary")


def leave_button(*, over: bool) -> None:
    """Draw the button that opens the page for leaving or, after the end of the study, for withdrawing."""
    words = _("Withdraw") if over else _("Pause or withdraw")
    with st.container(key="ia-who"):
        st.button(words, key="leave", type="tertiary", on_click=_set_leaving, args=("asked",))


def is_leaving() -> bool:
    """Return whether this tab shows the page for leaving."""
    return bool(st.session_state.get("leaving"))


def leave_page(participant: tables.Participant, design: Design) -> None:
    """Draw the page for leaving: withdrawal and, unless the study is finished, the personal link for later."""
    rule, over = '<div class="ia-rule"></div>', participant.stage == ParticipantStage.FINISHED
    if not over:
        show_html(head_html(_("Take a break")) + points_html([*map(_, _AWAY)]))
        here = urlsplit(st.context.url or "")
        link = f"{here.scheme}://{here.netloc}{here.path}?me={participant_secret()}"
        st.code(link, language=None, wrap_lines=True)
        continue_button(_("Continue the study"), "stay", _set_leaving, None)
        show_html(consent_link_html() + rule)
    show_html(head_html(_("Withdraw")) + prose_html(_(_WITHDRAWAL[design.consent.withdrawal])))
    if st.session_state.get("leaving") == "sure":
        sure = _("Confirm withdrawal (cannot be undone)")
        st.button(sure, key="withdraw-for-good", on_click=step, args=(_withdraw, participant.id, design))
    else:
        st.button(_("Withdraw from study"), key="withdraw", on_click=_set_leaving, args=("sure",))
    if over:
        continue_button(_("Do not withdraw"), "stay", _set_leaving, None)


_AWAY = (
    gettext_noop(
        "You can close this page at any time. Your progress is saved. To continue, open the study in this browser."
    ),
    gettext_noop("To continue in another browser, open this link there. The link is personal: do not share it."),
)
_WITHDRAWAL = {
    "remove": gettext_noop(
        "You do not have to give a reason. Your decisions, feedback and other data will be deleted."
    ),
    "anonymise": gettext_noop(
        "You do not have to give a reason. Your answers to questions will be deleted. "
        "Your decisions and feedback will be kept without anything that identifies you."
    ),
}


def _withdraw(participant_id: int, design: Design) -> None:
    withdraw(participant_id, themselves=True)
    st.session_state["left_study"] = design
    sign_out_participant()


def _set_leaving(how: str | None) -> None:
    st.session_state["leaving"] = how


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
    cap, used = position.meter or (None, 0)
    number = _("Item {number}").format(number=position.item)
    above = progress_html(number, name_part(position), name_round(position), cap=cap, used=used)
    above += actions.flash_html() + (actions.decision_html(answered, claim) if answered else "")
    whole = back is not None or actions.is_action_shown_whole(claim.item_id, view.presentation.action)
    editor = None if back else edit_form.find_editor(claim, run, view.draft)
    draw_further_steps = show_presentation(view.presentation, above, action_whole=whole, editor=editor)
    show_html(earlier_trials_html(view.earlier, blinding.list_actions(view.checkpoint), ROUNDS))
    if back:
        decision_bar.back_bar(claim)
    else:
        actions.mark_shown(claim.item_id, view.presentation)
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
    editor = edit_form.find_editor(position.claim, position.run, view.draft)
    above += actions.flash_html()
    draw_further_steps = show_presentation(view.presentation, above, action_whole=whole, editor=editor)
    actions.mark_shown(position.claim.item_id, view.presentation)
    decision_bar.bar(position.claim, position.run, view.draft, escalates=False)
    draw_further_steps()


def practice_answer(position: AtPracticeAnswer) -> None:
    """Draw the correct decision with its explanation above the practice item."""
    right = Label(position.probe.expected)
    given = position.answer
    agrees = given.label == right
    title = _("Your decision is correct") if agrees else _("Your decision is not correct")
    show_html(head_html(title, over=_practice(position)))
    correct = DecisionKind.APPROVE if right is Label.ALIGNED else DecisionKind.REJECT
    own, right_name = (capitalize(decisions.name_decision(one)) for one in (given.decision, correct))
    show_html(explain_html(own, right_name, _translate_lines(position.probe.explanation), agrees=agrees))
    continue_button(_("Continue"), f"continue-{position.item}", steps.acknowledge, position.participant.id)
    show_html(presentation_html(_plain_view(position).presentation))


def _translate_lines(explanation: str) -> str:
    """Translate the sentences of `explain_label` and the names before a colon, line by line."""
    parts = [line.partition(": ") for line in explanation.splitlines()]
    return "\n".join((_(name) if name else "") + colon + text for name, colon, text in parts)


def _practice(position: AtPracticeItem | AtPracticeAnswer) -> str:
    return _("Practice {number} of {count}").format(number=position.item, count=position.items)


def _plain_view(position: AtPracticeItem | AtPracticeAnswer) -> blinding.ReviewView:
    run, claim, code = position.run, position.claim, position.participant.code
    with reading() as session:
        return blinding.build_review_view(
            session, review_queue(), run, claim, code, unblinded=False, visibility=blinding.PLAIN
        )
