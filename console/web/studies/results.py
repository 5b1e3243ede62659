"""The results of a study, analysis by analysis, with what only the page shows; only the one looked at is worked out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from console.database import reading
from console.studies.analysis import ANALYSES
from console.studies.results import Headline, condition_runs
from console.web.detectors import oversight
from console.web.studies import picker, results_parts
from console.web.studies.results_data import Results, results_of
from console.web.widgets.messages import show_empty_state
from storage import tables


def show(study: tables.Study) -> None:
    """Draws the headline and the chosen analysis."""
    found = results_of(study)
    head = found.headline()
    _headline(head)
    if not head.decisions and not head.arms_done:
        show_empty_state(
            "No results yet",
            "They come with the first decision: open the study on its board, then invite people or simulate.",
        )
        return
    titles = {name: analysis.tab for name, analysis in ANALYSES.items()}
    key = picker.chosen_view("Part", titles, "part", "study_part")
    chosen = results_parts.show(found, key, ANALYSES[key])
    if key in EXTRAS:
        EXTRAS[key](found, chosen)


def _headline(head: Headline) -> None:
    people = head.places - head.simulated
    parts = (
        f"people finished <b>{head.finished} of {people}</b>" if people else "simulated reviewers only",
        f"conditions done <b>{head.arms_done} of {head.arms}</b>{', simulated ones too' if head.simulated else ''}",
        f"decisions by people <b>{head.human_decisions:,}</b>" if people else "",
        f"by simulated reviewers <b>{head.decisions - head.human_decisions:,}</b>" if head.simulated else "",
        "practice and checks left out",
        f"people take <b>{head.mean_seconds:.0f} s</b> each" if head.mean_seconds is not None else "",
    )
    st.html(f'<div class="ia-status">{"".join(f"<span>{part}</span>" for part in parts if part)}</div>')


def _participant(found: Results, chosen: Mapping[str, str]) -> None:
    """The oversight curve of one participant's run, of the chosen condition where one was chosen."""
    condition = chosen.get("condition")
    with reading() as session:
        begun = [run for run in condition_runs.condition_runs(session, found.study_id) if run.run_id is not None]
    inside = {run.participant: run.run_id for run in begun if condition in (None, run.condition)}
    if not inside:
        results_parts.say("No condition has begun yet, so nothing was inspected.")
        return
    who = st.selectbox("Participant", list(inside), key="study-participant", width=320)
    with reading() as session:
        run = session.get_one(tables.Run, inside[who])
    st.caption(f"From here on: {who} alone.")
    oversight.oversight_of(run.name)


EXTRAS: dict[str, Callable[[Results, Mapping[str, str]], None]] = {"oversight": _participant}
"""By the analysis that they stand below; each is told what was chosen there."""
