"""The pictures of a presentation, beneath its steps: from the console's own database, never fetched from elsewhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

import streamlit as st

from console.database import reading
from console.language import _
from console.review.presentation import Block, Presentation
from console.runs.pictures import load_pictures
from console.trajectory import Picture
from console.web.widgets.markup import plain

_AT_ONCE = 8
_AT_ONCE_BYTES = 16 * 2**20


def show_pictures(presentation: Presentation) -> None:
    """Draws the first pictures, each with its step, and a button for the others."""
    named = list(_named(presentation))
    if not named:
        return
    few = list(_few(named))
    key = f"pictures-{named[0][1].digest[:12]}-{len(named)}"
    wanted = named if st.session_state.get(key) else few
    with reading() as session:
        stored = load_pictures(session, [picture for _name, picture in wanted])
    with st.container(key="pictures"):
        st.html(
            f'<h2 class="ia-whole-head">{plain(_("Pictures"))}</h2>{"".join(_figure(one, stored) for one in wanted)}'
        )
        if len(wanted) < len(named):
            words = _("Show all {count} pictures").format(count=len(named))
            st.button(words, key=f"{key}-button", on_click=_open, args=(key,), type="tertiary")


def _named(presentation: Presentation) -> Iterator[tuple[str, Picture]]:
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
        lacking = plain(_("{picture}, which is not stored here")).format(picture=words)
        return f'<p class="ia-figure">{lacking}</p>'
    kind, data = stored[picture.digest]
    source = f"data:{kind};base64,{b64encode(data).decode()}"
    return (
        f'<figure class="ia-figure"><img src="{plain(source)}" alt="{words}"><figcaption>{words}</figcaption></figure>'
    )


def _open(key: str) -> None:
    st.session_state[key] = True
