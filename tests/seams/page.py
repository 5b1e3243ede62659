"""A page with one sentence."""

import streamlit as st

st.title("Seam page")
