"""Keeps a preference in the browser: a cookie for this site alone, read by `st.context.cookies` at the next connect."""

from __future__ import annotations

import re

from console.errors import BadInput
from console.web.widgets.component import component

_NAME = re.compile(r"[A-Za-z][\w-]{0,63}")
_VALUE = re.compile(r"[\w.~:=-]{1,3000}")


def set_cookie(name: str, value: str, *, days: int = 30) -> None:
    """Stores the cookie with SameSite=Strict, and Secure over HTTPS; BadInput where it is not plain URL-safe text."""
    if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
        raise BadInput("A cookie's name and value hold letters, digits, dots and dashes only.")
    component(__name__)(key=f"set-{name}", data={"name": name, "value": value, "seconds": days * 86_400})
