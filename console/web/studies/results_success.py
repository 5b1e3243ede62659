"""Success over trials: condition by condition, as the paper prints it, with its own figures beside."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from console.detection.evaluation import paper
from console.studies.report import sentences
from console.web.studies import results_parts_ui
from console.web.studies.results_data import Results
from console.web.widgets.tables import show_rows

_COUNTS = {
    "undecided run": (
        "run after their trial",
        "Undecided ones run after their trial, as the InferAct paper counts.",
    ),
    "undecided held": ("stay held", "Undecided ones stay held and count as not solved."),
}


def show(found: Results) -> None:
    """Mean and spread over participants by condition and trial."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        whole = results_parts_ui.reviewers(found.analysis("success"), "success")
        count = st.segmented_control(
            "Undecided actions",
            list(_COUNTS),
            default="undecided run",
            format_func=lambda name: _COUNTS[name][0],
            key="success-count",
            required=True,
        )
    table = whole[whole["count"] == count]
    results_parts_ui.say(sentences.of_success(table))
    if table.empty:
        return
    results_parts_ui.chart(found, "study-success", table)
    st.markdown("**Solved, per cent: mean ± SD over participants, and the 95% interval of the mean**")
    show_rows(_printed(table), _titles(table), numbers=list(_titles(table))[1:], label="Success")
    st.caption(_COUNTS[count][1])
    results_parts_ui.download(found, "success", whole)
    _paper(found)


def _titles(table: pd.DataFrame) -> dict[str, str]:
    return {"condition": "condition", **{f"t{trial}": f"trial {trial}" for trial in sorted(table["trial"].unique())}}


def _printed(table: pd.DataFrame) -> list[dict[str, str]]:
    rows: dict[str, dict[str, str]] = {}
    for row in table.itertuples():
        cells = rows.setdefault(str(row.condition), {"condition": str(row.condition)})
        cells[f"t{row.trial}"] = _cell(row)
    return list(rows.values())


def _cell(row: object) -> str:
    mean, sd, low, high = (float(getattr(row, name)) * 100 for name in ("mean", "sd", "low", "high"))
    spread = "" if pd.isna(sd) else f" ± {sd:.1f}"
    span = "" if pd.isna(low) else f" ({max(low, 0):.0f} to {min(high, 100):.0f})"
    return f"{mean:.1f}{spread}{span}"


def _paper(found: Results) -> None:
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
