"""The Runs page's section on a gate's policy: its rules in order, what they let run, and a form to change them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from console.database import now_ms, reading, writing
from console.gate.policy import policy_store
from console.gate.policy.rules import DEADLINE_S, Policy, PolicyMode, Rule, Then
from console.web.flash import flash, guarded
from console.web.sign_in import current_identity
from console.web.widgets.messages import show_done
from storage import tables

_COLUMNS = ("rule", "then", "conditions", "terms", "because")


def policy_section(run: tables.Run) -> None:
    """The version that the run's checks go by, and the form for the next one."""
    with reading() as session:
        version = policy_store.effective(session, run)
        counts = policy_store.counts(session, run)
    if version is None:
        st.caption("No policy yet: the first check makes one that asks about everything.")
        return
    policy = version.policy
    whose = "" if version.own else " (the one of every run that has none of its own)"
    st.text(f"Version {version.version}, by {version.author}{whose}. {_last(policy)}")
    st.dataframe(_rows(policy), key=f"rules-{run.id}", hide_index=True, column_order=_COLUMNS)
    if counts:
        st.caption("What became of the checks so far, per tool; those that a rule allowed are only counted.")
        st.dataframe(counts, key=f"policy-counts-{run.id}", hide_index=True)
    _form(run, version)


def _last(policy: Policy) -> str:
    """What becomes of everything else, in plain words."""
    words = {
        Then.ALLOW: "runs without anybody looking",
        Then.JUDGE: "is judged by the detector",
        Then.ASK: "asks a person",
        Then.DENY: "is denied",
    }
    said = f"What no rule matches {words[policy.default]}."
    if policy.rules and policy.rules[-1].is_unconditional:
        said = f"What no rule before the last one matches {words[policy.rules[-1].then]}."
    if policy.mode is PolicyMode.SHADOW:
        said += " It only watches and holds nothing back."
    return said if policy.rollout >= 1 else f"{said} It counts for {policy.rollout * 100:g}% of the tasks."


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
    last = {"rule": "default", "then": str(policy.default), "conditions": "what no rule matches"}
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
        text = st.text_area("The policy as YAML", version.text, height=320, key=f"policy-{run.id}-{version.id}")
        check, save = st.columns(2)
        checked = check.form_submit_button("Check")
        saved = save.form_submit_button("Save as the next version", type="primary")
    if checked:
        guarded(_check, text)
    if saved:
        guarded(_save, run.name, text)


def _check(text: str) -> None:
    show_done(policy_store.savable(policy_store.check(text)))


def _save(run_name: str, text: str) -> None:
    identity = current_identity()
    with writing() as session:
        author = identity.name if identity else "console"
        version = policy_store.save(session, policy_store.gate_run(session, run_name), text, author, now_ms())
    flash((True, f"Saved as version {version.version}; it counts from the next check on."))
    st.rerun()
