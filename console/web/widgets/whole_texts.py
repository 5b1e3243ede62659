"""The whole texts of a presentation, beneath its steps: each text that is shown in part, all of it at a press."""

from __future__ import annotations

from zlib import crc32

import streamlit as st

from console.language import _, digits
from console.review.long_texts import cut_texts
from console.review.presentation import Presentation
from console.web.widgets.markup import in_blocks, plain


def show_whole_texts(presentation: Presentation) -> None:
    """A button for each cut text, and the text beneath it once that was pressed."""
    texts = list(cut_texts(presentation))
    if not texts:
        return
    with st.container(key="whole-texts"):
        st.html(f'<h2 class="ia-whole-head">{plain(_("Whole texts"))}</h2>')
        for name, text in texts:
            _show(name, text)


def opened_texts(presentation: Presentation) -> frozenset[str]:
    """The names of the cut texts that this tab shows whole."""
    return frozenset(name for name, text in cut_texts(presentation) if st.session_state.get(_key(name, text)))


def _show(name: str, text: str) -> None:
    key = _key(name, text)
    is_open = bool(st.session_state.get(key))
    label = _("{text}: show less") if is_open else _("{text}: show all {count} characters")
    label = label.format(text=_named(name), count=digits(len(text)))
    st.button(label, key=f"{key}-button", type="tertiary", on_click=_turn, args=(key, not is_open))
    if is_open:
        st.html(f'<div class="ia-sheet"><div class="ia-whole" tabindex="0">{in_blocks(text)}</div></div>')


def _named(name: str) -> str:
    """The name of a text, such as `step 3, observation`, in the reader's language."""
    step, _comma, part = name.rpartition(", ")
    if not step:
        return _(part)
    return _("step {number}, {tool}").format(number=step.removeprefix("step "), tool=_(part))


def _turn(key: str, wanted: bool) -> None:
    st.session_state[key] = wanted


def _key(name: str, text: str) -> str:
    return f"whole-{crc32(text.encode('utf-8', 'replace')):x}-{name.replace(' ', '-').replace(',', '')}"
