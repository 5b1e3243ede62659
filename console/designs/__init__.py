"""Designs of user studies: what is compared, who takes part, in which order, on which tasks, with what power.

A new factor is one line in FACTORS.
"""

from console.designs.allocation import Place, allocate, planned, sample_tasks, task_count
from console.designs.balance import balance
from console.designs.design import Condition, Design, conditions, varied
from console.designs.factors import FACTORS, Factor

__all__ = [
    "FACTORS",
    "Condition",
    "Design",
    "Factor",
    "Place",
    "allocate",
    "balance",
    "conditions",
    "planned",
    "sample_tasks",
    "task_count",
    "varied",
]
