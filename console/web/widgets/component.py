"""Components of a page that run a script in the browser, each a package with its script and perhaps its style."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import streamlit as st


@cache
def component(package: str, **options: Any) -> Callable[..., Any]:
    """The component of that package, made once; `options` are what Streamlit takes beside script and style."""
    name = package.rpartition(".")[2]
    sources = {kind: files(package) / f"{name}.{kind}" for kind in ("js", "css")}
    texts: Any = {kind: source.read_text("utf-8") for kind, source in sources.items() if source.is_file()}
    return st.components.v2.component(f"inferact_{name}", **texts, **options)
