"""ALFWorld: a household; cleaning, heating and cooling cannot be undone (InferAct, section 3)."""

from console.environments.facts import Environment

ALFWORLD = Environment(
    "alfworld",
    "ALFWorld",
    critical=("clean * with *", "heat * with *", "cool * with *"),
    ends=True,
    not_executed=("Nothing happens.",),
)
