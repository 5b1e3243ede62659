"""Earlier trials of the same task: what was done then and now, and what was said about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

import streamlit as st

from console.review.blinding import EarlierTrial
from console.widgets.markup import plain

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
    return f'<div class="ia-sheet ia-earlier"><h2>Earlier trials</h2>{drawn}</div>'


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
        ("your words", trial.own_words),
        ("decision", trial.decision),
        ("feedback", trial.feedback),
        ("outcome", trial.outcome),
    )
    lines = "".join(f"<dt>{name}</dt><dd>{plain(value)}</dd>" for name, value in facts if value)
    told = f'<dl class="ia-facts">{lines}</dl>' if lines else ""
    kinds = [kind for kind, _ in compared(trial.actions, now)]
    change = f"{kinds.count('added')} added, {kinds.count('removed')} removed, {kinds.count('kept')} kept"
    return (
        f'<section class="ia-trial"><h3>trial {trial.trial}</h3>{told}'
        f'<details class="ia-fold"><summary data-note="{change}">actions, then and now</summary>'
        f"{diff_of_actions(trial.actions, now)}</details></section>"
    )
