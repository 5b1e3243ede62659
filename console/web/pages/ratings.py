"""Answers: how to judge a free-text answer, the ratings there are, and for researchers what they came to."""

import streamlit as st

from console import runs
from console.auth.identity import Role
from console.database import reading
from console.language import _, gettext_noop
from console.review import inbox
from console.runs.options import run_options
from console.web.answer_judging import begin_form, judging, results
from console.web.flash import show_messages
from console.web.sign_in import current_identity
from console.web.widgets.markup import plain
from console.web.widgets.messages import show_empty_state

_RULES = (
    (
        gettext_noop("What you see"),
        gettext_noop("A question, the answer that an agent gave to it, and the answer that the data give."),
    ),
    (
        gettext_noop("A: correct"),
        gettext_noop("It says the same as the data, in whatever words, and nothing that contradicts it."),
    ),
    (
        gettext_noop("X: incorrect"),
        gettext_noop("It says something else, leaves out what was asked for, or gives several answers to choose from."),
    ),
    (
        gettext_noop("Your words"),
        gettext_noop("Say in one sentence why, above all where it was close; they are your comment."),
    ),
    (
        gettext_noop("On your own"),
        gettext_noop("Several people judge each answer and the majority counts, so do not ask one another."),
    ),
)

st.title(_("Answers to judge"))
identity = current_identity()
with reading() as session:
    every = runs.every(session)
    rated = [one for one in every if run_options(one).rates_answers]
    waiting = {one.name: inbox.waits(session, one)[0] for one in rated}
    session.expunge_all()

show_messages()
chosen = next((one for one in rated if one.name == st.query_params.get("judge")), None)
if identity and chosen:
    judging(chosen, identity)
rows = "".join(f"<li><b>{plain(_(title))}</b><span>{plain(_(words))}</span></li>" for title, words in _RULES)
with st.container(key="ia-judging-tour"):
    how = plain(_("How to judge an answer"))
    st.html(f'<section aria-label="{how}"><h2>{how}</h2><ol>{rows}</ol></section>')
for one in rated:
    label = _("Judge {name}: {count} answers still need people").format(name=one.name, count=waiting[one.name])
    st.page_link("console/web/pages/ratings.py", label=label, query_params={"judge": one.name})
if not rated:
    show_empty_state(
        _("No answers wait"), _("They appear here once a researcher has put a run's answers up for judgement.")
    )
if identity and identity.has(Role.RESEARCHER):
    begin_form([one.name for one in every if one not in rated])
    for one in rated:
        results(one)
