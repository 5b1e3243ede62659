"""The visitor's language: the chosen language, else the browser's language."""

from __future__ import annotations

import streamlit as st

from console.language import COOKIE, ask_visitors, chosen_language, language, speak
from console.settings import LANGUAGES, settings
from console.web.streamlit_internals import is_script_running
from console.web.widgets.browser import say_language

_CHOSEN, _OF_STUDY, _OF_PAGE = "language", "language_of_study", "language_of_page"


def follow_visitors() -> None:
    """Show every text of a page in the language of its visitor."""
    ask_visitors(_language_of_visitor)
    _follow(_OF_PAGE, None)


def follow_page(code: str) -> None:
    """Show the present page in this language, also when a part of the page runs alone."""
    _follow(_OF_PAGE, code)


def follow_study(code: str | None) -> None:
    """Use this language unless the participant chose a language; None stands for the browser's language."""
    _follow(_OF_STUDY, code)


def name_language() -> None:
    """Tell the browser the language of the page; store the language that the visitor chose, if any."""
    chosen = st.session_state.get(_CHOSEN)
    # Streamlit declares its own page as English.
    if language() != "en" or chosen:
        say_language(language(), chosen)


def _follow(key: str, code: str | None) -> None:
    st.session_state[key] = code
    if found := _language_of_visitor():
        speak(found)


def language_buttons() -> None:
    """Draw a button for each other language; draw no buttons if a setting fixes the language."""
    if settings().language:
        return
    for code in LANGUAGES.keys() - {language()}:
        st.button(LANGUAGES[code], key=f"language-{code}", type="tertiary", on_click=_choose, args=(code,))


def _choose(code: str) -> None:
    st.session_state[_CHOSEN] = code
    speak(code)


def _language_of_visitor() -> str | None:
    """Return the visitor's language; return None outside a page, so that server threads keep their own language."""
    if not is_script_running():
        return None
    if of_page := st.session_state.get(_OF_PAGE):
        return str(of_page)
    kept = st.session_state.get(_CHOSEN) or st.context.cookies.get(COOKIE)
    # The request of a websocket may name other languages than the page does. Without a browser, Streamlit returns a
    # placeholder object for a header and for a cookie.
    accepted = st.context.locale, st.context.headers.get("Accept-Language")
    named = ",".join(text for text in accepted if isinstance(text, str))
    return chosen_language(kept if isinstance(kept, str) else None, named, st.session_state.get(_OF_STUDY))
