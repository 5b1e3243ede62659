"""The parts of a participant's page."""
