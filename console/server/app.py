"""The ASGI app: the console's pages, the sign-in and the API beside them, and one guard and content policy over all.

It stands alone because whoever imports it pays for Streamlit.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from console.database import database_url
from console.server import shutdown, webhooks
from console.server.api.routes import routes
from console.server.content_security import SafeHeaders
from console.server.guard import Guard
from console.server.sign_in.sign_in_pages import routes as sign_in_routes
from console.server.site import Site

_WARM = ("console.web.review.actions", "console.web.sign_in", "console.web.runs.forms", "pandas", "pyarrow")
"""What the first page would otherwise import while somebody waits for it; the rest comes with these."""


@asynccontextmanager
async def _lifespan(_app: st.App) -> AsyncIterator[None]:
    await asyncio.to_thread(database_url)
    _warm_up()
    sending = asyncio.create_task(webhooks.keep_sending())
    try:
        with shutdown.heard():
            yield
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


def _warm_up() -> None:
    for name in _WARM:
        import_module(name)
    # What is imported stays, so no later collection need look at it again.
    gc.collect()
    gc.freeze()


def console_app(site: Site, script: Path) -> st.App:
    """The app of that site around the pages of a script; Streamlit's settings have to be loaded before."""
    return st.App(
        script,
        routes=[*sign_in_routes(site), *routes()],
        middleware=[Middleware(SafeHeaders), Middleware(Guard, site=site)],
        lifespan=_lifespan,
    )
