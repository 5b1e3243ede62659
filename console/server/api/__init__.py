"""The HTTP API for agents that are not written in Python."""
