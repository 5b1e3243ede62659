"""The draft of a new study in this tab."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import streamlit as st

from console.studies.design.yaml_file import example, load

_DRAFT, _VERSION = "study_draft", "study_draft_version"


def draft() -> dict[str, Any]:
    """Return the last contents of the form, or the example design without its name if nothing was entered."""
    found: dict[str, Any] = st.session_state.get(_DRAFT) or {**_example(), "name": ""}
    return found


def keep(mapping: dict[str, Any]) -> None:
    """Store the contents of the form."""
    st.session_state[_DRAFT] = _example() | {"conditions": [], "factors": {}, "budget": None} | mapping


def replace(mapping: dict[str, Any]) -> None:
    """Load another design into the form and discard the current fields."""
    st.session_state[_VERSION] = version() + 1
    keep(mapping)


def forget() -> None:
    """Clear the draft."""
    st.session_state.pop(_DRAFT, None)
    st.session_state[_VERSION] = version() + 1


def version() -> int:
    """Return the number of designs loaded into the form so far."""
    return int(st.session_state.get(_VERSION, 0))


def key_of(field: str) -> str:
    """Return the widget key of a field."""
    return f"design-{version()}-{field}"


def start_at(field: str, value: Any) -> str:
    """Return the widget key of a field; if the widget is new, set its value."""
    key = key_of(field)
    if key not in st.session_state:
        st.session_state[key] = value
    return key


@lru_cache(maxsize=1)
def _example() -> dict[str, Any]:
    return load(example()).model_dump(mode="json")
