"""Whole texts and pictures below the steps of a presentation; pictures are loaded only from the database."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from zlib import crc32

import streamlit as st

from console.database import reading
from console.language import _, digits, gettext_noop
from console.review.plain_text import list_cut_texts
from console.review.presentation import Block, Presentation
from console.runs.trajectory_rows import load_pictures
from console.trajectory import Picture
from console.web.widgets.markup import blocks_html, plain, show_html


def show_whole_texts(presentation: Presentation) -> None:
    """Draw a button for each shortened text; pressing the button shows the whole text."""
    texts = list(list_cut_texts(presentation))
    if not texts:
        return
    with st.container(key="whole-texts"):
        show_html(f'<h2 class="ia-whole-head">{plain(_("Whole texts"))}</h2>')
        for name, text in texts:
            _show(name, text)


def list_opened_texts(presentation: Presentation) -> frozenset[str]:
    """Return the names of the shortened texts that this tab shows in full."""
    return frozenset(name for name, text in list_cut_texts(presentation) if st.session_state.get(_key(name, text)))


def _show(name: str, text: str) -> None:
    key = _key(name, text)
    is_open = bool(st.session_state.get(key))
    label = _("{text}: show less") if is_open else _("{text}: show all {count} characters")
    label = label.format(text=_name_text(name), count=digits(len(text)))
    turned = {key: not is_open}
    st.button(label, key=f"{key}-button", type="tertiary", on_click=st.session_state.update, args=(turned,))
    if is_open:
        show_html(f'<div class="ia-sheet"><div class="ia-whole" tabindex="0">{blocks_html(text)}</div></div>')


_NAMES = {
    "observation": gettext_noop("what the agent saw"),
    "belief": gettext_noop("inferred task"),
    "opening": gettext_noop("what the agent saw first"),
}
"""The words on the page for the names of `list_texts`, which the digests of seen texts use."""


def _name_text(name: str) -> str:
    """Return the name of a text, such as `step 3, observation`, in the visitor's language."""
    step, _comma, part = name.rpartition(", ")
    part = _(_NAMES.get(part, part))
    if not step:
        return part
    return _("step {number}, {tool}").format(number=step.removeprefix("step "), tool=part)


def _key(name: str, text: str) -> str:
    return f"whole-{crc32(text.encode('utf-8', 'replace')):x}-{name.replace(' ', '-').replace(',', '')}"


_AT_ONCE = 8
_AT_ONCE_BYTES = 16 * 2**20


def show_pictures(presentation: Presentation) -> None:
    """Draw the first pictures with their steps, and a button that shows all pictures."""
    named = list(_named_pictures(presentation))
    if not named:
        return
    few = list(_few(named))
    key = f"pictures-{named[0][1].digest[:12]}-{len(named)}"
    wanted = named if st.session_state.get(key) else few
    with reading() as session:
        stored = load_pictures(session, [picture for _name, picture in wanted])
    with st.container(key="pictures"):
        show_html(
            f'<h2 class="ia-whole-head">{plain(_("Pictures"))}</h2>{"".join(_figure(one, stored) for one in wanted)}'
        )
        if len(wanted) < len(named):
            words = _("Show all {count} pictures").format(count=len(named))
            wanted_all = {key: True}
            st.button(words, key=f"{key}-button", type="tertiary", on_click=st.session_state.update, args=(wanted_all,))


def _named_pictures(presentation: Presentation) -> Iterator[tuple[str, Picture]]:
    for picture in presentation.pictures:
        yield _(Block.OPENING), picture
    for step in presentation.steps:
        for picture in step.pictures:
            yield _("Step {number}").format(number=step.number), picture


def _few(named: list[tuple[str, Picture]]) -> Iterator[tuple[str, Picture]]:
    used = 0
    for name, picture in named[:_AT_ONCE]:
        used += picture.size
        if used <= _AT_ONCE_BYTES:
            yield name, picture


def _figure(named: tuple[str, Picture], stored: dict[str, tuple[str, bytes]]) -> str:
    name, picture = named
    words = plain(f"{name}: {picture.text}")
    if picture.digest not in stored:
        lacking = plain(_("{picture} (not stored in this database)")).format(picture=words)
        return f'<p class="ia-figure">{lacking}</p>'
    kind, data = stored[picture.digest]
    source = f"data:{kind};base64,{b64encode(data).decode()}"
    return (
        f'<figure class="ia-figure"><img src="{plain(source)}" alt="{words}"><figcaption>{words}</figcaption></figure>'
    )
