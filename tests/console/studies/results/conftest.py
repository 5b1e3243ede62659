"""A study in a database of its own, and a way to read it."""

from tests.study_rows import read, study_file, url

__all__ = ["read", "study_file", "url"]
