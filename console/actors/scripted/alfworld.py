"""The scripted Actor in the household.

The Actor visits receptacles until it sees the object, takes the object, treats it as the task requires, and puts it in
the target receptacle. The task determines its weaknesses: the Actor gives up after a few places, leaves doors closed,
takes a similar object, forgets or confuses treatments, or brings one of two objects. If it believes the task is done,
the Actor walks around until its steps are used up. Feedback in the memory corrects these weaknesses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from random import Random

from console.actors.move import ActorView, Move, Reflection
from console.actors.scripted.hints import Advice, read_advice
from console.trajectory import Step
from console.trajectory.strict_yaml import Words, read_data

_APPLIANCES = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
_MUDDLED = {"heat": "cool", "cool": "heat", "clean": "clean"}
_ALIKE = read_data(files(__package__) / "alfworld.yaml", tuple[Words, ...])


@dataclass(frozen=True, slots=True)
class HouseholdCare:
    """The Actor's habits in the household; `most_places` limits the number of receptacles to search."""

    most_places: int
    opens: bool
    exact: bool
    treats: bool
    muddles: bool
    brings_all: bool


def move(view: ActorView) -> Move:
    """Return the next move in a household task."""
    task = parse_task(view.instruction)
    places = list_receptacles(view.opening)
    if task is None or not places:
        return Move("I do not understand this task.", "look")
    advice, household = read_advice(view.memory), observe_household(view.steps)
    care = _care(view, task, advice)
    at_place = [name for name, place in household.placed.items() if kind(place) == task.place]
    wanted = task.count if care.brings_all else 1
    if not task.looks and not household.held and len(at_place) >= wanted:
        return _wander(places, household, len(view.steps))
    if household.held and not task.looks:
        return _deliver(task, care, places, household)
    seen = _light(task, household) if household.held else _fetch(task, care, advice, household)
    return seen or _search(care, advice, view, places, household)


def plan(reflection: Reflection) -> str:
    """Write the plan after a rejection: other places, another object, or a step that the Actor omitted."""
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
    rng = Random(f"helper {view.instruction} {view.opening}" + " again" * view.take)
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


def _wander(places: tuple[str, ...], household: ObservedHousehold, steps: int) -> Move:
    """Walk around the whole room, examining each place once before repeating any."""
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
    """Return the next move to reach and open the receptacle, or None if no move is needed or the needed move failed."""
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
    goals = [place for place in places if kind(place) == task.place]
    for goal in sorted(goals, key=lambda place: (place not in household.placed.values(), len(place), place)):
        put = f"move {household.held} to {goal}"
        if put not in household.failed:
            return _reach(goal, household) or Move("This is the right place.", put)
    return Move("I do not know where to put it.", "look")


def _light(task: HouseholdTask, household: ObservedHousehold) -> Move | None:
    for place, things in household.contents.items():
        lamp = next((thing for thing in things if kind(thing) == task.place), "")
        if lamp:
            return _reach(place, household) or Move("Here is the light.", f"use {lamp}")
    return None


def _fetch(task: HouseholdTask, care: HouseholdCare, advice: Advice, household: ObservedHousehold) -> Move | None:
    for place, things in household.contents.items():
        for name in things:
            take = f"take {name} from {place}"
            if name not in household.placed and take not in household.failed and _suits(name, task, care, advice):
                return _reach(place, household) or Move(f"There is {name}.", take)
    return None


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
    """Yield the receptacles in search order: named in the memory first, refused there last."""
    mixed = sorted(places)
    Random(f"round {view.instruction} {view.opening}").shuffle(mixed)
    yield from (place for place in mixed if _named(place, advice))
    yield from (place for place in mixed if not _named(place, advice) and not advice.refuses(place))
    yield from (place for place in mixed if advice.refuses(place) and not _named(place, advice))


