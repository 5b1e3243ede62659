"""Rate answers: the rules and the open ratings; for researchers, also the results."""

import streamlit as st

from console import runs
from console.auth.people import Role
from console.database import reading
from console.language import _, gettext_noop
from console.review import inbox
from console.runs import run_options
from console.web.answer_judging import begin_form, judging, results
from console.web.flash import show_messages
from console.web.sign_in import current_identity
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import show_empty_state

_RULES = (
    (
        gettext_noop("What you see"),
        gettext_noop("A question, the agent's answer, and the answer in the data."),
    ),
    (
        gettext_noop("A: correct"),
        gettext_noop("The answer has the same meaning as the data, in any wording, and does not contradict them."),
    ),
    (
        gettext_noop("X: incorrect"),
        gettext_noop("It disagrees with the data, leaves out what was asked, or offers several answers."),
    ),
    (
        gettext_noop("Your comment"),
        gettext_noop("Explain your rating in one sentence, above all in close cases."),
    ),
    (
        gettext_noop("On your own"),
        gettext_noop("Several people rate each answer and the majority counts. Do not discuss the answers."),
    ),
)

st.title(_("Rate answers"))
identity = current_identity()
with reading() as session:
    every = runs.list_runs(session)
    rated = [one for one in every if run_options(one).rates_answers]
    waiting = {one.name: inbox.count_pending_items(session, one)[0] for one in rated}
    session.expunge_all()

show_messages()
chosen = next((one for one in rated if one.name == st.query_params.get("judge")), None)
if identity and chosen:
    judging(chosen, identity)
rows = "".join(f"<li><b>{plain(_(title))}</b><span>{plain(_(words))}</span></li>" for title, words in _RULES)
with st.container(key="ia-judging-tour"):
    how = plain(_("How to rate an answer"))
    show_html(f'<section aria-label="{how}"><h2>{how}</h2><ol>{rows}</ol></section>')
for one in rated:
    label = _("Rate {name}: {count} answers still need a rating").format(name=one.name, count=waiting[one.name])
    st.page_link("console/web/pages/ratings.py", label=label, query_params={"judge": one.name})
if not rated:
    show_empty_state(_("No answers to rate"), _("Answers appear here when a researcher opens a rating for a run."))
if identity and identity.has(Role.RESEARCHER):
    begin_form([one.name for one in every if one not in rated])
    for one in rated:
        results(one)
