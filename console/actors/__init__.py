"""The Actors, which do tasks. An Actor is a function from its view of a trial to its next move.

A new Actor is one file here and one line in BUILT_IN. Other packages add Actors as plug-ins.
"""

from console.actors.autoplan import AUTOPLAN
from console.actors.baselines import PLAN_ACT, REACT_0_SHOT
from console.actors.introspective import INTROSPECTIVE
from console.actors.move import Actor, ActorView, Move, Reflection
from console.actors.react import REACT
from console.actors.scripted import SCRIPTED
from console.settings import Registry

BUILT_IN: dict[str, Actor] = {
    "scripted": SCRIPTED,
    "react": REACT,
    "introspective": INTROSPECTIVE,
    "autoplan": AUTOPLAN,
    "react-0-shot": REACT_0_SHOT,
    "plan-act": PLAN_ACT,
}
ACTORS = Registry("actor", "inferact.actors", Actor, BUILT_IN)


def actor(name: str) -> Actor:
    """Return the Actor with this name; raise Unknown if no Actor has this name."""
    return ACTORS.pick(name)
