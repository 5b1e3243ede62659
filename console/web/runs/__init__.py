"""The parts of the Runs page."""
