"""HotPotQA: search and look up pages, then answer.

The embedded edition is an encyclopedia of an invented world, or any file in HotPotQA's distractor format.
"""

from console.environments.environment import Environment
from console.environments.hotpotqa.tasks import start, tasks, tasks_from_file
from console.environments.hotpotqa.world import GO_BACK, STEP_CAP

HOTPOTQA = Environment(
    "hotpotqa",
    "HotPotQA",
    critical=("Finish[*]",),
    terminal=("Finish[*]",),
    not_executed=("Invalid action", "Invalid Action"),
    step_cap=STEP_CAP,
    tasks=tasks,
    start=start,
    replayable=True,
    verbs=("search", "lookup", "finish"),
    back=GO_BACK,
    answering="Finish[{answer}]",
    is_in_process=lambda task: True,
)
