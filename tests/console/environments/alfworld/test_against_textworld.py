"""Our household against TextWorld playing the same game, line by line."""

from copy import deepcopy
from itertools import product
from random import Random

import pytest

from console.environments import ENVIRONMENTS
from console.environments.alfworld.household import (
    CLEANABLE,
    FIXED,
    HEATABLE,
    HOLDS,
    KNIVES,
    NOTHING_HAPPENS,
    SLICEABLE,
    initial_state,
)
from console.environments.alfworld.rules import perform
from console.environments.alfworld.tasks import furnish, is_reached, task_setup

pytestmark = pytest.mark.filterwarnings("ignore")

ALFWORLD = ENVIRONMENTS["alfworld"]
ACTIONS = 70
SINK, MICROWAVE, FRIDGE = APPLIANCES = ("sinkbasin 1", "microwave 1", "fridge 1")
TREATMENTS = {"k": ("clean", SINK), "h": ("heat", MICROWAVE), "c": ("cool", FRIDGE)}
IDLE = {"look", "inventory", "help"}
TEMPLATES = [*sorted(IDLE), "go to {r}", "open {r}", "close {r}", "take {o} from {r}", "move {o} to {r}", "use {o}"]
TEMPLATES += ["clean {o} with {r}", "heat {o} with {r}", "cool {o} with {r}", "slice {o} with {p}"]
TEMPLATES += ["examine {o}", "examine {r}"]
BROKEN = [
    "",
    "  look  ",
    "Look",
    "go to",
    "go to  {r}",
    "go to {r}.",
    "take {o}",
    "open {o}",
    "take {r} from {o}",
    "zoë",
]


def house(task):
    """The task's household."""
    return furnish(task_setup(task.options))


def foods(household):
    """The things that can be cleaned, heated, cooled and sliced."""
    return [name for name, thing in household.things.items() if thing.kind in CLEANABLE & HEATABLE & SLICEABLE]


def knives(household):
    """The things that slice."""
    return [name for name, thing in household.things.items() if thing.kind in KNIVES]


def neighbours(household):
    """The pairs of drawers that are reached from one place."""
    parts = [part for part in household.receptacles.values() if part.kind == "drawer"]
    return [(a.name, b.name) for a, b in product(parts, parts) if a.place == b.place and a != b]


TASKS = ALFWORLD.tasks(5, 24)
HOUSES = [(task, house(task)) for task in ALFWORLD.tasks(6, 60)]
KITCHENS = [task for task, household in HOUSES if knives(household) and len(foods(household)) > 2][:4]
DRAWERS = [task for task, household in HOUSES if neighbours(household)][:4]


def by_id(task):
    """What a test run calls a task."""
    return task.task_id


@pytest.mark.parametrize("task", TASKS, ids=by_id)
def test_the_same_way_to_the_goal_reads_the_same(task, textworld_game):
    world = ALFWORLD.start(task)
    opening, play = textworld_game(task)
    assert world.reset()[0] == opening
    for action in ["look", *task.gold["actions"]]:
        told, _, done, _, info = world.step(action)
        assert (told, info["success"]) == play(action)[:2]
    assert done


@pytest.mark.parametrize("task", TASKS, ids=by_id)
def test_random_actions_possible_or_not_read_the_same_and_change_the_same(task, textworld_game):
    asked = task_setup(task.options)
    random, state = Random(task.task_id), initial_state(furnish(asked))
    _, play = textworld_game(task)
    possible = play("look")[2]
    # Half of the walks begin where the task is done, so that the goal is seen to be lost and reached again.
    first = list(task.gold["actions"]) if random.random() < 0.5 else []
    for _ in range(ACTIONS):
        action = first.pop(0) if first else any_action(random, possible, state)
        told, won, possible = play(action)
        assert (action, perform(state, action), is_reached(asked, state)) == (action, told, won)
    assert every_possible_command(state) == possible


@pytest.mark.parametrize("task", KITCHENS, ids=by_id)
def test_everything_that_can_be_done_to_food_reads_the_same(task, textworld_game):
    household = house(task)
    state, (_, play) = initial_state(household), textworld_game(task)
    actions = list(tour(household))
    told = [perform(state, action) for action in actions]
    assert list(zip(actions, told, strict=True)) == [(action, play(action)[0]) for action in actions]
    conditions = {line.removeprefix("This is a ").rsplit(" ", 2)[0] for line in told if line.startswith("This is a ")}
    assert conditions >= {"clean", "hot", "cold", "sliced", "hot sliced", "cool sliced", "clean sliced"}
    assert conditions >= {"hot and clean", "cool and clean", "hot and clean sliced", "cool and clean sliced"}


