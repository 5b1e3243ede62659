"""Answers: how to judge a free-text answer, the ratings there are, and for researchers what they came to."""

import streamlit as st

from console import runs
from console.auth.identity import Role
from console.database import reading
from console.review import inbox
from console.runs.options import run_options
from console.web.answer_judging import begin_form, judging, results
from console.web.flash import show_messages
from console.web.sign_in import current_identity
from console.web.widgets.messages import show_empty_state

_RULES = (
    ("What you see", "A question, the answer that an agent gave to it, and the answer that the data give."),
    ("A: correct", "It says the same as the data, in whatever words, and nothing that contradicts it."),
    ("X: incorrect", "It says something else, leaves out what was asked for, or gives several answers to choose from."),
    ("Your words", "Say in one sentence why, above all where it was close; they are your comment."),
    ("On your own", "Several people judge each answer and the majority counts, so do not ask one another."),
)

st.title("Answers to judge")
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
rows = "".join(f"<li><b>{title}</b><span>{words}</span></li>" for title, words in _RULES)
with st.container(key="ia-judging-tour"):
    st.html(f'<section aria-label="How to judge an answer"><h2>How to judge an answer</h2><ol>{rows}</ol></section>')
for one in rated:
    label = f"Judge {one.name}: {waiting[one.name]} answers still need people"
    st.page_link("console/web/pages/ratings.py", label=label, query_params={"judge": one.name})
if not rated:
    show_empty_state("No answers wait", "They appear here once a researcher has put a run's answers up for judgement.")
if identity and identity.has(Role.RESEARCHER):
    begin_form([one.name for one in every if one not in rated])
    for one in rated:
        results(one)
