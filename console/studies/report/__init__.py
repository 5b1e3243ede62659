"""A study's report: one HTML file that needs no network, and the tidy CSVs that it is computed from."""

from console.studies.report.bundle import bundle, make_stamp, report_tables, write
from console.studies.report.html import ReportStamp, html
