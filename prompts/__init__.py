"""Prompt templates, as files: <method>/<task>/<step>."""
