"""What the tables of a study's results say in one sentence each, and what their columns are called where people read.

`outcomes` speaks of success, differences and agreement, `reviewers` of pace, reliance, words and budgets; `numbers` and
`titles` are how figures and headings are written, on the page and in the report alike.

A study's report: one HTML file that needs no network, and the tidy CSVs that everything in it is computed from.
"""

from console.studies.report.html import ReportStamp, bundle, html, write

__all__ = ["ReportStamp", "bundle", "html", "write"]
