"""The scripted Actor: offline, no model, deterministic, and as fallible as its documentation says.

It reads its memory: a reviewer's words change what it searches, checks, chooses and where it looks; after a bare
refusal it writes a plan from its own trajectory. A move is a pure function of the view, so that a trial can be taken
up anywhere. A new environment is one file here and one line in MOVES and in PLANS.
"""

from __future__ import annotations

from collections.abc import Callable

from console.actors.move import Actor, ActorView, Move, Reflection
from console.actors.scripted import alfworld, hotpotqa, webshop
from console.errors import Unknown

MOVES: dict[str, Callable[[ActorView], Move]] = {
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
    """The next move; raises Unknown where the scripted Actor does not know the environment."""
    if view.environment not in MOVES:
        raise Unknown("environment of the scripted Actor", view.environment, MOVES)
    return MOVES[view.environment](view)


async def reflect(reflection: Reflection) -> str:
    """A plan in the Actor's own words, drawn from what it did; raises Unknown as `act` does."""
    if reflection.environment not in PLANS:
        raise Unknown("environment of the scripted Actor", reflection.environment, PLANS)
    return PLANS[reflection.environment](reflection)


SCRIPTED = Actor("scripted", "Scripted", act, reflect, "offline")
