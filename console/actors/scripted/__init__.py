"""The scripted Actor: offline, no model, deterministic, and as fallible as its documentation says.

It reads its memory: a reviewer's words change what it searches, checks, chooses and where it looks; after a bare
refusal it writes a plan from its own trajectory. A policy is a pure function of the view, so that a trial can be taken
up anywhere. A new environment is one file here and one line in POLICIES and in PLANS.
"""

from __future__ import annotations

from collections.abc import Callable

from console.actors.move import Actor, ActorView, Move, Reflection
from console.actors.scripted import alfworld, hotpotqa, webshop
from console.errors import Unknown

POLICIES: dict[str, Callable[[ActorView], Move]] = {
    "webshop": webshop.move,
    "hotpotqa": hotpotqa.move,
    "alfworld": alfworld.move,
}

PLANS: dict[str, Callable[[Reflection], str]] = {
    "webshop": webshop.plan,
    "hotpotqa": hotpotqa.plan,
    "alfworld": alfworld.plan,
}


async def act(view: ActorView) -> Move:
    """The policy's next move; raises Unknown where there is no policy for the environment."""
    if view.environment not in POLICIES:
        raise Unknown("environment of the scripted Actor", view.environment, POLICIES)
    return POLICIES[view.environment](view)


async def reflect(reflection: Reflection) -> str:
    """A plan in the Actor's own words, drawn from what it did; raises Unknown as `act` does."""
    if reflection.environment not in PLANS:
        raise Unknown("environment of the scripted Actor", reflection.environment, PLANS)
    return PLANS[reflection.environment](reflection)


SCRIPTED = Actor("scripted", "Scripted", act, reflect)
