"""Trial history of a task: its earlier trials beside the present one, and the lineage from feedback to retry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from console.language import _
from console.review.blinding import EarlierTrial
from console.web.widgets.markup import plain

_SIGNS = {"kept": " ", "removed": "−", "added": "+"}


def show_earlier_trials(trials: Sequence[EarlierTrial], now: Sequence[str]) -> None:
    """Draws the earlier trials of a task, the latest first; nothing where there is none."""
    if trials:
        st.html(earlier_trials_html(trials, now))


def earlier_trials_html(trials: Sequence[EarlierTrial], now: Sequence[str]) -> str:
    """Each earlier trial with its actions against those of the present one, as one line of HTML.

    What a blind run hides is None in the trial and absent here.
    """
    latest_first = sorted(trials, key=lambda trial: trial.trial, reverse=True)
    drawn = "".join(_trial(trial, now) for trial in latest_first)
    return f'<div class="ia-sheet ia-earlier"><h2>{plain(_("Earlier trials"))}</h2>{drawn}</div>'


def last_words_html(trials: Sequence[EarlierTrial], now: Sequence[str], trial: int) -> str:
    """What the reviewer said of the task before, and whether it changed anything, as HTML; empty without any words."""
    said = [earlier for earlier in trials if earlier.own_words]
    if not said:
        return ""
    last = max(said, key=lambda earlier: earlier.trial)
    when = _("Last time you said “{words}”: {change}")
    if last.trial != trial - 1:
        when = _("In trial {trial} you said “{words}”: {change}")
    change = f"<b>{plain(_change(last.actions, now))}</b>"
    told = plain(when).format(trial=last.trial, words=plain(last.own_words), change=change)
    return f'<p class="ia-last-words" role="note">{told}</p>'


def _change(before: Sequence[str], now: Sequence[str]) -> str:
    kinds = [kind for kind, _action in compared(before, now)]
    if {*kinds} <= {"kept"}:
        return _("it changed nothing.")
    told = _("{gone} of its actions are gone, {new} are new, and it ends in another action.")
    if before[-1:] == now[-1:]:
        told = _("{gone} of its actions are gone, {new} are new, and it ends in the same action.")
    return told.format(gone=kinds.count("removed"), new=kinds.count("added"))


def diff_of_actions(before: Sequence[str], after: Sequence[str]) -> str:
    """Two lists of actions as one: kept, removed (only before) and added (only after), as HTML."""
    rows = "".join(
        f'<li class="ia-{kind}"><span class="ia-sign">{_SIGNS[kind]}</span><code>{plain(action)}</code></li>'
        for kind, action in compared(before, after)
    )
    return f'<ol class="ia-diff">{rows}</ol>'


def compared(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of `kept`, `removed` or `added` and an action, in the order of reading."""
    for tag, i, j, k, n in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (("kept", action) for action in before[i:j])
        else:
            yield from (("removed", action) for action in before[i:j])
            yield from (("added", action) for action in after[k:n])


def _trial(trial: EarlierTrial, now: Sequence[str]) -> str:
    facts = (
        (_("your words"), trial.own_words),
        (_("decision"), trial.decision),
        (_("feedback"), trial.feedback),
        (_("outcome"), _(trial.outcome) if trial.outcome else None),
    )
    lines = "".join(f"<dt>{plain(name)}</dt><dd>{plain(value)}</dd>" for name, value in facts if value)
    listed = f'<dl class="ia-facts">{lines}</dl>' if lines else ""
    kinds = Counter(kind for kind, _action in compared(trial.actions, now))
    change = _("{added} added, {removed} removed, {kept} kept")
    change = change.format(added=kinds["added"], removed=kinds["removed"], kept=kinds["kept"])
    return (
        f'<section class="ia-trial"><h3>{plain(_("trial {trial}").format(trial=trial.trial))}</h3>{listed}'
        f'<details class="ia-fold"><summary data-note="{plain(change)}">{plain(_("actions, then and now"))}</summary>'
        f"{diff_of_actions(trial.actions, now)}</details></section>"
    )


def show_lineage(history: Sequence[dict[str, Any]], *, run: str, opened: int, replayed: bool) -> None:
    """Draws the trials of one task with the decisions between them; says so where they are replayed from a log."""
    st.html(lineage_html(history, run=run, opened=opened, replayed=replayed))


def lineage_html(history: Sequence[dict[str, Any]], *, run: str, opened: int, replayed: bool) -> str:
    """The lineage as one line of HTML: what each trial began with, its outcome, the decisions on it."""
    note = '<p class="ia-note">Replayed: each later trial was recorded before this feedback was given.</p>'
    rows = "".join(_lineage_trial(entry, run, opened=opened) for entry in history)
    return f'<div class="ia-lineage"><h2>Lineage</h2>{note if replayed else ""}<ol>{rows}</ol></div>'


def _lineage_trial(entry: dict[str, Any], run: str, *, opened: int) -> str:
    here = ' aria-current="true"' if entry["trajectory_id"] == opened else ""
    copied = " · carried over" if entry["carried_over"] else ""
    released = " · run by the simulation" if entry.get("released_by") else ""
    query = plain(urlencode({"run": run, "id": entry["trajectory_id"]}))
    link = f'<a href="?{query}" target="_self">Trial {entry["trial"]}</a>'
    rows = "".join(
        [*(_memory(memory) for memory in entry.get("memory") or ()), *(_answer(given) for given in entry["decisions"])]
    )
    return (
        f'<li{here}><b>{link}</b> <span class="ia-out">{plain(entry["outcome"])}{copied}{released}</span>'
        f"{f'<ul>{rows}</ul>' if rows else ''}</li>"
    )


def _memory(memory: dict[str, Any]) -> str:
    source = f"decision {memory['decision_id']}" if memory["decision_id"] else plain(str(memory["origin"]))
    return f'<li class="ia-out">began with “{plain(memory["text"])}” ({source}, trial {memory["trial"]})</li>'


def _answer(answer: dict[str, Any]) -> str:
    words = f" “{plain(answer['feedback_text'])}”" if answer["feedback_text"] else ""
    state = "" if answer["delivered"] else " (not delivered yet)"
    return f"<li>{plain(answer['decision'])} by {plain(answer['reviewer'])}{words}{state}</li>"
