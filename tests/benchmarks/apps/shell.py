"""The console's own shell with another script in the place of one of its pages."""

import runpy
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parents[3]
PAGE = st.Page


def show_shell(page: str, instead: Path) -> None:
    """Runs the console with `instead` at the address of that page."""
    st.Page = lambda script, **named: PAGE(instead if script == page else ROOT / script, **named)
    runpy.run_path(str(ROOT / "streamlit_app.py"))
