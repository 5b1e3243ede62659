"""Metrics: functions from arrays to numbers. A label is true if misaligned; an undefined metric is None, never NaN."""
