"""Readers of the logs that others write.

A new format is one file here and one line in IMPORTERS.
"""
