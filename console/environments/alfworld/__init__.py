"""ALFWorld: a household; cleaning, heating and cooling cannot be undone (InferAct, section 3).

The embedded edition is the console's own household; its observations match those of ALFWorld 0.4.2 word for word.
"""

from console.environments.alfworld.tasks import tasks
from console.environments.alfworld.world import HouseholdWorld
from console.environments.environment import Environment

ALFWORLD = Environment(
    "alfworld",
    "ALFWorld",
    critical=("clean * with *", "heat * with *", "cool * with *"),
    ends=True,
    not_executed=("Nothing happens.",),
    step_cap=49,
    tasks=tasks,
    start=HouseholdWorld,
    replayable=True,
    type_option="type",
)
