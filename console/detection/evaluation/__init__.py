"""Evaluation: how good detectors are against labels, alone, side by side and beside the paper."""
