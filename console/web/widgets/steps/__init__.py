"""The steps below those that the window first shows, drawn right after them; a click unfolds any step of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any
from zlib import crc32

import streamlit as st

from console.language import _

_HTML = '<div class="ia-sheet"><ol class="ia-steps"></ol></div>'


def show_further_steps(rows: Sequence[str], view: str) -> None:
    """Draws the rows of `timeline_rows` beneath the HTML of a view; what is unfolded stays open until another comes."""
    _component()(
        key="ia-steps", data={"rows": list(rows), "view": crc32(view.encode()), "toggle": _("step {number} in full")}
    )


@lru_cache(maxsize=1)
def _component() -> Callable[..., Any]:
    script = files(__package__).joinpath("steps.js").read_text("utf-8")
    return st.components.v2.component("inferact_steps", html=_HTML, js=script, isolate_styles=False)
