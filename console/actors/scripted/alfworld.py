"""The scripted Actor in the household.

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
from importlib.resources import files
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
from console.actors.scripted.hints import Advice, read_advice
from console.trajectory.data_files import read_data

_APPLIANCES = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
_MUDDLED = {"heat": "cool", "cool": "heat", "clean": "clean"}
_ALIKE = read_data(files(__package__) / "alfworld.yaml", tuple[frozenset[str], ...])


@dataclass(frozen=True, slots=True)
class HouseholdCare:
    """The care that it takes in the household; `most_places` is how many receptacles it visits in its search."""

    most_places: int
    opens: bool
    exact: bool
    treats: bool
    muddles: bool
    brings_all: bool


def move(view: ActorView) -> Move:
    """The next move in the household."""
    task = parse_task(view.instruction)
    places = receptacles(view.opening)
    if task is None or not places:
        return Move("I do not understand this task.", "look")
    advice, household = read_advice(view.memory), observe_household(view.steps)
    care = _care(view, task, advice)
    if _believes_done(task, care, household):
        return _wander(places, household, len(view.steps))
    if household.held and not task.looks:
        return _deliver(task, care, places, household)
    if household.held:
        return _light(task, care, advice, view, places, household)
    return _fetch(task, care, advice, view, places, household)


def plan(reflection: Reflection) -> str:
    """The plan after a refusal: other places, another thing, or what it notices that it left out."""
    task, household = parse_task(reflection.instruction), observe_household(reflection.steps)
    rng = Random(f"plan {reflection.instruction} {len(reflection.memory)}")
    notices = rng.random() < 0.4
    action = reflection.rejected_action.split()
    if task is None:
        return "I did not understand the task."
    if action and action[0] in _APPLIANCES:
        what = " ".join(action[1:3])
        return f"To {action[0]} {what} was refused. I will leave {what} alone."
    if notices and task.treatment and not household.treated:
        return f"I forgot to {task.treatment} it."
    if notices and task.count == 2 and len(household.placed) < 2:
        return "I only brought one of the two."
    if household.placed:
        return f"That was not it. I will not bring {next(iter(household.placed))} once more."
    missed = ", ".join(household.visited[:4])
    if notices:
        return f"I did not see it at {missed}. I will search the rest of the room and open what is closed."
    return f"I did not see it at {missed}."


def _care(view: ActorView, task: HouseholdTask, advice: Advice) -> HouseholdCare:
    rng = Random(f"helper {view.instruction} {view.opening}")
    restless, shy, careless, forgets, muddles, one = (rng.random() for _ in range(6))
    treated = not task.treatment or advice.about(task.treatment)
    searches = advice.about("places") or advice.about("open")
    return HouseholdCare(
        most_places=99 if restless > 0.5 or searches else 7 + 4 * len(view.memory),
        opens=shy > 0.25 or advice.about("open"),
        exact=careless > 0.25 or advice.about("object") or advice.wants(task.thing),
        treats=forgets > 0.25 or (treated and bool(view.memory)),
        muddles=muddles < 0.15 and not (view.memory and treated),
        brings_all=one > 0.5 or advice.about("two"),
    )


def _suits(name: str, task: HouseholdTask, care: HouseholdCare, advice: Advice) -> bool:
    if advice.refuses(name):
        return False
    if kind(name) == task.thing:
        return True
    return not care.exact and any({kind(name), task.thing} <= group for group in _ALIKE)


def _believes_done(task: HouseholdTask, care: HouseholdCare, household: ObservedHousehold) -> bool:
    at_place = [name for name, place in household.placed.items() if kind(place) == task.place]
    wanted = task.count if care.brings_all else 1
    return not task.looks and not household.held and len(at_place) >= wanted


def _wander(places: tuple[str, ...], household: ObservedHousehold, steps: int) -> Move:
    """Looks over the whole room, one place after the other, each once before any comes again."""
    if household.at and f"examine {household.at}" not in household.done:
        return Move("All seems done; I look it over once more.", f"examine {household.at}")
    elsewhere = [place for place in places if place != household.at and f"go to {place}" not in household.failed]
    fresh = [place for place in elsewhere if f"go to {place}" not in household.done]
    unseen = fresh or [place for place in elsewhere if f"examine {place}" not in household.done]
    if not elsewhere:
        return Move("All seems done.", "look")
    following = unseen[0] if unseen else elsewhere[steps % len(elsewhere)]
    return Move("All seems done; I look round the room.", f"go to {following}")


def _reach(place: str, household: ObservedHousehold) -> Move | None:
    """The next move on the way to a receptacle that is open, None where the Actor stands before it."""
    if household.at != place and f"go to {place}" not in household.failed:
        return Move(f"I go to {place}.", f"go to {place}")
    if place in household.closed and f"open {place}" not in household.failed:
        return Move("It is closed.", f"open {place}")
    return None


def _deliver(task: HouseholdTask, care: HouseholdCare, places: tuple[str, ...], household: ObservedHousehold) -> Move:
    how = _MUDDLED.get(task.treatment, "") if care.muddles else task.treatment
    appliance = next((place for place in places if kind(place) == _APPLIANCES.get(how)), "")
    treat = f"{how} {household.held} with {appliance}"
    if appliance and care.treats and (how, household.held) not in household.treated and treat not in household.failed:
        if household.at != appliance and f"go to {appliance}" not in household.failed:
            return Move(f"To {how} it I go to {appliance}.", f"go to {appliance}")
        return Move(f"The task asks to {how} it.", treat)
    for goal in sorted(_goals(task, places), key=lambda place: place not in household.placed.values()):
        put = f"move {household.held} to {goal}"
        if put not in household.failed:
            return _reach(goal, household) or Move("This is where it belongs.", put)
    return Move("I do not know where to put it.", "look")


def _goals(task: HouseholdTask, places: tuple[str, ...]) -> list[str]:
    return sorted((place for place in places if kind(place) == task.place), key=lambda place: (len(place), place))


def _light(
    task: HouseholdTask,
    care: HouseholdCare,
    advice: Advice,
    view: ActorView,
    places: tuple[str, ...],
    household: ObservedHousehold,
) -> Move:
    for place, things in household.contents.items():
        lamp = next((thing for thing in things if kind(thing) == task.place), "")
        if lamp:
            return _reach(place, household) or Move("Here is the light.", f"use {lamp}")
    return _search(care, advice, view, places, household)


def _fetch(
    task: HouseholdTask,
    care: HouseholdCare,
    advice: Advice,
    view: ActorView,
    places: tuple[str, ...],
    household: ObservedHousehold,
) -> Move:
    for place, things in household.contents.items():
        for name in things:
            take = f"take {name} from {place}"
            if name not in household.placed and take not in household.failed and _suits(name, task, care, advice):
                return _reach(place, household) or Move(f"There is {name}.", take)
    return _search(care, advice, view, places, household)


def _search(
    care: HouseholdCare, advice: Advice, view: ActorView, places: tuple[str, ...], household: ObservedHousehold
) -> Move:
    named = bool([place for place in places if _named(place, advice)])
    if (
        household.at in household.closed
        and (care.opens or _named(household.at, advice))
        and f"open {household.at}" not in household.failed
    ):
        return Move("It may be inside.", f"open {household.at}")
    if len(household.visited) < care.most_places or named:
        for place in _order(view, places, advice):
            if place not in household.visited and f"go to {place}" not in household.failed:
                return Move(f"Perhaps it is at {place}.", f"go to {place}")
            if care.opens and place in household.closed and f"open {place}" not in household.failed:
                return Move("I have not looked inside yet.", f"go to {place}")
    return Move("I cannot find it.", "look")


def _named(place: str, advice: Advice) -> bool:
    return advice.wants(place) or advice.wants(kind(place))


def _order(view: ActorView, places: tuple[str, ...], advice: Advice) -> Iterator[str]:
    """The receptacles in the order of its search: those that the memory names first, those that it turns down last."""
    mixed = sorted(places)
    Random(f"round {view.instruction} {view.opening}").shuffle(mixed)
    yield from (place for place in mixed if _named(place, advice))
    yield from (place for place in mixed if not _named(place, advice) and not advice.refuses(place))
    yield from (place for place in mixed if advice.refuses(place) and not _named(place, advice))
