"""Oversight under a budget: what inspections catch, in which order, and how a run's budget was spent."""

from console.oversight.burning import burn_down
from console.oversight.curves import AS_REVIEWED, IDEAL, ORDERS, Curves, curves, drawable
from console.oversight.labels import any_settled
from console.oversight.lines import CHANCE
from console.oversight.pool import LABELS, Pool, pool, version
from console.oversight.quota import matrices_of, published_matrices, quota_table, read_matrices

__all__ = [
    "AS_REVIEWED",
    "CHANCE",
    "IDEAL",
    "LABELS",
    "ORDERS",
    "Curves",
    "Pool",
    "any_settled",
    "burn_down",
    "curves",
    "drawable",
    "matrices_of",
    "pool",
    "published_matrices",
    "quota_table",
    "read_matrices",
    "version",
]
