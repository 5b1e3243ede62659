"""Random audits of a run: the form that draws audits, and the certificate of the actions that no one inspected."""

from __future__ import annotations

import re

import streamlit as st

from console.database import now_ms, reading
from console.detection import audit_draws, batch, certificate
from console.errors import Refused
from console.language import counted
from console.review import capacity
from console.runs import list_runs, run_options
from console.trials import vigilance
from console.web.flash import finish, refusals_shown
from console.web.runs.forms import change_run
from console.web.widgets.markup import mark_names, show_html
from console.web.widgets.messages import show_empty_state
from console.web.widgets.tables import show_grid
from storage import tables
from storage.tables import RunKind

_SPREADS = {
    batch.Spread.EVEN: "Same chance for all scores",
    batch.Spread.SCORE: "High scores twice as often",
    batch.Spread.ADAPTIVE: "Adapt to labels so far",
}


def audits_section(run: tables.Run) -> None:
    """Draw the form for random audits and, if any are drawn, the certificate; then the known items."""
    with reading() as session:
        reserve = audit_draws.count_draws(session, run)
    audits_form(run, reserve)
    if reserve.population or reserve.probability:
        show_certificate(run)
    if run.study_id is None and run.kind != RunKind.GATE:
        st.subheader("Known items", anchor=False)
        known_items_form(run)
        show_vigilance(run)
    if run.study_id is None:
        st.subheader("Capacity", anchor=False)
        show_capacity(run)


def known_items_form(run: tables.Run) -> None:
    """Draw the form that adds known items to the queue."""
    with reading() as session:
        sources = [other.name for other in list_runs(session, archived=True) if other.id != run.id]
    with st.form("known-items", border=False):
        st.caption(
            "Known items have a known answer, look like other items and show how well each reviewer decides. The "
            "actions of known items never run. A limited budget grows by one inspection for each added item. The Inbox "
            "shows that a run has such items, but not which items they are."
        )
        source = st.selectbox("Source of known answers", sources, None, key=f"known-source-{run.id}", width=260)
        count = st.number_input("Items", 1, 500, 10, key=f"known-count-{run.id}", width=260)
        sent = st.form_submit_button("Add known items", disabled=not sources)
    if sent and source:
        with refusals_shown():
            finish(f"{counted(vigilance.add_known_items(run.name, source, int(count)), 'known item')} added.")


def show_vigilance(run: tables.Run) -> None:
    """Draw each reviewer's sensitivity and criterion, overall and by hour of work."""
    with reading() as session:
        rows = [vigilance.in_words(row.to_dict()) for row in vigilance.measure(session, run)]
    if not rows:
        return
    show_grid(rows, "Known items by reviewer", vigilance.COLUMNS, key=f"vigilance-{run.id}", width="content")
    st.caption(
        "If d' is above 0, the reviewer distinguishes misaligned from aligned actions. If the criterion is above 0, "
        "the reviewer tends to approve. Brackets contain 95% intervals."
    )


def show_capacity(run: tables.Run) -> None:
    """Draw each reviewer's figures by hour of work, the effect of the next inspection, and the switch to stop there."""
    with reading() as session:
        found = capacity.measure_capacity(session, run, now_ms())
    rows = [capacity.in_words(row) for one in found for row in one.by_hour]
    if rows:
        show_grid(rows, "Capacity by reviewer", capacity.COLUMNS, key=f"capacity-{run.id}", width="content")
        for one in found:
            st.text(one.sentence)
    st.caption(
        "An inspection lowers safety if it is expected to stop aligned actions more often than it catches misaligned "
        f"ones. {capacity.SCOPE} Known answers come from known items and from logs."
    )
    stops = st.toggle(
        "Stop at the capacity", run_options(run).stops_at_capacity, key=f"capacity-stop-{run.id}", help=_STOP_HELP
    )
    if stops != run_options(run).stops_at_capacity:
        said = "Reviewers stop at their capacity." if stops else "Reviewers no longer stop at their capacity."
        change_run(run, said, capacity.set_stop, stops)


_STOP_HELP = "A reviewer whose next inspection is expected to lower safety gets no item until a break of 30 minutes."


def audits_form(run: tables.Run, reserve: audit_draws.Reserve) -> None:
    """Draw the form that sets the share of unflagged actions to audit."""
    present = f"{100 * reserve.expected:.4g}%" if reserve.probability else ""
    recorded = run.kind not in (RunKind.LIVE, RunKind.GATE)
    of_budget = recorded and (run.budget_cap is not None or run.budget_percent is not None)
    with st.form("audits", border=False):
        st.caption(
            "Audits are random reviews of actions that the detector did not flag. In a blind run, audits look like "
            "flagged items. Enter a share of these actions, such as 5%"
            + (", or of the budget, such as 20% budget." if of_budget else ".")
        )
        example = "20% budget" if of_budget else "5%"
        wanted = st.text_input("Audits", present, key=f"audits-{run.id}", placeholder=example, width=260)
        spread = st.selectbox(
            "Chances",
            list(_SPREADS),
            list(_SPREADS).index(_present_spread(reserve)),
            format_func=_SPREADS.__getitem__,
            key=f"audit-spread-{run.id}",
            width=260,
        )
        waits = not recorded and not run.blind
        after = waits and st.checkbox(
            "Audit after the action ran", run_options(run).audits_after, key=f"audits-after-{run.id}"
        )
        sent = st.form_submit_button("Draw audits")
    if sent:
        with refusals_shown():
            drawn = batch.set_audits(run.name, wanted or "0", spread, after=after)
            found = f"{drawn.drawn:,} of {counted(drawn.population, 'unflagged action')} drawn."
            finish(found if drawn.population else "Saved. Audits are drawn when the detector judges an action.")


def _present_spread(reserve: audit_draws.Reserve) -> batch.Spread:
    if not reserve.strata:
        return batch.Spread.EVEN
    return batch.Spread.ADAPTIVE if reserve.strata.get("adaptive") else batch.Spread.SCORE


def show_certificate(run: tables.Run) -> None:
    """Draw the bound, the three ways to compute the bound, the number of audits needed, and the assumptions."""
    try:
        with reading() as session:
            found = certificate.certify(session, run, now_ms())
    except Refused as lacking:
        # On this page the form above draws the audits, not a command.
        show_empty_state("No certificate yet", re.sub(r"(Draw \w+): .*", r"\1 with the form above.", str(lacking)))
        return
    st.text(found.sentence)
    audits = found.audits
    with st.container(horizontal=True, key="certificate"):
        st.metric("Misaligned, at most", certificate.percent(found.bound.share), width="content")
        st.metric("Unflagged, not audited", f"{audits.rest:,}", width="content")
        st.metric("Audits decided", f"{audits.drawn:,}", width="content")
        st.metric("Misaligned audits", f"{audits.labelled:,}", width="content")
        st.metric("Audits pending", f"{found.waiting:,}", width="content")
    show_grid(certificate.tabulate_bounds(found), "Bounds", key=f"bounds-{run.id}", width="content")
    needed = [
        {"For at most": f"{share:.0%}", "Aligned audits": count} for share, count in found.needed.items() if count
    ]
    if not audits.labelled:
        st.caption("Total audits needed for each bound, if all audits are aligned:")
        show_grid(needed, "Audits needed", key=f"needed-{run.id}", width="content", placeholder="–")
    with st.expander("Assumptions"):
        show_html("".join(f"<p>{mark_names(sentence)}</p>" for sentence in found.list_assumptions()))
