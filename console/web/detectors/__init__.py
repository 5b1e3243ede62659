"""The parts of the Detectors page."""
