"""Designs of user studies: what is compared, who takes part, in which order, on which tasks, with what power.

A new factor is one line in FACTORS.
"""

from console.studies.design.allocation import PlannedCondition, allocate, balance, planned, sample_tasks, task_count
from console.studies.design.factors import FACTORS, Factor
from console.studies.design.model import Condition, Design, conditions, varied
