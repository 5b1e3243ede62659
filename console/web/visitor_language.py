"""The language of the visitor at a tab: what they chose, else what their browser asks for."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from console.language import COOKIE, ask_visitors, chosen_language, language, speak
from console.settings import LANGUAGES, settings
from console.web.widgets.page_language import say_language

_CHOSEN, _OF_STUDY = "language", "language_of_study"


def follow_visitors() -> None:
    """Has every text of a page come in the language of the visitor for whom its script runs."""
    ask_visitors(_language_of_visitor)
    chosen = st.session_state.get(_CHOSEN)
    # English is what Streamlit's page says of itself.
    if language() != "en" or chosen:
        say_language(language(), keep=bool(chosen))


def follow_study(code: str | None) -> None:
    """Makes this the tab's language where its participant chose none; None leaves it to their browser."""
    st.session_state[_OF_STUDY] = code
    if found := _language_of_visitor():
        speak(found)


def language_buttons() -> None:
    """A button for each other language; none where the setting has chosen for everybody."""
    if settings().language:
        return
    for code in LANGUAGES.keys() - {language()}:
        st.button(LANGUAGES[code], key=f"language-{code}", type="tertiary", on_click=_choose, args=(code,))


def _choose(code: str) -> None:
    st.session_state[_CHOSEN] = code
    speak(code)


def _language_of_visitor() -> str | None:
    """None outside a script's run, so that threads of the server are left alone."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return None
    kept = st.session_state.get(_CHOSEN) or st.context.cookies.get(COOKIE)
    given = kept, st.context.headers.get("Accept-Language"), st.session_state.get(_OF_STUDY)
    # Where no browser is, Streamlit's own stand-in for one answers.
    return chosen_language(*(text if isinstance(text, str) else None for text in given))
