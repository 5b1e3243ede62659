"""How a household is told in words, as ALFWorld 0.4.2 tells it."""

from __future__ import annotations

from collections.abc import Sequence

NOTHING_HAPPENS = "Nothing happens."
MIDDLE = "You are in the middle of a room. Looking quickly around you, you see {seen}."

HELP = """Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""


def joined(names: Sequence[str]) -> str:
    """`x`, `x, and y`, `x, y, and z`; `nothing` of none."""
    if len(names) < 2:
        return names[0] if names else "nothing"
    return f"{', '.join(names[:-1])}, and {names[-1]}"


def seen(names: Sequence[str]) -> str:
    """The names as they are seen: `a x, and a y`. The article is always `a`, before a vowel too."""
    return joined([f"a {name}" for name in names])


def condition(name: str, *, hot: bool, cool: bool, clean: bool, sliced: bool) -> str:
    """What is to be noticed about a thing, by what has been done to it."""
    words = [word for word, holds in (("hot", hot), ("cool", cool), ("clean", clean)) if holds]
    if words == ["cool"] and not sliced:
        words = ["cold"]
    told = " and ".join(words) + " sliced" * sliced
    return f"This is a {told.strip()} {name}." if told else f"There's nothing special about {name}."
