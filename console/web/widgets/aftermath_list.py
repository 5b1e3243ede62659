"""The list of what came of a reviewer's words: the words, what the next attempt did otherwise, how it ended.

It stands alone, as the other widgets do, so that no page writes HTML.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.review.aftermath import Aftermath
from console.review.presentation import preview
from console.web.widgets.edit_change import change_html
from console.web.widgets.markup import fold, plain
from console.web.widgets.trial_history import compared, diff_of_actions

_CHARS = 300


def show_aftermaths(found: Sequence[Aftermath]) -> None:
    """Draws one entry for each answer."""
    st.html(f'<ol class="ia-aftermaths">{"".join(map(aftermath_html, found))}</ol>')


def aftermath_html(one: Aftermath) -> str:
    """One entry as a line of HTML."""
    row = one.decision
    words = f'<p class="ia-said">“{plain(one.words)}”</p>' if one.words else ""
    edited = change_html(one.action, row.edited_action) if row.edited_action else ""
    return (
        f'<li class="ia-aftermath"><p class="ia-asked-for">{_task(one.instruction)}</p>'
        f'<p class="ia-given"><b>{plain(row.decision)}</b> · <code>{plain(preview(one.action))}</code>'
        f" · <span>trial {one.trial} · item {row.item_id}</span></p>{words}{edited}{_outcome(one)}</li>"
    )


def _task(text: str) -> str:
    if len(text) <= _CHARS:
        return plain(text)
    return fold(plain(preview(text, _CHARS)), "show all", text, (), "")


def _outcome(one: Aftermath) -> str:
    if one.after is None:
        return f'<p class="ia-came">{plain(one.state)}</p>'
    kinds = [kind for kind, _ in compared(one.before, one.after)]
    removed, added = kinds.count("removed"), kinds.count("added")
    change = f"{removed} actions gone, {added} new" if removed or added else "nothing: the same actions again"
    # What changed is what the page is for; what did not is one line.
    opened = " open" if removed or added else ""
    css = "ia-stamp ia-solved" if one.is_solved else "ia-stamp"
    return (
        f'<p class="ia-came">next attempt <b class="{css}">{plain(one.ending)}</b></p><details class="ia-fold"{opened}>'
        f'<summary data-note="{change}">what changed</summary>{diff_of_actions(one.before, one.after)}</details>'
    )
