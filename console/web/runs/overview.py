"""The overview of a run: its trials, active reviewers, success and budget, updated automatically."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from console import runs
from console.database import now_ms, reading
from console.detection import oversight
from console.language import counted
from console.review.overview import Overview, ReviewerAtWork, TrialFlow, build_overview
from console.runs.status import Counts, count_expired, store_counts
from console.trajectory.strict_yaml import read_data
from console.web.live_fragments import count_changes, rerun_on_change
from console.web.run_files import show_burn_down, show_run_chart
from console.web.widgets.markup import plain, show_html, style_sheets
from console.web.widgets.status import age
from console.web.widgets.tables import show_rows
from storage import tables
from storage.tables import RunKind

_WORDS = read_data(files(__package__) / "overview.yaml", dict[str, dict[str, str]])
"""The words for the bars of a trial and for decisions, and the definitions of the bars."""
_PAUSE_S = 3.0
"""The shortest time between two updates."""
_RECENT_MS = 7 * 86_400_000

_UNAIDED = (
    "“Solved” counts tasks solved up to this trial. “Before any review” counts the tasks that were "
    "solved before any decision. Here escalations do not count as decisions. The chart does not estimate how the "
    "other tasks would have ended without a review."
)
_RECORDED = "From the log: tasks solved up to this trial. All trials of this run ended before any review here."


@st.fragment
def show_overview(run_name: str, counts: Counts, counted_at: int) -> None:
    """Draw the overview; draw it again after each change of the database.

    `counts` are the run's counts after `counted_at` changes.
    """
    store_counts()
    seen, at_ms = count_changes(), now_ms()
    with reading() as session:
        run = runs.find(session, run_name)
        if run is None:
            st.rerun()
        found = build_overview(session, run, at_ms, counts if seen == counted_at else None)
        burnt = oversight.tabulate_burn_down(session, run)
        oldest = found.oldest
        expired = sum(count_expired(session, run, at_ms - _RECENT_MS).values()) if run.kind == RunKind.GATE else 0
    rerun_on_change(count_changes, shows=seen, pause_s=_PAUSE_S)
    st.header("Trials", anchor=False)
    if not found.flows:
        st.caption("No trials yet. Import a log or start the next trial below.")
        return
    if expired:
        st.warning(f"{counted(expired, 'check')} expired without a decision in the last 7 days, so no action ran.")
    show_html(_now_html(run, found, oldest, at_ms))
    asked, recorded = run.kind == RunKind.GATE, run.kind == RunKind.ARCHIVE
    loop = loop_html(found.flows, asked=asked, recorded=recorded, outcomes=found.tells_outcomes)
    show_html(style_sheets("loop") + loop)
    if found.sample.stated and found.tells_outcomes:
        st.caption(f"Tasks solved are estimated from a sample of {found.sample.stated}; all other counts are exact.")
    with st.expander("What each bar counts"):
        show_rows(
            [{"count": _WORDS["bars"][name], "is": meaning} for name, meaning in _WORDS["definitions"].items()],
            {"count": "Bar", "is": "Counts"},
            label="What each bar counts",
        )
    # Without a chart of success, the other chart has the whole width.
    left, right = st.columns(2) if found.tells_outcomes and len(found.solved) > 1 else (st.container(), st.container())
    with left:
        _success(run, found)
    if run.feedback_mode != "none" or not burnt.empty:
        with right:
            show_burn_down(run.name, burnt, page="overview")


def _now_html(run: tables.Run, found: Overview, oldest: tables.Item | None, at_ms: int) -> str:
    waits = f"{counted(found.offered, 'item')} pending"
    parts = [f"<b>{waits if found.offered else 'No items pending'}</b>"]
    if beyond := found.waiting - found.offered:
        parts.append(f"<b>Beyond budget:</b> {counted(beyond, 'item')}")
    if oldest is not None:
        address = plain("trajectories?" + urlencode({"run": run.name, "id": oldest.trajectory_id}))
        which = f", oldest{' of all' if beyond else ''} {age(at_ms - oldest.created_ms)}"
        parts[-1] += f'{which} (<a href="{address}">item {oldest.id}</a>)'
    working = [one for one in found.reviewers if one.is_at_work(at_ms)]
    resting = [one for one in found.reviewers if not one.is_at_work(at_ms)]
    parts.append(f"<b>Active reviewers:</b> {_people(working, at_ms) or 'none in the last 10 minutes'}")
    if resting:
        parts.append(f"<b>Earlier:</b> {_people(resting, at_ms)}")
    return f'<ul class="ia-now">{"".join(f"<li>{part}</li>" for part in parts)}</ul>'


_MOST = 6


def _people(found: Sequence[ReviewerAtWork], at_ms: int) -> str:
    said = "; ".join(_person(one, at_ms) for one in found[:_MOST])
    return said + (f" and {len(found) - _MOST} more" if len(found) > _MOST else "")


def _person(one: ReviewerAtWork, at_ms: int) -> str:
    last = f", latest {age(at_ms - one.last_ms)} ago" if one.last_ms is not None else ""
    holds = f", {one.holds} claimed" if one.holds else ""
    simulated = "simulated, " if one.is_simulated else ""
    return f"{plain(one.name)} ({simulated}{counted(one.decisions, 'decision')}{last}{holds})"


def _success(run: tables.Run, found: Overview) -> None:
    if not found.tells_outcomes:
        st.caption("No success chart: this run does not record outcomes.")
        return
    first, archive = found.solved[0], run.kind == RunKind.ARCHIVE
    rows = [(one.trial, "solved", one.tasks, found.tasks) for one in found.solved]
    if not archive:
        rows += [(one.trial, "before any review", one.unaided, found.tasks) for one in found.solved]
    if len(found.solved) < 2:
        unaided = "" if archive or not first.tasks else f", {first.unaided:,} without a review"
        st.markdown(f"Trial {first.trial}: **{first.tasks:,} of {counted(found.tasks, 'task')}** solved{unaided}.")
        if archive:
            st.caption(_RECORDED)
        return
    table = pd.DataFrame(rows, columns=["trial", "line", "solved", "tasks"])
    show_run_chart(run.name, "trial-success", found.sample.add_to(table), page="overview")
    st.caption(_RECORDED if archive else _UNAIDED)


def loop_html(flows: Sequence[TrialFlow], *, asked: bool = False, recorded: bool = False, outcomes: bool = True) -> str:
    """Return a column of bars for each trial as HTML.

    `asked` is true if agents requested the reviews, and `recorded` if a log holds the next trials. Without `outcomes`,
    omit the solved tasks.
    """
    rows = [list(_rows(flow, asked, recorded, outcomes, flow is flows[-1])) for flow in flows]
    # With several reviewers per item, a trial has more decisions than attempts.
    widest, trials = max([1, *(count for bars in rows for _label, count, _css in bars)]), ""
    for flow, bars in zip(flows, rows, strict=True):
        more = {"solved earlier": flow.carried_over, "unsolved and repeated unchanged": flow.copies}
        carried = "".join(f"<p>plus {count:,} {said}</p>" for said, count in more.items() if count)
        trials += f"<li><h3>Trial {flow.trial}</h3>{carried}<dl>{''.join(_bar(*bar, widest) for bar in bars)}</dl></li>"
    return f'<ol class="ia-loop" tabindex="0" aria-label="Trials of this run">{trials}</ol>'


def _rows(flow: TrialFlow, asked: bool, recorded: bool, outcomes: bool, last: bool) -> Iterator[tuple[str, int, str]]:
    yield "attempts", flow.attempts, "attempts"
    if flow.judged is not None:
        yield "judged", flow.judged, "judged"
    yield "reviews requested" if asked else "flagged", flow.flagged, "flagged"
    for label, count in (("halted", flow.stuck), ("audits", flow.audits), ("decided in the log", flow.logged)):
        if count:
            yield label, count, "flagged"
    yield _WORDS["bars"]["inspected"], flow.inspected, "inspected"
    if flow.answers:
        yield "decisions", sum(count for _kind, count in flow.answers), "decisions"
    for kind, count in flow.answers:
        yield _WORDS["decisions"].get(kind, kind), count, f"answer {kind}"
    for label, count in (("pending", flow.waiting - flow.beyond), ("beyond budget", flow.beyond)):
        if count:
            yield label, count, "waiting"
    if outcomes and not asked:
        yield "solved", flow.solved, "solved"
    if flow.again or not last:
        yield "next trial in log" if recorded else "retried", flow.again, "again"


def _bar(label: str, count: int, css: str, widest: int) -> str:
    bar = f'<i style="--share:{count / widest:.4f}"></i>' if count else ""
    return f'<div class="{plain(css)}"><dt>{plain(label)}</dt><dd>{bar}<b>{count:,}</b></dd></div>'
