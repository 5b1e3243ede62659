"""Rate answers: the rules and the open ratings; for researchers, also the results."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console import runs
from console.analysis.statistics.estimates import number, range_text
from console.auth.people import Identity, Role
from console.database import now_ms, reading, review_queue
from console.errors import ConsoleError
from console.language import _, gettext_noop, ngettext
from console.review import blinding, decisions
from console.review.pending_items import list_pending_items
from console.review.waiting import measure_offered
from console.runs import run_options
from console.trials import answer_rating
from console.trials.answer_rating import ANNOTATORS
from console.web.flash import finish, flash, refusals_shown, show_messages
from console.web.review import actions, shortcuts
from console.web.review.drafts import save_draft, words_key
from console.web.review.own_items import set_reviewed_runs
from console.web.sign_in import current_identity
from console.web.widgets.hotkeys import hotkeys, key_button
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import next_step_row, refusal_words, show_empty_state, show_guide
from console.web.widgets.tables import show_rows
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim, NoClaim, NoClaimReason
from storage.tables import DecisionKind

_RIGHT, _WRONG = DecisionKind.APPROVE, DecisionKind.REJECT
_WHY_NONE = {
    NoClaimReason.EMPTY: gettext_noop("Every answer has all its ratings."),
    NoClaimReason.ALL_REVIEWED_BY_YOU: gettext_noop("You have rated every answer that still needs a rating."),
}
_OTHERS_RATE = gettext_noop("Other people are rating the remaining answers.")


def judging(run: tables.Run, identity: Identity) -> None:
    """Draw the next answer for this person to rate, with the question, the reference answer and two buttons."""
    with reading() as session:
        claim = decisions.claim_next_item(review_queue(), session, run, identity.name, now_ms(), settles=False)
    # The claim changed the count.
    with reading() as session:
        pending = measure_offered(session, [run.id or 0], identity.name)[0]
    set_reviewed_runs(run.id)
    actions.show_flash()
    back = st.container(horizontal=True, vertical_alignment="center")
    icon, close = ":material/arrow_back:", st.query_params.clear
    back.button(_("Close rating"), key="close-rating", icon=icon, type="tertiary", on_click=close)
    if isinstance(claim, NoClaim):
        show_empty_state(_("No answers left"), _(_WHY_NONE.get(claim.reason, _OTHERS_RATE)))
        key_button(_("Undo"), "U", "undo-answer", actions.undo, None)
        return
    with reading() as session:
        view = blinding.build_review_view(session, review_queue(), run, claim, identity.name, unblinded=False)
    shown, item = view.presentation, claim.item_id
    words = ngettext("{name}: one more answer after this one", "{name}: {count} more answers after this one", pending)
    back.caption(words.format(name=run.name, count=pending) if pending else _("This is the last answer."))
    rows = [(_("Question"), shown.task), (_("Agent's answer"), shown.action)]
    rows += [(_("Reference answer"), text) for _name, text in shown.brief]
    show_html("".join(f'<h2 class="ia-whole-head">{plain(heading)}</h2><p>{plain(text)}</p>' for heading, text in rows))
    st.text_area(_("Your comment"), view.draft.text, key=words_key(item), height=74, max_chars=decisions.MAX_FEEDBACK)
    with st.container(horizontal=True):
        for words, key, decision in ((_("Correct"), "A", _RIGHT), (_("Incorrect"), "X", _WRONG)):
            key_button(words, key, f"judge-{key}-{item}", _judge, claim, run, identity.name, decision)
        key_button(_("Undo"), "U", f"undo-{item}", actions.undo, item)
    bound = {"u": f"undo-{item}", "a": f"judge-A-{item}", "x": f"judge-X-{item}"}
    hotkeys(bound, item_id=item, enabled=shortcuts.are_enabled(), draft_keys=[words_key(item)], on_draft=save_draft)


def _judge(claim: Claim, run: tables.Run, who: str, decision: DecisionKind) -> None:
    answer = decisions.ReviewDecision(decision, st.session_state.get(words_key(claim.item_id)) or "")
    try:
        decisions.submit(review_queue(), run, claim, who, answer, now_ms(), submit_key=claim.token)
        flash((True, _("Rated correct.") if decision is _RIGHT else _("Rated incorrect.")))
    except (ConsoleError, StorageError) as refusal:
        flash((False, refusal_words(refusal)))


_KINDS = {
    "percent": gettext_noop("pairwise agreement"),
    "fleiss": gettext_noop("Fleiss' kappa"),
    "alpha": gettext_noop("Krippendorff's alpha"),
}


def begin_form(sources: Sequence[str]) -> None:
    """Draw the form that starts a rating of a run's answers."""
    if not sources:
        return
    st.header(_("Start a rating"), anchor=False)
    with st.form("answers", border=True):
        run, called, people = st.columns(3)
        source = run.selectbox(_("Run"), sources, key="answers_of")
        name = called.text_input(
            _("Rating name"), key="answers_name", max_chars=80, placeholder=_("for example round-2")
        )
        annotators = people.number_input(_("People per answer"), 1, 9, ANNOTATORS, key="answers_people")
        sent = st.form_submit_button(_("Start rating"))
    if sent:
        with refusals_shown():
            count = answer_rating.start_rating(name.strip(), source, int(annotators))
            words = _("Created {name}. Answers of {run}: {count}. People who rate each answer: {people}.")
            finish(words.format(name=name.strip(), run=source, count=count, people=annotators))


