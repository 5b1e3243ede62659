"""Designs of user studies: conditions, participants, order, tasks and statistical power."""

from console.studies.design.allocation import PlannedCondition, allocate, balance, plan_all, sample_tasks, task_count
from console.studies.design.factors import FACTORS, Factor
from console.studies.design.model import Condition, Design, conditions, varied_factors
