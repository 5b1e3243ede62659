"""The watch of a queue in an open tab: what comes to wait shows by itself, and the tab's title counts it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

import streamlit as st

from console.database import reading
from console.review import inbox

_EVERY_MS = 5_000


def show_count(title: str, waiting: int) -> None:
    """Puts the number of items that wait before the title of the tab."""
    st.set_page_config(page_title=f"{f'({waiting}) ' if waiting else ''}{title} · InferAct Console")


@st.fragment
def watch_arrivals(run_id: int | None, shown: inbox.Pulse | None) -> None:
    """Draws the page anew once the run's pulse differs from the shown one; without a run, once there is a run.

    It looks every five seconds while the tab is in front, and at once when it comes to the front.
    """
    _component()(key="arrival-watch", data={"every_ms": _EVERY_MS}, on_look_change=_looked)
    with reading() as session:
        now = inbox.pulse(session, run_id) if run_id is not None else None
        begun = run_id is None and inbox.busiest_run(session) is not None
    if begun or now != shown:
        st.rerun()


def _looked() -> None:
    """The look itself is the run of the fragment that it causes."""


@lru_cache(maxsize=1)
def _component() -> Callable[..., Any]:
    script = files(__package__).joinpath("arrival_watch.js").read_text("utf-8")
    return st.components.v2.component("inferact_arrival_watch", js=script)
