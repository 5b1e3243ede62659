"""The versions of a gate's policy on the Runs page: the form for the next version, the history, and the rollback."""

from __future__ import annotations

import streamlit as st

from console.database import now_ms, reading, writing
from console.errors import Refused
from console.gate.policy import policy_store, read_policy
from console.gate.policy.lint import list_known_people, list_warnings
from console.gate.policy.policy_store import PolicyVersion
from console.runs import iso
from console.web.flash import finish, refusals_shown
from console.web.sign_in import current_identity
from console.web.widgets.messages import show_done
from console.web.widgets.tables import show_grid
from storage import tables

_MOST_ALLOWED = 200
_ALLOWED_COLUMNS = ("Time (UTC)", "agent", "tool", "rule", "version")


def policy_form(run: tables.Run, version: PolicyVersion) -> None:
    """Draw the form for the next version, which stores a text only after showing its difference."""
    with st.form("policy", border=False):
        text = st.text_area("Policy (YAML)", version.text, height=320, key=f"policy-{run.id}-{version.id}")
        with st.container(horizontal=True):
            saved = st.form_submit_button("Save policy", type="primary")
            checked = st.form_submit_button("Check policy")
    shown = f"policy-shown-{run.id}-{version.id}"
    with refusals_shown():
        if saved and st.session_state.get(shown) == text:
            _store(run, version, text)
        if checked or saved:
            policy = read_policy(text)
            with reading() as session:
                warnings = list_warnings(policy, list_known_people(session))
            show_done(policy_store.describe_savable(policy))
            for said in warnings:
                st.warning(said)
            _show_difference(version, text, "the text above")
            st.session_state[shown] = text
            if saved:
                st.info("The text below shows the difference. Press Save policy again to store the new version.")


def policy_history(run: tables.Run, version: PolicyVersion) -> None:
    """Draw the versions of the run's own policy, the difference to one of them, and the button that returns to it."""
    with reading() as session:
        versions = policy_store.list_versions(session, run)
    if len(versions) < 2:
        return
    with st.expander(f"History: {len(versions)} versions"):
        stored = [(one.version, one.author, iso(one.created_ms)[:16].replace("T", " ")) for one in versions]
        rows = [dict(zip(("Version", "Author", "Stored (UTC)"), one, strict=True)) for one in stored]
        show_grid(rows, "Versions of the policy", key=f"versions-{run.id}", width="content")
        earlier = {one.version: one for one in versions[1:]}
        chosen = st.selectbox("Compare with version", list(earlier), key=f"earlier-{run.id}-{version.id}", width=360)
        _show_difference(version, earlier[chosen].text, f"version {chosen}")
        if st.button(f"Return to version {chosen}", key=f"return-{run.id}-{version.id}"):
            with refusals_shown():
                _store(run, version, earlier[chosen].text)


def draw_allowed_checks(run: tables.Run) -> None:
    """Draw the checks that the policy allowed without a review, with a filter by rule."""
    with reading() as session:
        rules = policy_store.list_allowing_rules(session, run)
    with st.expander("Allowed checks"):
        if not rules:
            st.caption("No stored check was allowed without a review.")
            return
        chosen = st.selectbox("Rule", ["All rules", *rules], key=f"allowed-rule-{run.id}", width=360)
        rule = None if chosen not in rules or chosen == "All rules" else chosen
        with reading() as session:
            rows = policy_store.list_allowed(session, run, rule, _MOST_ALLOWED)
        shown = [row | {"Time (UTC)": row["at"][:19].replace("T", " ")} for row in rows]
        show_grid(shown, "Allowed checks", _ALLOWED_COLUMNS, key=f"allowed-{run.id}", width="content")
        st.caption(f"The table lists at most the newest {_MOST_ALLOWED} checks. The Export page has all checks as CSV.")


def _show_difference(version: PolicyVersion, text: str, name: str) -> None:
    found = policy_store.describe_difference(version.text, text)
    st.caption(f"From version {version.version} to {name}:" if found else f"Version {version.version} equals {name}.")
    if found:
        st.code(found, language="diff")


def _store(run: tables.Run, seen: PolicyVersion, text: str) -> None:
    """Store the text as the next version; raise Refused if the version that the user saw is no longer the newest."""
    identity = current_identity()
    with writing() as session:
        gate = policy_store.get_gate_run(session, run.name)
        newest = policy_store.effective_version(session, gate)
        if newest is None or newest.id != seen.id:
            raise Refused("Another person saved a version in the meantime. Reload the page and compare again.")
        version = policy_store.save(session, gate, text, identity.name if identity else "console", now_ms())
    finish(f"Saved as version {version.version}; it applies from the next check.")
