"""The watch of a session in an open tab: once it is over, leads to the sign-in; Streamlit would leave the page."""

from __future__ import annotations

from console.web.widgets.component import component


def watch_session() -> None:
    """Asks the server who is signed in whenever the tab comes to the front or loses its connection."""
    component(__name__)(key="session-watch", data={})
