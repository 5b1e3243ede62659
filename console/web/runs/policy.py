"""A gate's policy on the Runs page: its rules, its counts and the form that changes the policy."""

from __future__ import annotations

from typing import Any

import streamlit as st

from console.database import now_ms, reading, writing
from console.gate.policy import policy_store, read_policy
from console.gate.policy.rules import DEADLINE_S, Policy, PolicyMode, Rule, Then
from console.web.flash import call_or_show_problem, flash
from console.web.sign_in import current_identity
from console.web.widgets.messages import show_done
from storage import tables

_COLUMNS = ("rule", "then", "conditions", "terms", "because")


def policy_section(run: tables.Run) -> None:
    """Draw the current version of the policy and the form for the next one."""
    with reading() as session:
        version = policy_store.effective_version(session, run)
        counts = policy_store.count_by_tool(session, run)
    if version is None:
        st.caption("No policy yet. The first check creates a policy that asks about every action.")
        return
    policy = version.policy
    whose = "" if version.own else " (the default policy)"
    st.text(f"Version {version.version}, by {version.author}{whose}. {_last(policy)}")
    st.dataframe(_rows(policy), key=f"rules-{run.id}", hide_index=True, column_order=_COLUMNS)
    if counts:
        st.caption("Checks so far, by tool. For allowed checks, only the number is stored.")
        st.dataframe(counts, key=f"policy-counts-{run.id}", hide_index=True)
    _form(run, version)


def _last(policy: Policy) -> str:
    """Return a sentence on the policy's default result, which applies to actions that no rule matches."""
    words = {
        Then.ALLOW: "runs without a review",
        Then.JUDGE: "is judged by the detector",
        Then.ASK: "asks a person",
        Then.DENY: "is denied",
    }
    said = f"An action that no rule matches {words[policy.default]}."
    if policy.rules and policy.rules[-1].is_unconditional:
        said = f"An action that only the last rule matches {words[policy.rules[-1].then]}."
    if policy.mode is PolicyMode.SHADOW:
        said += " In shadow mode the policy records its result and stops no action."
    return said if policy.rollout >= 1 else f"{said} Its rollout percentage is {policy.rollout * 100:g}% of the tasks."


def _rows(policy: Policy) -> list[dict[str, Any]]:
    rows = [
        {
            "rule": rule.name,
            "then": str(rule.then),
            "conditions": _conditions(rule) or "always",
            "terms": _terms(rule),
            "because": rule.because,
        }
        for rule in policy.rules
    ]
    last = {"rule": "default", "then": str(policy.default), "conditions": "no other rule matches"}
    return [*rows, dict.fromkeys(_COLUMNS, "") | last]


def _conditions(rule: Rule) -> str:
    lists = {"tool": rule.tool, "pattern": rule.pattern, "agent": rule.agent, "environment": rule.environment}
    said = [f"{name} {' or '.join(globs)}" for name, globs in lists.items() if globs]
    return ", ".join([*said, *([f"when {rule.when}"] if rule.when else [])])


def _terms(rule: Rule) -> str:
    said = [f"{rule.reviews} reviews"] if rule.reviews > 1 else []
    said += [f"only {' or '.join(rule.decisions)}"] if rule.decisions else []
    said += [f"within {min(rule.deadline_s, DEADLINE_S):g} s"] if rule.deadline_s else []
    said += [f"by {', '.join(rule.who)}"] if rule.who else []
    return ", ".join([*said, *([f"through {', '.join(rule.doors)}"] if rule.doors else [])])


def _form(run: tables.Run, version: policy_store.PolicyVersion) -> None:
    with st.form("policy", border=False):
        text = st.text_area("Policy (YAML)", version.text, height=320, key=f"policy-{run.id}-{version.id}")
        check, save = st.columns(2)
        checked = check.form_submit_button("Check policy")
        saved = save.form_submit_button("Save policy", type="primary")
    if checked:
        call_or_show_problem(_check, text)
    if saved:
        call_or_show_problem(_save, run.name, text)


def _check(text: str) -> None:
    show_done(policy_store.describe_savable(read_policy(text)))


def _save(run_name: str, text: str) -> None:
    identity = current_identity()
    with writing() as session:
        author = identity.name if identity else "console"
        version = policy_store.save(session, policy_store.get_gate_run(session, run_name), text, author, now_ms())
    flash((True, f"Saved as version {version.version}; it applies from the next check."))
    st.rerun()
