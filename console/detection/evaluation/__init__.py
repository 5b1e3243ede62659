"""Evaluation of detectors against labels: one at a time, in comparison, and next to the paper's metrics."""