def results(run: tables.Run) -> None:
    """Draw the answers of a rating with the majority verdict on each, and the agreement of the raters."""
    with reading() as session:
        found = answer_rating.get_ratings(session, run)
    words = {"aligned": _("Correct"), "misaligned": _("Incorrect")}
    st.header(run.name, anchor=False)
    judged = sum(one.majority is not None for one in found.answers)
    said = _("{judged} of {count} answers have a majority.")
    if found.accuracy is not None:
        said = _("{judged} of {count} answers have a majority; {share} of these are correct.")
    st.caption(said.format(judged=judged, count=len(found.answers), share=f"{found.accuracy or 0:.1%}"))
    measures = [
        {
            "measure": _(_KINDS[name]),
            "value": "–" if one.value is None else number(one.value, ".2f"),
            "interval": range_text(one.interval, ".2f"),
        }
        for name, one in found.agreement.items()
    ]
    if judged:
        titles = {"measure": _("Agreement"), "value": _("Value"), "interval": _("95% interval")}
        label = _("Agreement in {run}").format(run=run.name)
        show_rows(measures, titles, numbers=("value", "interval"), label=label)
    titles = {"question": _("Question"), "answer": _("Answer"), "correct": _("Correct"), "incorrect": _("Incorrect")}
    rows = [
        {name: str(getattr(one, name)) for name in titles}
        | {"majority": words.get(str(one.majority), ""), "comments": " / ".join(one.comments)}
        for one in found.answers
    ]
    titles |= {"majority": _("Majority"), "comments": _("Comments")}
    show_rows(rows, titles, numbers=("correct", "incorrect"), label=_("Ratings in {run}").format(run=run.name))


st.title(_("Rate answers"), anchor=False)
identity = current_identity()
with reading() as session:
    every = runs.list_runs(session)
    rated = [one for one in every if run_options(one).rates_answers]
    waiting = {one.name: list_pending_items(session, [one], identity.name).total for one in rated if identity}
    session.expunge_all()

show_messages()
chosen = next((one for one in rated if one.name == st.query_params.get("judge")), None)
if identity and chosen:
    judging(chosen, identity)
elif rated:
    with st.container(horizontal=True):
        for one in rated:
            left = waiting[one.name]
            label = ngettext("Rate {name}: {count} answer left", "Rate {name}: {count} answers left", left)
            label, key = label.format(name=one.name, count=left), f"rate-{one.id}"
            if st.button(label, key=key, type="primary" if left else "secondary", disabled=not left):
                st.query_params["judge"] = one.name
                st.rerun()
if rated:
    with st.container(key="ia-judging-tour"):
        shared = any(one.reviews_per_item > 1 for one in ([chosen] if chosen else rated))
        show_guide("ratings", _("How to rate an answer"), *["raters"] * shared)
if identity and chosen:
    # A rater sees neither the votes of others nor another rating.
    st.stop()
if not rated:
    show_empty_state(_("No answers to rate"), _("Answers appear here when a researcher opens a rating for a run."))
    if not (identity and identity.has(Role.RESEARCHER)):
        next_step_row().page_link("console/web/pages/inbox.py", label=_("Open the Inbox"))
    elif not every:
        next_step_row().page_link("console/web/pages/runs.py", label=_("Open Runs"))
if identity and identity.has(Role.RESEARCHER):
    begin_form([one.name for one in every if one not in rated])
    for one in rated:
        results(one)
