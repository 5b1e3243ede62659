"""The questions of a run in the decision bar: one line of answers for each question."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.auth.people import Identity
from console.database import now_ms, review_queue
from console.review.decision_details import Answer, Question, list_questions, read_answers, write_answers
from console.web.review.own_items import alias, by_reviewer
from storage import tables


def show_questions(item: int, run: tables.Run, drafted: str) -> None:
    """Draw the questions of the run with the drafted answers; an answer is saved at once."""
    if not (asked := list_questions(run)):
        return
    kept = read_answers(drafted)
    with st.container(key="questions"):
        for question in asked:
            key = _key(item, question.key)
            if key not in st.session_state and kept.get(question.key) in question.choices:
                st.session_state[key] = kept[question.key]
            st.pills(question.text, question.choices, format_func=str, key=key, on_change=_keep, args=(item, asked))


def collect_answers(item: int, asked: Sequence[Question]) -> dict[str, Answer]:
    """Return the answers on the page, by the key of the question."""
    found = {question.key: st.session_state.get(_key(item, question.key)) for question in asked}
    return {key: answer for key, answer in found.items() if answer is not None}


@by_reviewer
def _keep(identity: Identity, item: int, asked: Sequence[Question]) -> None:
    answers = write_answers(collect_answers(item, asked))
    review_queue().save_draft(item_id=item, reviewer=identity.name, answers=answers, now_ms=now_ms())


def _key(item: int, question: str) -> str:
    return f"question-{alias(item)}-{question}"
