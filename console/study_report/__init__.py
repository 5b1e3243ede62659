"""A study's report: one HTML file that needs no network, and the tidy CSVs that everything in it is computed from."""

from console.study_report.bundle import bundle, write
from console.study_report.page import Told, html

__all__ = ["Told", "bundle", "html", "write"]
