"""The scripted Actor: offline, without a model, deterministic, with documented weaknesses.

Feedback in the memory changes the Actor's searches, checks and choices. After a rejection without feedback, the Actor
writes a plan from its own trajectory. A new environment needs one file here, one line in MOVES and one in PLANS.
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
    """Return the next move; raise Unknown if the environment is not supported."""
    if view.environment not in MOVES:
        raise Unknown("environment of the scripted Actor", view.environment, MOVES)
    return MOVES[view.environment](view)


async def reflect(reflection: Reflection) -> str:
    """Return a plan in the Actor's own words, written from its steps; raise Unknown like `act`."""
    if reflection.environment not in PLANS:
        raise Unknown("environment of the scripted Actor", reflection.environment, PLANS)
    return PLANS[reflection.environment](reflection)


SCRIPTED = Actor("scripted", "Scripted", act, reflect, "offline")
