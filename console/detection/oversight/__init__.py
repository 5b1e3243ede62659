"""Oversight under a budget: what inspections catch, in which order, and how a run's budget was spent."""

from console.detection.oversight.budget_use import burn_down, in_words, is_line
from console.detection.oversight.curves import AS_REVIEWED, CHANCE, IDEAL, ORDERS, Curves, curves, drawable
from console.detection.oversight.paper_quota import matrices_of, published_matrices, quota_table, read_matrices
from console.detection.oversight.pool import LABELS, Pool, any_settled, pool, version
