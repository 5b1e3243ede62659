"""Environments that agents act in, and the actions that are critical in each.

A new environment is one file here and one line in BUILT_IN. Other packages add environments as plug-ins.
"""

from collections.abc import Mapping

from console.environments.alfworld import ALFWORLD
from console.environments.browser import BROWSER
from console.environments.environment import Environment
from console.environments.generic import GENERIC, TAU_BENCH
from console.environments.hotpotqa import HOTPOTQA
from console.environments.webshop import WEBSHOP
from console.settings import Registry

BUILT_IN: dict[str, Environment] = {
    "webshop": WEBSHOP,
    "hotpotqa": HOTPOTQA,
    "alfworld": ALFWORLD,
    "browser": BROWSER,
    "tau-bench": TAU_BENCH,
    "generic": GENERIC,
}
ENVIRONMENTS = Registry("environment", "inferact.environments", Environment, BUILT_IN, default=GENERIC)
"""The environments by name; an unknown name yields `generic`."""


def list_playable(environments: Mapping[str, Environment] = ENVIRONMENTS) -> list[str]:
    """Return the names of the environments that have tasks and can be started."""
    return [name for name, found in environments.items() if found.start and found.tasks]
