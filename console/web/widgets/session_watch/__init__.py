"""The watch of a session in an open tab: once it is over, leads to the sign-in; Streamlit would leave the page."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

import streamlit as st


def watch_session() -> None:
    """Asks the server who is signed in whenever the tab comes to the front or loses its connection."""
    _component()(key="session-watch", data={})


@lru_cache(maxsize=1)
def _component() -> Callable[..., Any]:
    script = files(__package__).joinpath("session_watch.js").read_text("utf-8")
    return st.components.v2.component("inferact_session_watch", js=script)
