"""HTML pages of the sign-in: templates without a script, under a content policy that allows none."""

from __future__ import annotations

from collections.abc import Awaitable
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from console.language import COOKIE, _, chosen_language, language, ngettext, speaking
from console.settings import LANGUAGES, settings

Answer = TypeVar("Answer", bound=Response | None)

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
_YEAR_S = 365 * 86_400
_other_languages: ContextVar[tuple[tuple[str, str, str], ...]] = ContextVar("other_languages", default=())
"""The languages that a page can be read in as well: code, name and the address of the page in it."""


async def in_language(request: Request, answer: Awaitable[Answer]) -> Answer:
    """The answer in the reader's language; one that the address asks for is kept by the browser."""
    wanted = request.query_params.get("language")
    code = chosen_language(wanted or request.cookies.get(COOKIE), request.headers.get("accept-language"))
    with speaking(code):
        others = [] if settings().language else [other for other in LANGUAGES if other != code]
        addresses = (f"?{request.url.include_query_params(language=other).query}" for other in others)
        _other_languages.set(tuple(zip(others, map(LANGUAGES.__getitem__, others), addresses, strict=True)))
        response = await answer
    if isinstance(response, Response) and wanted in LANGUAGES:
        response.set_cookie(COOKIE, wanted, max_age=_YEAR_S, samesite="strict", secure=request.url.scheme == "https")
    return response


def page(template: str, /, status: int = 200, **values: Any) -> Response:
    """The page of that template."""
    values |= {"language": language(), "other_languages": _other_languages.get()}
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
            raise HTTPException(413, _("That is more than a page of this console sends."))
    return body


def utc_minute(at_ms: int) -> str:
    """The minute as such a page says it, in UTC, for it cannot know the reader's clock."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M UTC")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
    made.globals |= {"_": _, "ngettext": ngettext}
    return made
