"""The list of what came of a reviewer's words: the words, what the next attempt did otherwise, how it ended.

It stands alone, as the other widgets do, so that no page writes HTML.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.language import _, ngettext
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
    where = _("trial {trial} · item {number}").format(trial=one.trial, number=row.item_id)
    return (
        f'<li class="ia-aftermath"><p class="ia-asked-for">{_task(one.instruction)}</p>'
        f'<p class="ia-given"><b>{plain(_(row.decision))}</b> · <code>{plain(preview(one.action))}</code>'
        f" · <span>{plain(where)}</span></p>{words}{edited}{_outcome(one)}</li>"
    )


def _task(text: str) -> str:
    if len(text) <= _CHARS:
        return plain(text)
    return fold(plain(preview(text, _CHARS)), _("show all"), text, (), "")


def _outcome(one: Aftermath) -> str:
    if one.after is None:
        return f'<p class="ia-came">{plain(one.state)}</p>'
    kinds = [kind for kind, _action in compared(one.before, one.after)]
    removed, added = kinds.count("removed"), kinds.count("added")
    change = _("nothing: the same actions again")
    if removed or added:
        change = ngettext("{count} action gone, {added} new", "{count} actions gone, {added} new", removed)
        change = change.format(count=removed, added=added)
    # What changed is what the page is for; what did not is one line.
    opened = " open" if removed or added else ""
    css = "ia-stamp ia-solved" if one.is_solved else "ia-stamp"
    return (
        f'<p class="ia-came">{plain(_("next attempt"))} <b class="{css}">{plain(one.ending)}</b></p>'
        f'<details class="ia-fold"{opened}><summary data-note="{plain(change)}">{plain(_("what changed"))}</summary>'
        f"{diff_of_actions(one.before, one.after)}</details>"
    )