@pytest.mark.parametrize("task", DRAWERS, ids=by_id)
def test_two_drawers_reached_from_one_place_read_the_same(task, textworld_game):
    household = house(task)
    state, (_, play) = initial_state(household), textworld_game(task)
    first, second = neighbours(household)[0]
    thing = next(name for name, thing in household.things.items() if thing.kind in HOLDS["drawer"] - FIXED)
    actions = [*fetch(household, thing, first), f"go to {first}", f"go to {second}", f"open {first}", f"open {second}"]
    for target in (first, second, first):
        actions += ["look", f"move {thing} to {target}", "look", f"examine {target}", f"take {thing} from {target}"]
    told = [perform(state, action) for action in actions]
    assert list(zip(actions, told, strict=True)) == [(action, play(action)[0]) for action in actions]
    assert any(line.endswith(f"Next to it, you see a {thing}.") for line in told)


def any_action(random, possible, state):
    """Mostly something possible, every verb as often; else a wrong or a broken command."""
    if random.random() < 0.7:
        verb = random.choice(sorted({command.split()[0] for command in possible} - IDLE) or sorted(IDLE))
        choices = sorted(command for command in possible if command.startswith(verb))
        useful = [command for command in choices if command.endswith(APPLIANCES)]
        return random.choice(useful if useful and random.random() < 0.5 else choices)
    template = random.choice(BROKEN if random.random() < 0.2 else TEMPLATES)
    receptacles, things = list(state.household.receptacles), list(state.household.things)
    near = [name for name, place in state.where.items() if state.household.receptacles[place].place == state.place]
    thing = state.held if state.held and random.random() < 0.5 else random.choice(near or things)
    return template.format(r=random.choice(receptacles), o=thing, p=random.choice(things))


def every_possible_command(state):
    """Every command that our rules would carry out in this state."""
    receptacles, things = state.household.receptacles, state.household.things
    commands = {
        template.format(r=receptacle, o=thing, p=other)
        for template in TEMPLATES
        for receptacle, thing, other in product(
            receptacles if "{r}" in template else [""],
            things if "{o}" in template else [""],
            things if "{p}" in template else [""],
        )
    }
    return {command for command in commands if happens(state, command)}


def happens(state, command):
    """Whether our rules carry the command out; the state stays as it is."""
    trial = initial_state(state.household)
    trial.where, trial.place, trial.held = dict(state.where), state.place, state.held
    trial.opened, trial.done = set(state.opened), deepcopy(state.done)
    return perform(trial, command) != NOTHING_HAPPENS


def tour(household):
    """Cleaning (k), heating (h), cooling (c) and slicing (s) in several orders, each looked at afterwards."""
    knife = knives(household)[0]
    for food, order in zip(foods(household), ("khcsh", "hcsh", "sk"), strict=False):
        yield from (f"slice {food} with {knife}", *fetch(household, food, SINK))
        for letter in order:
            yield from slicing(household, food, knife) if letter == "s" else treating(food, *TREATMENTS[letter])
        yield from (f"go to {SINK}", f"move {food} to {SINK}", f"examine {food}")


def treating(food, verb, appliance):
    """One treatment, first tried where it cannot be done."""
    yield from (f"{verb} {food} with {appliance}", f"go to {appliance}", f"{verb} {food} with {appliance}")
    yield from (f"examine {food}", "inventory", f"take {food} from {appliance}")


def slicing(household, food, knife):
    """Puts the food down, slices it and takes it up again."""
    yield from (f"go to {SINK}", f"move {food} to {SINK}", *fetch(household, knife, SINK), f"go to {SINK}")
    yield from (f"slice {food} with {knife}", f"examine {knife}", f"move {knife} to {SINK}")
    yield from (f"take {food} from {SINK}", f"examine {food}")


def fetch(household, thing, last):
    """Takes the thing from where it starts, or from where it was last put."""
    for source in (household.starts[thing], last):
        yield from (f"go to {source}", f"open {source}", f"take {thing} from {source}")
