"""Who plays: a run's Actor, and the environments that it acts in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from console.actors import Actor, actor
from console.environments import ENVIRONMENTS
from console.environments.environment import Environment
from console.errors import BadInput, Unknown
from storage import tables


@dataclass(frozen=True, slots=True)
class Players:
    """An Actor and the environments by name; a caller may bring both."""

    actor: Actor
    environments: Mapping[str, Environment] = field(default_factory=lambda: ENVIRONMENTS)

    def environment(self, name: str) -> Environment:
        """The environment of that name, one that agents can act in; raises Unknown and BadInput."""
        found = self.environments.get(name)
        if found is None:
            raise Unknown("environment", name, playable(self.environments))
        if found.start is None or found.tasks is None:
            known = ", ".join(playable(self.environments))
            raise BadInput(f"No agent can act in {name}: it is known from logs only. Use one of {known}.")
        return found


def playable(environments: Mapping[str, Environment] = ENVIRONMENTS) -> list[str]:
    """Names of the environments that have tasks and can be started."""
    return [name for name, found in environments.items() if found.start and found.tasks]


def players_of(run: tables.Run) -> Players:
    """The players that the run itself names."""
    return Players(actor(run.actor or ""))
