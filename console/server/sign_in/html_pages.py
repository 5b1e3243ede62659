"""HTML pages of the sign-in: templates without a script, under a content policy that allows none."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

_TEMPLATES = Path(__file__).with_name("templates")
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    # With no-referrer a browser would send no Origin beside a form either.
    "Referrer-Policy": "same-origin",
}
_MOST_BYTES = 10_000


def page(template: str, /, status: int = 200, **values: Any) -> Response:
    """The page of that template."""
    return HTMLResponse(_environment().get_template(f"{template}.html").render(values), status, HEADERS)


def notice(title: str, words: str, status: int) -> Response:
    """A page that says one thing."""
    return page("notice", status, title=title, words=words)


def style() -> Response:
    """The style sheet of these pages."""
    return Response(_TEMPLATES.joinpath("style.css").read_text("utf-8"), media_type="text/css")


async def fields(request: Request) -> dict[str, str]:
    """What a form sent; raises HTTPException for more than a form of ours ever sends."""
    return dict(parse_qsl((await body_of(request)).decode("utf-8", "replace"), keep_blank_values=True))


async def body_of(request: Request) -> bytes:
    """What a page of ours sent; raises HTTPException for more than one ever sends."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise HTTPException(413, "That is more than a page of this console sends.")
    return body


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
