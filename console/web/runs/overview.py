"""The overview at the top of a run's page: its loop as a picture, who is at work, success and budget; it stays live."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from console import runs
from console.database import now_ms, reading
from console.detection import oversight
from console.review.overview import DEFINITIONS, Overview, ReviewerAtWork, overview
from console.web.run_files import show_burn_down, show_run_chart
from console.web.waking import any_change, wake_when_other
from console.web.widgets.loop_picture import loop_html
from console.web.widgets.markup import plain
from console.web.widgets.status import age
from console.web.widgets.tables import show_rows
from storage import tables
from storage.tables import RunKind

_PAUSE_S = 3.0
"""However much happens, the overview is counted no more often."""

_UNAIDED = (
    "“Solved” counts the tasks solved by then, with all that reviewers did. “Nobody had answered” counts those of them "
    "on which nobody had up to the attempt that solved them, so it owes nothing to reviewers. How the rest would "
    "have ended without an answer nobody knows, and nothing here assumes it. Passing an item on is no answer."
)
_RECORDED = "As the log records it: all trials of this run were over before anybody answered here."
_STAGES = {
    "attempts": "attempts",
    "judged": "judged",
    "flagged": "flagged, or asked about",
    "stuck": "got stuck",
    "inspected": "inspected",
    "answers": "approved, rejected, edited, answered, passed on",
    "solved": "solved",
    "again": "tried again",
}


@st.fragment
def show_overview(run_name: str) -> None:
    """Draws the overview, and draws it anew as soon as something in it can have changed."""
    seen, at_ms = any_change(), now_ms()
    with reading() as session:
        run = runs.find(session, run_name)
        if run is None:
            st.rerun()
        found = overview(session, run, at_ms)
        burnt = oversight.burn_down(session, run)
        oldest = found.oldest
    wake_when_other(any_change, shows=seen, pause_s=_PAUSE_S)
    st.header("The loop", anchor=False)
    if not found.flows:
        st.caption("Nothing has been attempted in this run yet.")
        return
    st.html(_now_html(run, found, oldest, at_ms))
    asked, recorded = run.kind == RunKind.GATE, run.kind == RunKind.ARCHIVE
    st.html(loop_html(found.flows, asked=asked, recorded=recorded, outcomes=found.tells_outcomes))
    with st.expander("What each of these counts"):
        show_rows(
            [{"count": _STAGES[name], "is": meaning} for name, meaning in DEFINITIONS.items()],
            {"count": "Count", "is": "Is the number of"},
            label="What each count counts",
        )
    left, right = st.columns(2)
    with left:
        _success(run, found)
    with right:
        show_burn_down(run.name, burnt, page="overview", height=_CHART_PX)


def _now_html(run: tables.Run, found: Overview, oldest: tables.Item | None, at_ms: int) -> str:
    """What waits, since when, and who is at work, as HTML."""
    waits = "1 item waits" if found.waiting == 1 else f"{found.waiting:,} items wait"
    parts = [f"<b>{waits if found.waiting else 'Nothing waits'}</b>"]
    if oldest is not None:
        address = plain("/trajectories?" + urlencode({"run": run.name, "id": oldest.trajectory_id}))
        parts[0] += f', the oldest for {age(at_ms - oldest.created_ms)} (<a href="{address}">item {oldest.id}</a>)'
    working = [one for one in found.reviewers if one.is_at_work(at_ms)]
    resting = [one for one in found.reviewers if not one.is_at_work(at_ms)]
    parts.append(f"<b>At work</b> {_people(working, at_ms) or 'nobody, in the last ten minutes'}")
    if resting:
        parts.append(f"<b>Before</b> {_people(resting, at_ms)}")
    return f'<ul class="ia-now">{"".join(f"<li>{part}</li>" for part in parts)}</ul>'


_MOST = 6
_CHART_PX = 340


def _people(found: Sequence[ReviewerAtWork], at_ms: int) -> str:
    said = "; ".join(_person(one, at_ms) for one in found[:_MOST])
    return said + (f" and {len(found) - _MOST} more" if len(found) > _MOST else "")


def _person(one: ReviewerAtWork, at_ms: int) -> str:
    answers = "1 decision" if one.decisions == 1 else f"{one.decisions:,} decisions"
    last = f", the last {age(at_ms - one.last_ms)} ago" if one.last_ms is not None else ""
    holds = f", {one.holds} in hand" if one.holds else ""
    simulated = "simulated, " if one.is_simulated else ""
    return f"{plain(one.name)} ({simulated}{answers}{last}{holds})"


def _success(run: tables.Run, found: Overview) -> None:
    archive = run.kind == RunKind.ARCHIVE
    if not found.tells_outcomes:
        st.caption("Whether a task was solved stands in no record of this run, so no success is drawn.")
        return
    rows = [(one.trial, "solved", one.tasks, found.tasks) for one in found.solved]
    if not archive:
        rows += [(one.trial, "nobody had answered", one.unaided, found.tasks) for one in found.solved]
    if len(found.solved) < 2:
        first = found.solved[0]
        unaided = "" if archive else f" On {first.unaided:,} of those nobody had answered."
        st.markdown(f"Trial {first.trial}: **{first.tasks:,} of {found.tasks:,}** tasks are solved.{unaided}")
    else:
        table = pd.DataFrame(rows, columns=["trial", "line", "solved", "tasks"])
        show_run_chart(run.name, "trial-success", table, page="overview", height=_CHART_PX)
    st.caption(_RECORDED if archive else _UNAIDED)
