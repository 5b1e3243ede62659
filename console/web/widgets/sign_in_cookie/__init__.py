"""Keeps a sign-in in the browser: a cookie for this site alone, read by `st.context.cookies` at the next connect."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

import streamlit as st

from console.errors import BadInput

_NAME = re.compile(r"[A-Za-z][\w-]{0,63}")
_VALUE = re.compile(r"[\w.~:=-]{1,3000}")


def set_cookie(name: str, value: str, *, days: int = 30) -> None:
    """Stores the cookie with SameSite=Strict, and Secure over HTTPS; BadInput where it is not plain URL-safe text."""
    if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
        raise BadInput("A cookie's name and value hold letters, digits, dots and dashes only; sign the value first.")
    _component()(key=f"set-{name}", data={"name": name, "value": value, "seconds": days * 86_400})


def delete_cookie(name: str) -> None:
    """Removes the cookie of that name."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is not the name of a cookie.")
    _component()(key=f"delete-{name}", data={"name": name, "value": "", "seconds": 0})


def follow_cookie(name: str) -> None:
    """Reloads a tab that comes to the front when another tab has changed the cookie since this one connected."""
    _following()(key=f"follow-{name}", data={"name": name, "value": st.context.cookies.get(name, "")})


@lru_cache(maxsize=1)
def _following() -> Callable[..., Any]:
    script = files(__package__).joinpath("following_cookie.js").read_text("utf-8")
    return st.components.v2.component("inferact_following_cookie", js=script)


@lru_cache(maxsize=1)
def _component() -> Callable[..., Any]:
    script = files(__package__).joinpath("sign_in_cookie.js").read_text("utf-8")
    return st.components.v2.component("inferact_sign_in_cookie", js=script)
