"""The scripted helper in the household.

It goes from receptacle to receptacle until it sees the thing, takes it, does to it what the task asks, and puts it
where it belongs. Its weaknesses, drawn from the task: it gives up after a few places, leaves closed doors closed,
takes a look-alike, forgets to clean, heat or cool or muddles hot and cold, brings only one of two things. Where it
believes that all is done it goes round the room until its steps are spent.

Words in its memory mend that: places named are searched first and doors opened, what is to be done to the thing is
remembered when it is spoken of, and what was refused is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from console.actors.move import ActorView, Move, Reflection
from console.actors.scripted.alfworld_state import (
    HouseholdTask,
    ObservedHousehold,
    kind,
    observe_household,
    parse_task,
    receptacles,
)
from console.actors.scripted.hints import Advice, advice

_APPLIANCES = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
_MUDDLED = {"heat": "cool", "cool": "heat", "clean": "clean"}
_ALIKE = (
    frozenset({"cup", "mug", "bowl", "glassbottle"}),
    frozenset({"knife", "butterknife", "fork", "spoon", "spatula", "ladle"}),
    frozenset({"pan", "pot", "kettle", "plate"}),
    frozenset({"apple", "tomato", "potato", "egg", "bread", "lettuce"}),
    frozenset({"soapbar", "soapbottle", "spraybottle", "dishsponge", "cloth"}),
    frozenset({"pen", "pencil"}),
    frozenset({"book", "newspaper", "laptop"}),
    frozenset({"saltshaker", "peppershaker"}),
    frozenset({"statue", "vase", "candle"}),
    frozenset({"towel", "handtowel", "toiletpaper", "papertowelroll", "tissuebox"}),
    frozenset({"cellphone", "remotecontrol", "creditcard", "keychain", "cd", "watch"}),
)


@dataclass(frozen=True, slots=True)
class HouseholdCare:
    """How carefully it goes about it; `most_places` is how many receptacles it visits in its search."""

    most_places: int
    opens: bool
    exact: bool
    treats: bool
    muddles: bool
    brings_all: bool


def move(view: ActorView) -> Move:
    """The helper's next move."""
    asked = parse_task(view.instruction)
    places = receptacles(view.opening)
    if asked is None or not places:
        return Move("I do not understand this task.", "look")
    found, seen = advice(view.memory), observe_household(view.steps)
    care = _care(view, asked, found)
    if _believes_done(asked, care, seen):
        return _wander(places, seen, len(view.steps))
    if seen.held and not asked.looks:
        return _deliver(asked, care, places, seen)
    if seen.held:
        return _light(asked, care, found, view, places, seen)
    return _fetch(asked, care, found, view, places, seen)


def plan(reflection: Reflection) -> str:
    """What it means to do differently: other places, another thing, or what it notices that it left out."""
    asked, seen = parse_task(reflection.instruction), observe_household(reflection.steps)
    rng = Random(f"plan {reflection.instruction} {len(reflection.memory)}")
    notices = rng.random() < 0.4
    action = reflection.rejected_action.split()
    if asked is None:
        return "I did not understand the task."
    if action and action[0] in _APPLIANCES:
        what = " ".join(action[1:3])
        return f"To {action[0]} {what} was refused. I will leave {what} alone."
    if notices and asked.treatment and not seen.treated:
        return f"I forgot to {asked.treatment} it."
    if notices and asked.count == 2 and len(seen.placed) < 2:
        return "I only brought one of the two."
    if seen.placed:
        return f"That was not it. I will not bring {next(iter(seen.placed))} once more."
    missed = ", ".join(seen.visited[:4])
    if notices:
        return f"I did not see it at {missed}. I will search the rest of the room and open what is closed."
    return f"I did not see it at {missed}."


def _care(view: ActorView, asked: HouseholdTask, found: Advice) -> HouseholdCare:
    rng = Random(f"helper {view.instruction} {view.opening}")
    restless, shy, careless, forgets, muddles, one = (rng.random() for _ in range(6))
    treated = not asked.treatment or found.about(asked.treatment)
    searches = found.about("places") or found.about("open")
    return HouseholdCare(
        most_places=99 if restless > 0.5 or searches else 7 + 4 * len(view.memory),
        opens=shy > 0.25 or found.about("open"),
        exact=careless > 0.25 or found.about("object") or found.wants(asked.thing),
        treats=forgets > 0.25 or (treated and bool(view.memory)),
        muddles=muddles < 0.15 and not (view.memory and treated),
        brings_all=one > 0.5 or found.about("two"),
    )


def _suits(name: str, asked: HouseholdTask, care: HouseholdCare, found: Advice) -> bool:
    if found.refuses(name):
        return False
    if kind(name) == asked.thing:
        return True
    return not care.exact and any({kind(name), asked.thing} <= group for group in _ALIKE)


