"""The page floor: the console's own shell, decision bar, write and next-item query, without the trajectory."""

import runpy
from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
IN_PLACE_OF = {"console/web/pages/review.py": HERE / "floor_review.py"}

if not hasattr(st, "page_of_the_console"):
    st.page_of_the_console = st.Page

st.Page = lambda script, **named: st.page_of_the_console(IN_PLACE_OF.get(script, ROOT / script), **named)
runpy.run_path(str(ROOT / "streamlit_app.py"))
