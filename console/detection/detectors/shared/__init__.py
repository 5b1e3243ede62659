"""What the detectors that ask models share."""
