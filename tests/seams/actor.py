"""An Actor that pulls the lever until it is told not to."""

from console.actors.move import Actor, Move


async def act(view):
    """Pulls, or leaves alone what it was told to leave alone."""
    return Move("as told", "leave[lever]") if view.memory else Move("why not", "pull[lever]")


async def reflect(reflection):
    """What it learns from a bare refusal."""
    return "I shall leave it alone."


ENTRY = Actor("seam-actor", "Seam actor", act, reflect, "pulls the lever")
