"""What only the page shows beside an analysis: the paper's own figures, and one participant's run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from console.database import reading
from console.detection.evaluation import paper
from console.studies.results import condition_runs
from console.web.detectors import oversight
from console.web.studies.results_data import Results
from console.web.studies.results_parts import say
from console.web.widgets.tables import show_rows
from storage import tables


def _paper(found: Results, _chosen: Mapping[str, str]) -> None:
    with st.expander(f"Beside it: the {paper.SOURCE}, Table 9"):
        st.caption(
            "The paper's own user study: three people, 100 WebShop tasks, words as feedback, success after trial 3 "
            "(33.0% in trial 0). Not measured here."
        )
        if found.environment != "webshop":
            st.caption(f"It is of WebShop; this study is of {found.environment or 'a log'}.")
        rows = [
            {"detector": one.detector, "people": f"{one.people:.1f} ± {one.sd:.1f}", "model": f"{one.model:.1f}"}
            for one in paper.user_study()
        ]
        titles = {"detector": "detector", "people": "people's feedback, %", "model": "GPT-4-Turbo's feedback, %"}
        show_rows(rows, titles, numbers=("people", "model"), label="Table 9")


def _participant(found: Results, chosen: Mapping[str, str]) -> None:
    """The oversight curve of one participant's run, of the chosen condition where one was chosen."""
    condition = chosen.get("condition")
    with reading() as session:
        begun = [run for run in condition_runs.condition_runs(session, found.study_id) if run.run_id is not None]
    inside = {run.participant: run.run_id for run in begun if condition in (None, run.condition)}
    if not inside:
        say("No condition has begun yet, so nothing was inspected.")
        return
    who = st.selectbox("Participant", list(inside), key="study-participant")
    with reading() as session:
        run = session.get_one(tables.Run, inside[who])
    st.caption(f"From here on: {who} alone.")
    oversight.oversight_of(run.name)


EXTRAS: dict[str, Callable[[Results, Mapping[str, str]], None]] = {"success": _paper, "oversight": _participant}
"""By the analysis that they stand below; each is told what was chosen there."""
