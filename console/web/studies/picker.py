"""Which study the Studies page speaks about, and which section of it: both stand in the address."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st


def chosen_study(names: list[str]) -> str | None:
    """The study in the address, if there is one of that name."""
    wanted = st.query_params.get("study")
    return wanted if wanted in names else None


def is_new() -> bool:
    """Whether the address asks for a new study."""
    return "new" in st.query_params


def adjudicated_run() -> str:
    """The plain run in the address whose disagreements are to be settled; empty where none is."""
    return st.query_params.get("adjudicate", "")


def keep(name: str | None, section: str = "", *, new: bool = False) -> None:
    """Makes this the page's study and opens that section of it; None leads to the list, or to a new study."""
    st.query_params.clear()
    if name is not None:
        st.query_params["study"] = name
    if section:
        st.query_params["section"] = section
    if new:
        st.query_params["new"] = "1"
    st.session_state.pop("study_section", None)


def study_picker(names: list[str], current: str) -> None:
    """The studies to choose from."""
    if st.session_state.get("study_picker") not in names:
        st.session_state["study_picker"] = current
    st.selectbox("Study", names, key="study_picker", on_change=_pick, width=280, label_visibility="collapsed")


def _pick() -> None:
    keep(st.session_state["study_picker"], st.query_params.get("section", ""))


def chosen_view(label: str, titles: Mapping[str, str], parameter: str, key: str) -> str:
    """Draws the views to choose from; which one is chosen stands in that parameter of the address."""
    wanted = st.query_params.get(parameter, "")
    st.session_state.setdefault(key, wanted if wanted in titles else next(iter(titles)))
    st.segmented_control(
        label,
        list(titles),
        format_func=lambda name: titles[name],
        key=key,
        required=True,
        on_change=_keep_view,
        args=(parameter, key),
        label_visibility="collapsed",
    )
    return str(st.session_state[key])


def _keep_view(parameter: str, key: str) -> None:
    st.query_params[parameter] = st.session_state[key]
