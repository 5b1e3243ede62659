"""ALFWorld: a household, in which cleaning, heating and cooling are critical (InferAct, section 3).

The embedded edition is the console's own household; its observations equal the observations of ALFWorld 0.4.2. A task
with the option `game` is one of ALFWorld's own games.
"""

from console.environments.alfworld.games import GAME, GameWorld
from console.environments.alfworld.tasks import HouseholdWorld, tasks
from console.environments.environment import Environment, TaskSpec, World


def start(task: TaskSpec) -> World:
    """Return the world of a task: the task's game, or the embedded household."""
    return GameWorld(task) if GAME in task.options else HouseholdWorld(task)


ALFWORLD = Environment(
    "alfworld",
    "ALFWorld",
    critical=("clean * with *", "heat * with *", "cool * with *"),
    ends=True,
    not_executed=("Nothing happens.",),
    step_cap=49,
    tasks=tasks,
    start=start,
    replayable=True,
    type_option="type",
    is_in_process=lambda task: True,
)
