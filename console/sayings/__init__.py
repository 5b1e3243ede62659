"""What the tables of a study's results say in one sentence each, and what their columns are called where people read.

`outcomes` speaks of success, differences and agreement, `reviewers` of pace, reliance, words and budgets; `numbers` and
`titles` are how figures and headings are written, on the page and in the report alike.
"""
