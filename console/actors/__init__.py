"""Actors do tasks: each is a function from what it has seen to its next move.

A new Actor is one file here and one line in ACTORS.
"""

from console.actors.autoplan import AUTOPLAN
from console.actors.introspective import INTROSPECTIVE
from console.actors.move import Actor, ActorView, Move, Reflection
from console.actors.react import REACT
from console.actors.scripted import SCRIPTED
from console.errors import Unknown

ACTORS: dict[str, Actor] = {
    "scripted": SCRIPTED,
    "react": REACT,
    "introspective": INTROSPECTIVE,
    "autoplan": AUTOPLAN,
}

__all__ = ["ACTORS", "Actor", "ActorView", "Move", "Reflection", "actor"]


def actor(name: str) -> Actor:
    """The Actor of that name; raises Unknown, naming those there are."""
    if name not in ACTORS:
        raise Unknown("actor", name, ACTORS)
    return ACTORS[name]
