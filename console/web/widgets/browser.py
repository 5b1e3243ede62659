"""Components that run a script from `scripts` in the browser: cookies, language, watching the page, further steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any
from zlib import crc32

import streamlit as st

from console.errors import BadInput
from console.language import COOKIE, _, gettext_noop


@cache
def component(name: str, **options: Any) -> Callable[..., Any]:
    """Return the component for this script; `options` are passed to Streamlit."""
    sources = {kind: files(__package__) / "scripts" / f"{name}.{kind}" for kind in ("js", "css")}
    texts: Any = {kind: source.read_text("utf-8") for kind, source in sources.items() if source.is_file()}
    if "duration(" in texts.get("js", ""):
        texts["js"] += (files(__package__) / "scripts" / "durations.js").read_text("utf-8")
    return st.components.v2.component(f"inferact_{name}", **texts, **options)


_COOKIE_NAME = re.compile(r"[A-Za-z][\w-]{0,63}")
_COOKIE_VALUE = re.compile(r"[\w.~:=-]{1,3000}")


def set_cookie(name: str, value: str, *, days: int = 30) -> None:
    """Store the cookie with SameSite=Strict, and Secure over HTTPS; raise BadInput if name or value is invalid."""
    if not _COOKIE_NAME.fullmatch(name) or not _COOKIE_VALUE.fullmatch(value):
        raise BadInput("Invalid cookie name or value. Use only letters, digits, dots and dashes.")
    component("preference_cookie")(key=f"set-{name}", data={"name": name, "value": value, "seconds": days * 86_400})


def watch_page(item_id: int, *, idle_s: int, traced: bool) -> None:
    """Report how long the visitor is away or inactive while this item is shown; if `traced`, also report a trace.

    The reports are separate requests, so they do not run the page again.
    """
    component("page_watch")(key="page-watch", data={"item": item_id, "idle_ms": 1_000 * idle_s, "traced": traced})


_LOST = gettext_noop("The connection is lost. Your unsent text stays here. The page reconnects automatically.")


def watch_session() -> None:
    """Check the session on focus and on a lost connection; close the menu that lies over a narrow page once used."""
    component("session_watch")(key="session-watch", data={"lost": _(_LOST)})


def show_from_top(stage: str) -> None:
    """Scroll the page to its top when this stage is shown first."""
    component("page_top")(key="page-top", data={"stage": stage})


def name_drop_zones() -> None:
    """Give the fields for files the role of a group, so that screen readers read their names."""
    component("drop_zone")(key="drop-zone")


_YEAR_S = 365 * 86_400


def say_language(code: str, chosen: str | None) -> None:
    """Set the document's `lang` for screen readers, and store the visitor's choice, if any, for the next visit."""
    data = {"language": code, "cookie": COOKIE, "chosen": chosen, "seconds": _YEAR_S}
    component("page_language")(key="page-language", data=data)


_HTML = '<div class="ia-sheet"><ol class="ia-steps"></ol></div>'


def show_further_steps(rows: Sequence[str], view: str) -> None:
    """Draw these rows of `timeline_rows` below the view; unfolded steps stay open while the view is shown."""
    component("steps", html=_HTML, isolate_styles=False)(
        key="ia-steps", data={"rows": list(rows), "view": crc32(view.encode()), "toggle": _("step {number} in full")}
    )
