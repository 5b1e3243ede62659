"""The watch of an item's page: tells the server how long somebody was away or idle, and a trace where it is wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

import streamlit as st


def watch_page(item_id: int, *, idle_s: int, traced: bool) -> None:
    """Watches the page of that item from now on; what it tells goes by a request of its own, no run of the page."""
    _component()(key="page-watch", data={"item": item_id, "idle_ms": 1_000 * idle_s, "traced": traced})


@lru_cache(maxsize=1)
def _component() -> Callable[..., Any]:
    script = files(__package__).joinpath("page_watch.js").read_text("utf-8")
    return st.components.v2.component("inferact_page_watch", js=script)
