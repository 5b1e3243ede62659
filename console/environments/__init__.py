"""Environments, where agents act: what counts as critical in each of them.

A new environment is one file here and one line in ENVIRONMENTS.
"""

from collections.abc import Mapping

from console.environments.alfworld import ALFWORLD
from console.environments.environment import Environment
from console.environments.generic import GENERIC
from console.environments.hotpotqa import HOTPOTQA
from console.environments.tau_bench import TAU_BENCH
from console.environments.webshop import WEBSHOP

ENVIRONMENTS: dict[str, Environment] = {
    "webshop": WEBSHOP,
    "hotpotqa": HOTPOTQA,
    "alfworld": ALFWORLD,
    "tau-bench": TAU_BENCH,
    "generic": GENERIC,
}


def environment(name: str) -> Environment:
    """The environment of that name; an unknown one is treated as `generic`."""
    return ENVIRONMENTS.get(name, GENERIC)


def playable(environments: Mapping[str, Environment] = ENVIRONMENTS) -> list[str]:
    """Names of the environments that have tasks and can be started."""
    return [name for name, found in environments.items() if found.start and found.tasks]
