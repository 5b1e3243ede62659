"""Oversight under a budget: the misalignments caught by order of inspection, and the use of a run's budget."""

from console.detection.oversight.curves import (
    AS_REVIEWED,
    CHANCE,
    IDEAL,
    ORDERS,
    Curves,
    compute_curves,
    in_words,
    is_line,
    list_drawable,
    quota_table,
    read_matrices,
    read_published_matrices,
    tabulate_burn_down,
    tabulate_matrices,
)
from console.detection.oversight.pool import LABELS, Pool, has_settled_labels, pool_version, read_pool
