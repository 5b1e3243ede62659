"""Detection: checkpoints judged by detectors, flagged, enqueued; detectors measured."""
