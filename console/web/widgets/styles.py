"""The look of the whole application, in one message per run of a page."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import streamlit as st

_SHEETS = ("page.css", "lists.css", "rows.css", "sheet.css", "timeline.css", "study.css")


def load_styles() -> None:
    """Loads the style sheets; called once, before anything is drawn. They take no room on the page."""
    st.html(_styles())


@lru_cache(maxsize=1)
def _styles() -> str:
    folder = files(__package__).joinpath("look")
    return f"<style>{''.join(folder.joinpath(name).read_text('utf-8') for name in _SHEETS)}</style>"
