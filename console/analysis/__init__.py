"""Analysis: functions from arrays and frames to numbers, statistics and charts, without database or Streamlit."""
