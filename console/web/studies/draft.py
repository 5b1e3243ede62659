"""The draft of a new study in this tab: kept while other pages are looked at, replaced by a YAML that is taken over."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import streamlit as st

from console.studies.design.yaml_file import example, load

_DRAFT, _VERSION = "study_draft", "study_draft_version"


def draft() -> dict[str, Any]:
    """What the form begins with: what it held last, at first the example without its name."""
    found: dict[str, Any] = st.session_state.get(_DRAFT) or {**_example(), "name": ""}
    return found


def keep(mapping: dict[str, Any]) -> None:
    """Keeps what the form holds."""
    st.session_state[_DRAFT] = _example() | {"conditions": [], "factors": {}, "budget": None} | mapping


def replace(mapping: dict[str, Any]) -> None:
    """Puts another design into the form; fields of the one before are gone."""
    st.session_state[_VERSION] = version() + 1
    keep(mapping)


def forget() -> None:
    """The next form begins anew."""
    st.session_state.pop(_DRAFT, None)
    st.session_state[_VERSION] = version() + 1


def version() -> int:
    """How often another design was put into the form."""
    return int(st.session_state.get(_VERSION, 0))


def key_of(field: str) -> str:
    """The widget key of a field."""
    return f"design-{version()}-{field}"


def start_at(field: str, value: Any) -> str:
    """The widget key of a field; where the widget has just come, the value is in it."""
    key = key_of(field)
    if key not in st.session_state:
        st.session_state[key] = value
    return key


@lru_cache(maxsize=1)
def _example() -> dict[str, Any]:
    return load(example()).model_dump(mode="json")
