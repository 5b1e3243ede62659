"""The style sheets of the whole application, in one message per run of a page.

The module stands alone because the app loads them before any widget is drawn.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import streamlit as st

_STYLE_SHEETS = ("page.css", "lists.css", "rows.css", "presentation.css", "timeline.css", "study.css")


def load_styles() -> None:
    """Loads the style sheets; called once, before anything is drawn. They take no room on the page."""
    st.html(_styles())


@lru_cache(maxsize=1)
def _styles() -> str:
    folder = files(__package__).joinpath("css")
    return f"<style>{''.join(folder.joinpath(name).read_text('utf-8') for name in _STYLE_SHEETS)}</style>"
