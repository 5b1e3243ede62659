"""The trials of a task: the earlier trials next to the current trial, the lineage, and the outcome of feedback."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from console.language import _, gettext_noop, ngettext, quoted
from console.review.blinding import EarlierTrial
from console.review.decisions import name_decision
from console.review.feedback_outcomes import FeedbackOutcome
from console.review.presentation import preview
from console.web.widgets.changes import change_html, compare_lines, pair_lines
from console.web.widgets.markup import fold, plain, show_html
from console.web.widgets.tables import capitalize
from storage.tables import RunKind

_SIGNS = {"kept": " ", "removed": "−", "added": "+"}


@dataclass(frozen=True, slots=True)
class TrialColumn:
    """A trial as one of two columns: its title, its actions, and what the agent observed after each of them."""

    title: str
    actions: Sequence[str]
    notes: Sequence[str] = ()


TRIALS = (gettext_noop("Earlier trials"), gettext_noop("trial {trial}"), gettext_noop("this trial"))
ROUNDS = (gettext_noop("Earlier rounds"), gettext_noop("round {trial}"), gettext_noop("this round"))
"""The names of earlier trials for participants of a study, who count rounds from 1."""


def earlier_trials_html(trials: Sequence[EarlierTrial], now: Sequence[str], names: Sequence[str] = TRIALS) -> str:
    """Return the earlier trials as HTML, newest first, with their actions compared with the current actions.

    Omit fields that are None, because a blind run hides them. Return an empty text for the first trial.
    """
    if not trials:
        return ""
    latest_first = sorted(trials, key=lambda trial: trial.trial, reverse=True)
    drawn = "".join(_trial(trial, now, names) for trial in latest_first)
    return f'<div class="ia-sheet ia-earlier"><h2>{plain(_(names[0]))}</h2>{drawn}</div>'


def last_feedback_html(trials: Sequence[EarlierTrial], now: Sequence[str], trial: int) -> str:
    """Return the reviewer's last feedback on the task and its effect as HTML; return an empty text if there is none."""
    said = [earlier for earlier in trials if earlier.own_words]
    if not said:
        return ""
    last = max(said, key=lambda earlier: earlier.trial)
    when = _("Your feedback on the previous trial, “{words}”: {change}")
    if last.trial != trial - 1:
        when = _("Your feedback on trial {trial}, “{words}”: {change}")
    change = f"<b>{plain(_change(last.actions, now))}</b>"
    told = plain(when).format(trial=last.trial, words=plain(last.own_words), change=change)
    return f'<p class="ia-last-words" role="note">{told}</p>'


def _change(before: Sequence[str], now: Sequence[str]) -> str:
    kinds = [kind for kind, _action in compare_lines(before, now)]
    if {*kinds} <= {"kept"}:
        return _("the actions did not change.")
    told = _("actions removed: {gone}; added: {new}; different last action.")
    if before[-1:] == now[-1:]:
        told = _("actions removed: {gone}; added: {new}; same last action.")
    return told.format(gone=kinds.count("removed"), new=kinds.count("added"))


def diff_of_actions(before: Sequence[str], after: Sequence[str]) -> str:
    """Return two lists of actions as one diff, as HTML."""
    rows = "".join(
        f'<li class="ia-{kind}"><span class="ia-sign">{_SIGNS[kind]}</span><code>{plain(action)}</code></li>'
        for kind, action in compare_lines(before, after)
    )
    return f'<ol class="ia-diff">{rows}</ol>'


def side_by_side_html(left: TrialColumn, right: TrialColumn) -> str:
    """Return the actions of two trials of a task side by side as HTML, with their differences marked."""
    heads = "".join(f'<th scope="col">{plain(one.title)}</th>' for one in (left, right))
    rows = "".join(
        f"<tr>{_cell(left, i, _is_same(left, i, right, k), 'removed')}"
        f"{_cell(right, k, _is_same(left, i, right, k), 'added')}</tr>"
        for i, k in pair_lines(left.actions, right.actions)
    )
    return f'<table class="ia-beside"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _is_same(left: TrialColumn, i: int | None, right: TrialColumn, k: int | None) -> bool:
    return i is not None and k is not None and left.actions[i] == right.actions[k]


def _cell(column: TrialColumn, at: int | None, is_same: bool, kind: str) -> str:
    if at is None:
        return "<td></td>"
    css, sign = ("kept", " ") if is_same else (kind, _SIGNS[kind])
    note = column.notes[at] if at < len(column.notes) else ""
    seen = f"<small>{plain(preview(note))}</small>" if note else ""
    return (
        f'<td class="ia-{css}"><span class="ia-sign">{sign}</span><span class="ia-place">{at + 1}</span> '
        f"<code>{plain(column.actions[at])}</code>{seen}</td>"
    )


def _trial(trial: EarlierTrial, now: Sequence[str], names: Sequence[str]) -> str:
    facts = (
        (_("you wrote"), trial.own_words),
        (_("decision"), trial.decision),
        (_("feedback"), trial.feedback),
        (_("outcome"), _(trial.outcome) if trial.outcome else None),
    )
    lines = "".join(f"<dt>{plain(name)}</dt><dd>{plain(value)}</dd>" for name, value in facts if value)
    listed = f'<dl class="ia-facts">{lines}</dl>' if lines else ""
    kinds = Counter(kind for kind, _action in compare_lines(trial.actions, now))
    change = _("Actions: {added} added, {removed} removed, {kept} kept")
    change = change.format(added=kinds["added"], removed=kinds["removed"], kept=kinds["kept"])
    title = _(names[1]).format(trial=trial.trial + (names is ROUNDS))
    then, here = TrialColumn(title, trial.actions), TrialColumn(_(names[2]), now)
    return (
        f'<section class="ia-trial"><h3>{plain(title)}</h3>{listed}'
        f'<details class="ia-fold"><summary data-note="{plain(change)}">{plain(_("compare actions"))}</summary>'
        f"{side_by_side_html(then, here)}</details></section>"
    )


