"""The Rate answers page: one answer to rate, the form that starts a rating, and the results of a rating."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.auth.people import Identity
from console.database import now_ms, reading, review_queue
from console.errors import ConsoleError
from console.language import _
from console.review import blinding, decisions
from console.trials import answer_rating
from console.trials.answer_rating import ANNOTATORS, RatedAnswer
from console.web.flash import call_or_show_problem, flash
from console.web.review import actions, shortcuts
from console.web.review.drafts import save_draft, words_key
from console.web.review.own_items import set_reviewed_runs
from console.web.widgets.hotkeys import hotkeys, key_label
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import refusal_words, show_empty_state
from storage import tables
from storage.errors import StorageError
from storage.queue import Claim, NoClaim
from storage.tables import DecisionKind

_RIGHT, _WRONG = DecisionKind.APPROVE, DecisionKind.REJECT
_MEASURES = {"percent": "pairwise agreement", "fleiss": "Fleiss' kappa", "alpha": "Krippendorff's alpha"}
_WORDS = {"aligned": "correct", "misaligned": "incorrect"}


def judging(run: tables.Run, identity: Identity) -> None:
    """Draw the next answer for this person to rate, with the question, the reference answer and two buttons."""
    with reading() as session:
        claim = decisions.claim_next_item(review_queue(), session, run, identity.name, now_ms(), settles=False)
        if isinstance(claim, NoClaim):
            view = None
        else:
            view = blinding.build_review_view(session, review_queue(), run, claim, identity.name, unblinded=False)
    set_reviewed_runs(run.id)
    actions.show_flash()
    if view is None or isinstance(claim, NoClaim):
        show_empty_state(_("No answers left"), _("You have rated every answer in this rating."))
        st.button(key_label(_("Undo"), "U"), key="undo-answer", on_click=actions.undo, args=(None,))
        return
    shown, item = view.presentation, claim.item_id
    rows = [(_("Question"), shown.task), (_("Agent's answer"), shown.action)]
    rows += [(_("Answer in the data"), text) for _name, text in shown.brief]
    show_html("".join(f'<h2 class="ia-whole-head">{plain(heading)}</h2><p>{plain(text)}</p>' for heading, text in rows))
    st.text_area(_("Your comment"), view.draft.text, key=words_key(item), height=74, max_chars=decisions.MAX_FEEDBACK)
    with st.container(horizontal=True):
        for words, key, decision in ((_("Correct"), "A", _RIGHT), (_("Incorrect"), "X", _WRONG)):
            given = (claim, run, identity.name, decision)
            st.button(key_label(words, key), key=f"judge-{key}-{item}", on_click=_judge, args=given)
        st.button(key_label(_("Undo"), "U"), key=f"undo-{item}", on_click=actions.undo, args=(item,))
    bound = {"u": f"undo-{item}", "a": f"judge-A-{item}", "x": f"judge-X-{item}"}
    hotkeys(bound, item_id=item, enabled=shortcuts.enabled(), draft_keys=[words_key(item)], on_draft=_keep)


def _keep(item: str, key: str, text: str) -> None:
    save_draft(item, text, key)


def _judge(claim: Claim, run: tables.Run, who: str, decision: DecisionKind) -> None:
    answer = decisions.ReviewDecision(decision, st.session_state.get(words_key(claim.item_id)) or "")
    try:
        decisions.submit(review_queue(), run, claim, who, answer, now_ms(), submit_key=claim.token)
        flash((True, _("Rated correct.") if decision is _RIGHT else _("Rated incorrect.")))
    except (ConsoleError, StorageError) as refusal:
        flash((False, refusal_words(refusal)))


def begin_form(sources: Sequence[str]) -> None:
    """Draw the form that starts a rating of a run's answers."""
    if not sources:
        return
    with st.form("answers", border=True):
        run, called, people = st.columns(3)
        source = run.selectbox("Run", sources, key="answers_of")
        name = called.text_input("Rating name", key="answers_name", max_chars=80, placeholder="answers-1")
        annotators = people.number_input("People per answer", 1, 9, ANNOTATORS, key="answers_people")
        sent = st.form_submit_button("Start rating")
    if sent:
        call_or_show_problem(_begin, name.strip(), source, int(annotators))


def _begin(name: str, source: str, annotators: int) -> None:
    count = answer_rating.start_rating(name, source, annotators)
    flash((True, f"Created {name}: {count} answers of {source}, rated by {annotators} people each."))
    st.rerun()


def results(run: tables.Run) -> None:
    """Draw the answers of a rating with the majority verdict on each, and the agreement of the raters."""
    with reading() as session:
        found = answer_rating.get_ratings(session, run)
    st.subheader(run.name, anchor=False)
    judged = sum(one.majority is not None for one in found.answers)
    share = "" if found.accuracy is None else f"; {found.accuracy:.1%} of these are correct"
    st.caption(f"{judged} of {len(found.answers)} answers have a majority{share}.")
    measures = [
        {
            "agreement": _MEASURES[name],
            "value": "–" if one.value is None else f"{one.value:.2f}",
            "95% interval": f"{one.interval.low:.2f} to {one.interval.high:.2f}" if one.interval else "–",
        }
        for name, one in found.agreement.items()
    ]
    st.dataframe(measures, key=f"agreement-{run.id}", hide_index=True)
    st.dataframe([_row(one) for one in found.answers], key=f"ratings-{run.id}", hide_index=True, placeholder="–")


def _row(one: RatedAnswer) -> dict[str, object]:
    return {
        "question": one.question,
        "answer": one.answer,
        "correct": one.correct,
        "incorrect": one.incorrect,
        "majority": _WORDS.get(str(one.majority)),
        "comments": " / ".join(one.comments),
    }
