"""A study's report: one HTML file that needs no network, and the tidy CSVs that everything in it is computed from."""

from console.studies.report.html import ReportStamp, bundle, html, write

__all__ = ["ReportStamp", "bundle", "html", "write"]
