"""Detection: detectors judge checkpoints, flagged checkpoints are queued for review, and detectors are measured."""
