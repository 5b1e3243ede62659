"""Figures: arrays and frames in; numbers, statistics and charts out. No database, no Streamlit."""
