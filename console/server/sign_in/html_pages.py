"""HTML pages of the sign-in: templates without scripts, with a content policy that forbids scripts."""

from __future__ import annotations

from collections.abc import Awaitable
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from console.language import COOKIE, _, chosen_language, language, ngettext, speaking
from console.server.base_path import base_path
from console.settings import LANGUAGES, settings

Answer = TypeVar("Answer", bound=Response | None)

_TEMPLATES = Path(__file__).with_name("templates")
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    # With no-referrer a browser would omit Origin when it sends a form.
    "Referrer-Policy": "same-origin",
}
_MOST_BYTES = 10_000
_YEAR_S = 365 * 86_400
_other_languages: ContextVar[tuple[tuple[str, str, str], ...]] = ContextVar("other_languages", default=())
"""Further languages of the page: code, name and address."""


async def in_language(request: Request, answer: Awaitable[Answer]) -> Answer:
    """Return the answer in the reader's language; if the address contains a language, store it in a cookie."""
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
    """Render a template."""
    values |= {"language": language(), "other_languages": _other_languages.get(), "base": base_path()}
    return HTMLResponse(_environment().get_template(f"{template}.html").render(values), status, HEADERS)


def notice(title: str, words: str, status: int) -> Response:
    """Render a page with one message."""
    return page("notice", status, title=title, words=words)


def style() -> Response:
    """Return the style sheet of these pages, with the font of the console's other pages."""
    return Response(_font_face() + read_style(), media_type="text/css")


def read_style() -> str:
    """Read the style sheet without a font to load, for a page that a participant saves."""
    return _TEMPLATES.joinpath("style.css").read_text("utf-8")


@lru_cache(maxsize=1)
def _font_face() -> str:
    fonts = sorted(Path(str(files("streamlit"))).glob("static/static/media/SourceSansVF-Upright.*.woff2"))
    return _TEMPLATES.joinpath("font.css").read_text("utf-8").replace("FONT", fonts[0].name) if fonts else ""


async def fields(request: Request) -> dict[str, str]:
    """Return the fields of a form; raise HTTPException if the form is too large."""
    return dict(parse_qsl((await body_of(request)).decode("utf-8", "replace"), keep_blank_values=True))


async def body_of(request: Request) -> bytes:
    """Return the request's body; raise HTTPException if the body is too large."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise HTTPException(413, _("The request is too large. Shorten the text, then send the form again."))
    return body


def utc_minute(at_ms: int) -> Markup:
    """Return the time to the minute in UTC, as the reader's time zone is unknown, as HTML that does not break."""
    minute = datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Markup("<time>{}</time>").format(minute)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
    made.globals |= {"_": _, "ngettext": ngettext}
    return made
