"""A study's report: one HTML file that needs no network, and the tidy CSVs that everything in it is computed from."""

from console.studies.report.bundle import bundle, report_tables, stamped, write
from console.studies.report.html import ReportStamp, html

__all__ = ["ReportStamp", "bundle", "html", "report_tables", "stamped", "write"]