def lineage_html(history: Sequence[dict[str, Any]], *, run: str, opened: int, kind: str) -> str:
    """Return the memory, outcome and decisions of each trial as HTML; add a note if the run is a replay."""
    note = '<p class="ia-note">Replayed: the later trials were recorded before this feedback.</p>'
    recorded = kind == RunKind.ARCHIVE
    rows = "".join(_lineage_trial(entry, run, opened=opened, recorded=recorded) for entry in history)
    shown = note if kind == RunKind.REPLAY else ""
    return f'<div class="ia-lineage"><h2>Trials of this task</h2>{shown}<ol>{rows}</ol></div>'


def _lineage_trial(entry: dict[str, Any], run: str, *, opened: int, recorded: bool) -> str:
    here = ' aria-current="true"' if entry["trajectory_id"] == opened else ""
    copied = " · carried over" if entry["carried_over"] else ""
    released = " · run by the simulation" if entry.get("released_by") else ""
    query = plain(urlencode({"run": run, "id": entry["trajectory_id"]}))
    link = f'<a href="?{query}" target="_self">Trial {entry["trial"]}</a>'
    memory = [_memory(memory) for memory in entry.get("memory") or ()]
    rows = "".join([*memory, *(_answer(given, recorded=recorded) for given in entry["decisions"])])
    return (
        f'<li{here}><b>{link}</b> <span class="ia-out">{plain(entry["outcome"])}{copied}{released}</span>'
        f"{f'<ul>{rows}</ul>' if rows else ''}</li>"
    )


def _memory(memory: dict[str, Any]) -> str:
    source = f"decision {memory['decision_id']}" if memory["decision_id"] else plain(str(memory["origin"]))
    return (
        f'<li class="ia-out">The agent read: {quoted(plain(memory["text"]))} ({source}, trial {memory["trial"]})</li>'
    )


def _answer(answer: dict[str, Any], *, recorded: bool) -> str:
    words = f": {quoted(plain(answer['feedback_text']))}" if answer["feedback_text"] else ""
    state = " (not delivered yet)" if answer["delivered"] is False else ""
    given = capitalize(name_decision(answer["decision"], recorded=recorded))
    return f"<li>{given} by {plain(answer['reviewer'])}{words}{state}</li>"


_CHARS = 300


def show_feedback_outcomes(found: Sequence[FeedbackOutcome], *, recorded: bool) -> None:
    """Draw each decision with its feedback, and the changes and outcome of the next trial.

    `recorded` is true if the actions come from a log, so that decisions only judge them.
    """
    states = {one.state for one in found}
    shared = states.pop() if len(found) > 1 and len(states) == 1 else ""
    if shared:
        st.caption(shared)
    show_html(f'<ol class="ia-outcomes">{"".join(_feedback(one, shared, recorded=recorded) for one in found)}</ol>')


def _feedback(one: FeedbackOutcome, shared: str, *, recorded: bool) -> str:
    row = one.decision
    given = capitalize(name_decision(row.decision, recorded=recorded))
    words = f'<p class="ia-said">{quoted(plain(one.words))}</p>' if one.words else ""
    edited = change_html(one.action, row.edited_action) if row.edited_action else ""
    where = _("trial {trial} · item {number}").format(trial=one.trial, number=row.item_id)
    # A halted trial has no action.
    # On a phone, a long call breaks between its arguments.
    call = plain(preview(one.action)).replace(",", ",<wbr>")
    action = f"<code>{call}</code>" if one.action else plain(_("halted"))
    return (
        f'<li class="ia-outcome-entry"><p class="ia-asked-for">{_task(one.instruction)}</p>'
        f'<p class="ia-given"><b>{plain(given)}</b> · <span>{plain(where)}</span></p>'
        f'<p class="ia-given">{action}</p>{words}{edited}{"" if shared else _outcome(one)}</li>'
    )


def _task(text: str) -> str:
    if len(text) <= _CHARS:
        return plain(text)
    return fold(plain(preview(text, _CHARS)), _("show all"), text, (), "")


def _outcome(one: FeedbackOutcome) -> str:
    if one.after is None:
        return f'<p class="ia-came">{plain(one.state)}</p>'
    kinds = [kind for kind, _action in compare_lines(one.before, one.after)]
    removed, added = kinds.count("removed"), kinds.count("added")
    change = _("no change in the actions")
    if removed or added:
        change = ngettext("{count} action removed, {added} added", "{count} actions removed, {added} added", removed)
        change = change.format(count=removed, added=added)
    # Unfold the changes only if there are any.
    opened = " open" if removed or added else ""
    css = "ia-stamp ia-solved" if one.is_solved else "ia-stamp"
    return (
        f'<p class="ia-came">{plain(_("Next trial"))} <b class="{css}">{plain(one.ending)}</b></p>'
        f'<details class="ia-fold"{opened}><summary data-note="{plain(change)}">{plain(_("What changed"))}</summary>'
        f"{diff_of_actions(one.before, one.after)}</details>"
    )
