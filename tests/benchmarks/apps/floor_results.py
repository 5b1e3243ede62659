import plotly.graph_objects as go
import streamlit as st

st.title("Studies")
st.plotly_chart(go.Figure(go.Scatter(x=[0, 1, 2, 3], y=[0.3, 0.4, 0.5, 0.5])), key="constant")
