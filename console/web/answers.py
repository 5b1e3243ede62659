"""The Answers page's parts for researchers: a form that puts answers up, and what the annotators made of them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.database import reading
from console.trials import answer_rating
from console.trials.answer_rating import ANNOTATORS, RatedAnswer
from console.web.flash import flash, guarded
from storage import tables

_MEASURES = {"percent": "equal judgements in pairs", "fleiss": "Fleiss' kappa", "alpha": "Krippendorff's alpha"}
_WORDS = {"aligned": "correct", "misaligned": "incorrect"}


def begin_form(sources: Sequence[str]) -> None:
    """Puts the answers of a run up for judgement."""
    if not sources:
        return
    with st.form("answers", border=True):
        run, called, people = st.columns(3)
        source = run.selectbox("Answers of the run", sources, key="answers_of")
        name = called.text_input("Name of the rating", key="answers_name", max_chars=80, placeholder="answers-1")
        annotators = people.number_input("People for each answer", 1, 9, ANNOTATORS, key="answers_people")
        sent = st.form_submit_button("Put them up")
    if sent:
        guarded(_begin, name.strip(), source, int(annotators))


def _begin(name: str, source: str, annotators: int) -> None:
    count = answer_rating.begin(name, source, annotators)
    flash((True, f"{count} answers of {source} wait in {name}, each for {annotators} people."))
    st.rerun()


def results(run: tables.Run) -> None:
    """The answers of a rating with their majority, and how far the annotators agree."""
    with reading() as session:
        found = answer_rating.ratings_of(session, run)
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