_ARTICLE = r"(?:a |an |the |some |one )?"
_LOOK = re.compile(
    rf"\b(?:look at|examine) {_ARTICLE}(?P<thing>[a-z]+) (?:under|with|by|in|using) {_ARTICLE}(?P<place>[a-z]+)"
)
_TWO = re.compile(
    rf"\b(?:put|find) two (?P<thing>[a-z]+?)(?: and put them)? (?:in/on|in|on) {_ARTICLE}(?P<place>[a-z]+)"
)
_TREAT = re.compile(
    rf"\b(?P<how>[a-z]+) {_ARTICLE}(?P<thing>[a-z]+) and put (?:it|them) (?:in/on|in|on) {_ARTICLE}(?P<place>[a-z]+)"
)
_PUT = re.compile(
    rf"\bput {_ARTICLE}(?:(?P<how>[a-z]+) )?(?P<thing>[a-z]+) (?:in/on|in|on) {_ARTICLE}(?P<place>[a-z]+)"
)
_HOW = {"clean": "clean", "wash": "clean", "rinse": "clean", "hot": "heat", "heat": "heat", "warm": "heat"} | {
    "cook": "heat",
    "cool": "cool",
    "cold": "cool",
    "chill": "cool",
    "chilled": "cool",
    "heated": "heat",
}


@dataclass(frozen=True, slots=True)
class HouseholdTask:
    """A household task; if `looks` is true, the task is to examine the object under the lamp named by `place`."""

    thing: str
    place: str
    treatment: str = ""
    count: int = 1
    looks: bool = False


@lru_cache(maxsize=1024)
def parse_task(instruction: str) -> HouseholdTask | None:
    """Parse the household task of an instruction, or return None if the wording is unknown."""
    text = instruction.lower()
    if match := _LOOK.search(text):
        return HouseholdTask(match["thing"], match["place"], looks=True)
    if match := _TWO.search(text):
        return HouseholdTask(match["thing"], match["place"], count=2)
    for pattern in (_TREAT, _PUT):
        if match := pattern.search(text):
            return HouseholdTask(match["thing"], match["place"], _HOW.get(match["how"] or "", ""))
    return None


_NAMED = re.compile(r"\ba ([a-z]+ \d+)")
_SIGHT = re.compile(r"(?:On the|The) ([a-z]+ \d+)(?:, you see| is open\. In it, you see) (.*)$", re.DOTALL)
_CLOSED = re.compile(r"The ([a-z]+ \d+) is closed")
_TAKEN = re.compile(r"^You (?:pick up|take) the ([a-z]+ \d+) from the ([a-z]+ \d+)")
_PUT_DOWN = re.compile(r"^You (?:move|put) the ([a-z]+ \d+) (?:to|in/on) the ([a-z]+ \d+)")
_TREATED = re.compile(r"^You (clean|heat|cool) the ([a-z]+ \d+) using")


@dataclass(slots=True)
class ObservedHousehold:
    """The observed household: the Actor's position, the held object and the objects seen, by numbered name."""

    at: str = ""
    held: str = ""
    contents: dict[str, list[str]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    visited: list[str] = field(default_factory=list)
    treated: set[tuple[str, str]] = field(default_factory=set)
    placed: dict[str, str] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)


@lru_cache(maxsize=1024)
def list_receptacles(opening: str) -> tuple[str, ...]:
    """List the receptacles in the opening observation, in the order of the text."""
    return tuple(_NAMED.findall(opening.partition("Your task is to")[0]))


def kind(name: str) -> str:
    """Return the kind of a numbered object, such as `apple` for `apple 2`."""
    return name.rpartition(" ")[0]


def observe_household(steps: Iterable[Step]) -> ObservedHousehold:
    """Build the observed household from the observations of these steps."""
    household = ObservedHousehold()
    for step in steps:
        household.done.add(step.action.strip())
        if step.observation.strip().startswith("Nothing happens"):
            household.failed.add(step.action.strip())
        else:
            _look_round(household, step.action.strip(), step.observation)
            _handle(household, step.observation)
    return household


def _look_round(household: ObservedHousehold, action: str, observation: str) -> None:
    if action.startswith("go to "):
        household.at = action.removeprefix("go to ")
        if household.at not in household.visited:
            household.visited.append(household.at)
    closed = _CLOSED.search(observation)
    if closed:
        household.closed.add(closed[1])
    sight = _SIGHT.search(observation)
    if sight:
        household.closed.discard(sight[1])
        household.contents[sight[1]] = _NAMED.findall(sight[2])


def _handle(household: ObservedHousehold, observation: str) -> None:
    if taken := _TAKEN.match(observation):
        household.held = taken[1]
        household.placed.pop(taken[1], None)
        if taken[1] in household.contents.get(taken[2], ()):
            household.contents[taken[2]].remove(taken[1])
    elif put := _PUT_DOWN.match(observation):
        household.held = ""
        household.placed[put[1]] = put[2]
        household.contents.setdefault(put[2], []).append(put[1])
    elif treated := _TREATED.match(observation):
        household.treated.add((treated[1], treated[2]))
