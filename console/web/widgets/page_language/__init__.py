"""The language of the document, for screen readers; a chosen one is kept by the browser as a preference cookie."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

import streamlit as st

from console.language import COOKIE

_YEAR_S = 365 * 86_400


def say_language(code: str, *, keep: bool) -> None:
    """Sets the document's `lang`; `keep` stores the language for the next visit."""
    _component()(key="page-language", data={"language": code, "cookie": COOKIE if keep else "", "seconds": _YEAR_S})


@lru_cache(maxsize=1)
def _component() -> Callable[..., Any]:
    script = files(__package__).joinpath("page_language.js").read_text("utf-8")
    return st.components.v2.component("inferact_page_language", js=script)
