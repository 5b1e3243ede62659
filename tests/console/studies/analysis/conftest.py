"""The tidy tables of the study that the results' tests write, and what the analyses make of them."""

from tests.study_rows import every_table, found, read, read_tables, study_file, url

__all__ = ["every_table", "found", "read", "read_tables", "study_file", "url"]
