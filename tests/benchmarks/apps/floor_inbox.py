import streamlit as st

st.title("Inbox")
