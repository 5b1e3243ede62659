"""The watch of an item's page: tells the server how long somebody was away or idle, and a trace where it is wanted."""

from __future__ import annotations

from console.web.widgets.component import component


def watch_page(item_id: int, *, idle_s: int, traced: bool) -> None:
    """Watches the page of that item from now on; what it tells goes by a request of its own, no run of the page."""
    component(__name__)(key="page-watch", data={"item": item_id, "idle_ms": 1_000 * idle_s, "traced": traced})
