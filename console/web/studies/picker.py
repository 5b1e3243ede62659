"""The study and section of the Studies page, which the address stores."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st


def keep(name: str | None, section: str = "", *, new: bool = False) -> None:
    """Open this study and section; if `name` is None, open the list of studies, or with `new` a new study."""
    st.query_params.clear()
    if name is not None:
        st.query_params["study"] = name
    if section:
        st.query_params["section"] = section
    if new:
        st.query_params["new"] = "1"
    st.session_state.pop("study_section", None)


def study_picker(names: list[str], current: str) -> None:
    """Draw the list of studies."""
    if st.session_state.get("study_picker") not in names:
        st.session_state["study_picker"] = current
    st.selectbox(
        "Study",
        names,
        key="study_picker",
        on_change=lambda: keep(st.session_state["study_picker"], st.query_params.get("section", "")),
        width=280,
        label_visibility="collapsed",
    )


def chosen_view(label: str, titles: Mapping[str, str], parameter: str, key: str) -> str:
    """Draw the choice of views and return the chosen view, which the address stores in `parameter`."""
    wanted = st.query_params.get(parameter, "")
    st.session_state.setdefault(key, wanted if wanted in titles else next(iter(titles)))
    st.segmented_control(
        label,
        list(titles),
        format_func=lambda name: titles[name],
        key=key,
        required=True,
        on_change=lambda: st.query_params.update({parameter: st.session_state[key]}),
        label_visibility="collapsed",
    )
    return str(st.session_state[key])