def _believes_done(asked: HouseholdTask, care: HouseholdCare, seen: ObservedHousehold) -> bool:
    at_place = [name for name, place in seen.placed.items() if kind(place) == asked.place]
    wanted = asked.count if care.brings_all else 1
    return not asked.looks and not seen.held and len(at_place) >= wanted


def _wander(places: tuple[str, ...], seen: ObservedHousehold, steps: int) -> Move:
    """Looks over the whole room, one place after the other, each once before any comes again."""
    if seen.at and f"examine {seen.at}" not in seen.done:
        return Move("All seems done; I look it over once more.", f"examine {seen.at}")
    elsewhere = [place for place in places if place != seen.at and f"go to {place}" not in seen.failed]
    fresh = [place for place in elsewhere if f"go to {place}" not in seen.done]
    unseen = fresh or [place for place in elsewhere if f"examine {place}" not in seen.done]
    if not elsewhere:
        return Move("All seems done.", "look")
    following = unseen[0] if unseen else elsewhere[steps % len(elsewhere)]
    return Move("All seems done; I look round the room.", f"go to {following}")


def _reach(place: str, seen: ObservedHousehold) -> Move | None:
    """The next move on the way to a receptacle that is open, None where the helper stands before it."""
    if seen.at != place and f"go to {place}" not in seen.failed:
        return Move(f"I go to {place}.", f"go to {place}")
    if place in seen.closed and f"open {place}" not in seen.failed:
        return Move("It is closed.", f"open {place}")
    return None


def _deliver(asked: HouseholdTask, care: HouseholdCare, places: tuple[str, ...], seen: ObservedHousehold) -> Move:
    how = _MUDDLED.get(asked.treatment, "") if care.muddles else asked.treatment
    appliance = next((place for place in places if kind(place) == _APPLIANCES.get(how)), "")
    treat = f"{how} {seen.held} with {appliance}"
    if appliance and care.treats and (how, seen.held) not in seen.treated and treat not in seen.failed:
        if seen.at != appliance and f"go to {appliance}" not in seen.failed:
            return Move(f"To {how} it I go to {appliance}.", f"go to {appliance}")
        return Move(f"The task asks to {how} it.", treat)
    for goal in sorted(_goals(asked, places), key=lambda place: place not in seen.placed.values()):
        put = f"move {seen.held} to {goal}"
        if put not in seen.failed:
            return _reach(goal, seen) or Move("This is where it belongs.", put)
    return Move("I do not know where to put it.", "look")


def _goals(asked: HouseholdTask, places: tuple[str, ...]) -> list[str]:
    return sorted((place for place in places if kind(place) == asked.place), key=lambda place: (len(place), place))


def _light(
    asked: HouseholdTask,
    care: HouseholdCare,
    found: Advice,
    view: ActorView,
    places: tuple[str, ...],
    seen: ObservedHousehold,
) -> Move:
    for place, things in seen.contents.items():
        lamp = next((thing for thing in things if kind(thing) == asked.place), "")
        if lamp:
            return _reach(place, seen) or Move("Here is the light.", f"use {lamp}")
    return _search(care, found, view, places, seen)


def _fetch(
    asked: HouseholdTask,
    care: HouseholdCare,
    found: Advice,
    view: ActorView,
    places: tuple[str, ...],
    seen: ObservedHousehold,
) -> Move:
    for place, things in seen.contents.items():
        for name in things:
            take = f"take {name} from {place}"
            if name not in seen.placed and take not in seen.failed and _suits(name, asked, care, found):
                return _reach(place, seen) or Move(f"There is {name}.", take)
    return _search(care, found, view, places, seen)


def _search(
    care: HouseholdCare, found: Advice, view: ActorView, places: tuple[str, ...], seen: ObservedHousehold
) -> Move:
    named = bool([place for place in places if _named(place, found)])
    if seen.at in seen.closed and (care.opens or _named(seen.at, found)) and f"open {seen.at}" not in seen.failed:
        return Move("It may be inside.", f"open {seen.at}")
    if len(seen.visited) < care.most_places or named:
        for place in _order(view, places, found):
            if place not in seen.visited and f"go to {place}" not in seen.failed:
                return Move(f"Perhaps it is at {place}.", f"go to {place}")
            if care.opens and place in seen.closed and f"open {place}" not in seen.failed:
                return Move("I have not looked inside yet.", f"go to {place}")
    return Move("I cannot find it.", "look")


def _named(place: str, found: Advice) -> bool:
    return found.wants(place) or found.wants(kind(place))


def _order(view: ActorView, places: tuple[str, ...], found: Advice) -> Iterator[str]:
    """The receptacles in the order of its search: those that the memory names first, those that it turns down last."""
    mixed = sorted(places)
    Random(f"round {view.instruction} {view.opening}").shuffle(mixed)
    yield from (place for place in mixed if _named(place, found))
    yield from (place for place in mixed if not _named(place, found) and not found.refuses(place))
    yield from (place for place in mixed if found.refuses(place) and not _named(place, found))
