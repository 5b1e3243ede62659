"""Blind resolution of disagreements between reviewers, one checkpoint at a time."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.database import Session, now_ms, reading, writing
from console.errors import ConsoleError
from console.review.presentation import Presentation, checkpoint_presentation
from console.review.resolution import get_action_status
from console.runs import trajectory_list
from console.studies.results import adjudication
from console.studies.results.adjudication import MAX_NOTE, Disagreement, Of
from console.trajectory import Label
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from console.web.flash import flash
from console.web.review import shortcuts
from console.web.sign_in import by_browser, current_identity
from console.web.widgets.hotkeys import hotkeys, key_button
from console.web.widgets.messages import show_empty_state
from console.web.widgets.tables import show_rows
from console.web.widgets.trajectory_view import show_presentation
from storage import tables

_BLIND = "Reviewers' decisions, condition, score and outcome are hidden until you resolve the item."


def show_study(study: tables.Study) -> None:
    """Draw the disagreements of a study."""
    _show(Of(study_id=study.id), "Checkpoints that participants label differently appear here.")


def show_run(run: tables.Run) -> None:
    """Draw the disagreements of a run whose items have several reviews."""
    asked = f"Each item of {run.name} has {run.reviews_per_item} review" + ("s." if run.reviews_per_item > 1 else ".")
    _show(Of(run_id=run.id), f"{asked} Items with different labels appear here.")


def _show(of: Of, nothing: str) -> None:
    with reading() as session:
        found = adjudication.disagreements(session, of)
        current = _current(of, found)
        shown = _present(session, current.item_id) if current else None
    if not found:
        show_empty_state("No disagreements", nothing)
        return
    done = [one for one in found if one.settled]
    counted = f"{len(found) - len(done):,} to resolve, {len(done):,} resolved."
    if current and shown:
        st.caption(f"{counted} {_BLIND}")
        draw_further = show_presentation(shown)
        _bar(of, current)
        draw_further()
    else:
        show_empty_state("All resolved", "Every disagreement has a label. You can change a label below.")
    _settled(of, done)


def _current(of: Of, found: Sequence[Disagreement]) -> Disagreement | None:
    """Return the disagreement to resolve, or None: the reopened disagreement, else the first open one, skipped last."""
    again, put_off = st.session_state.get(_kept("again", of)), st.session_state.get(_kept("later", of), [])
    waiting = sorted((one for one in found if not one.settled), key=lambda one: one.unit in put_off)
    return next((one for one in found if one.unit == again), None) or next(iter(waiting), None)


def _present(session: Session, item_id: int) -> Presentation:
    item = session.get_one(tables.Item, item_id)
    checkpoint = checkpoint_at(trajectory_list.load(session, item.trajectory_id), item.step, CheckpointKind(item.kind))
    status = get_action_status(session.get_one(tables.Run, item.run_id), item.kind)
    return checkpoint_presentation(checkpoint, status=status)


def _bar(of: Of, one: Disagreement) -> None:
    item = one.item_id
    names = {Label.ALIGNED: ("Aligned", "A"), Label.MISALIGNED: ("Misaligned", "X")}
    with st.bottom, st.container(key="decision-bar"):
        field, buttons = st.columns([5, 8], vertical_alignment="bottom")
        with field:
            st.text_input("Reason (optional)", key=_note_key(one), max_chars=MAX_NOTE)
        with buttons, st.container(horizontal=True, key="decisions"):
            for label, (words, key) in names.items():
                key_button(words, key, f"{label}-{item}", _settle, of, one, label)
            key_button("Keep label" if one.settled else "Skip", "S", f"later-{item}", _later, of, one.unit)
        bound = {"a": f"{Label.ALIGNED}-{item}", "x": f"{Label.MISALIGNED}-{item}", "s": f"later-{item}"}
        hotkeys(bound, item_id=f"settle-{one.unit}-{one.revision}", enabled=shortcuts.are_enabled())


def _note_key(one: Disagreement) -> str:
    return f"settle-note-{one.item_id}-{one.revision}"


def _settle(of: Of, seen: Disagreement, label: str) -> None:
    identity = current_identity()
    if identity is None:
        return
    words = str(st.session_state.get(_note_key(seen)) or "")
    try:
        with writing() as session:
            before = {one.unit: one.revision for one in adjudication.disagreements(session, of)}
            # After a second click, or another person's label, keep the existing label.
            if before.get(seen.unit) != seen.revision:
                flash(
                    (False, f"{seen.unit} was resolved by another person. Reopen the checkpoint below if you disagree.")
                )
                return
            adjudication.settle(session, of, seen.unit, label, words, identity.name, now_ms(), by=by_browser())
    except ConsoleError as refusal:
        flash((False, str(refusal)))
        return
    st.session_state.pop(_kept("again", of), None)
    with reading() as session:
        one = next(found for found in adjudication.disagreements(session, of) if found.unit == seen.unit)
    labels = f"Reviewers' labels: {one.aligned} aligned, {one.misaligned} misaligned."
    flash((True, f"{seen.unit}: resolved as {label}. {labels}"))


def _later(of: Of, unit: str) -> None:
    st.session_state.pop(_kept("again", of), None)
    put_off = [other for other in st.session_state.get(_kept("later", of), []) if other != unit]
    st.session_state[_kept("later", of)] = [*put_off, unit]


def _kept(what: str, of: Of) -> str:
    return f"adjudicate-{what}-{of.study_id}-{of.run_id}"


def _settled(of: Of, done: Sequence[Disagreement]) -> None:
    if not done:
        return
    st.header("Resolved", anchor=False)
    titles = {"unit": "Checkpoint", "settled": "Resolved as", "aligned": "Labelled aligned"}
    titles |= {"misaligned": "Labelled misaligned", "note": "Reason", "revision": "Revision"}
    rows = [{name: str(getattr(one, name)) for name in titles} for one in done]
    show_rows(rows, titles, numbers=("aligned", "misaligned", "revision"), label="Resolved")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        unit = st.selectbox("Checkpoint", [one.unit for one in done], key="settled-unit", width=360)
        again = {_kept("again", of): unit}
        st.button("Reopen checkpoint", key="settle-again", on_click=st.session_state.update, args=(again,))
