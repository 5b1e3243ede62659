"""Households as real TextWorld games: what our edition must answer word for word."""

import json
from importlib import import_module, resources
from importlib.util import find_spec

import pytest

from console.environments.alfworld import household as things_of
from console.environments.alfworld.tasks import LOOK, TREATMENT, TWO, furnish, task_setup

REASON = "the optional extra `alfworld` is not installed"
QUALITIES = {"clean": ("cleanable", "isClean"), "heat": ("heatable", "isHot"), "cool": ("coolable", "isCool")}
TRAITS = {
    "cleanable": things_of.CLEANABLE,
    "heatable": things_of.HEATABLE,
    "coolable": things_of.COOLABLE,
    "sliceable": things_of.SLICEABLE,
    "toggleable": things_of.LAMPS,
    "isReceptacleObject": things_of.HOLLOW,
}


@pytest.fixture
def textworld_game(tmp_path):
    """A function from a task to the original's opening and a function `command -> (words, won, possible commands)`."""
    if find_spec("alfworld") is None or find_spec("textworld") is None:
        pytest.skip(REASON)
    started = []

    def begin(task):
        path = tmp_path / f"{task.task_id}.tw-pddl"
        path.write_text(json.dumps(game(task)))
        world = original(path)
        started.append(world)
        opening = world.reset()["feedback"]

        def play(command):
            state, _, _ = world.step(command)
            return state["feedback"], state["won"], set(state["admissible_commands"])

        return opening.removeprefix("-= Welcome to TextWorld, ALFRED! =-\n\n"), play

    yield begin
    for world in started:
        world.close()


def original(path):
    """ALFWorld's own environment on a game file: TextWorld's PDDL player behind ALFWorld's naming of things."""
    # ALFWorld's import makes a folder in the home directory unless it is told where its data are.
    patch = pytest.MonkeyPatch()
    patch.setenv("ALFWORLD_DATA", str(path.parent))
    textworld = import_module("textworld")
    demangler = import_module("alfworld.agents.environment.alfred_tw_env").AlfredDemangler
    patch.undo()
    return textworld.start(str(path), textworld.EnvInfos(won=True, admissible_commands=True), wrappers=[demangler()])


def game(task):
    """The content of a `game.tw-pddl` file for a task, with ALFWorld's own domain and grammar."""
    data = resources.files("alfworld") / "data"
    grammar = (data / "alfred.twl2").read_text()
    return {
        "pddl_domain": (data / "alfred.pddl").read_text(),
        "grammar": grammar.replace("UNKNOWN GOAL.", task.instruction),
        "pddl_problem": problem(task),
        "solvable": True,
        "walkthrough": None,
    }


def problem(task):
    """The PDDL problem of a task: the household's parts, how things stand, and the goal."""
    asked = task_setup(task.options)
    household = furnish(asked)
    receptacles, things = household.receptacles.values(), household.things.values()
    lines = ["(define (problem household) (:domain alfred) (:objects agent1 - agent place0 - location"]
    lines += [f"place{place} - location" for place in sorted({part.place for part in receptacles})]
    lines += [f"{identity(part)} - receptacle" for part in receptacles]
    lines += [f"{identity(thing)} - object" for thing in things]
    lines += [f"{kind}Type - rtype" for kind in sorted({*things_of.HOLDS})]
    lines += [f"{kind}Type - otype" for kind in sorted(set().union(*things_of.THINGS.values()))]
    lines += [")", "(:init (atLocation agent1 place0) (= (total-cost) 0)"]
    lines += [line for part in receptacles for line in furniture_facts(part, things)]
    lines += [line for thing in things for line in thing_facts(thing, household)]
    return "\n".join([*lines, ")", f"(:goal {goal(asked)})", ")"])


def furniture_facts(part, things):
    """The facts of one receptacle."""
    yield f"(receptacleType {identity(part)} {part.kind}Type)"
    yield f"(receptacleAtLocation {identity(part)} place{part.place})"
    if part.openable:
        yield f"(openable {identity(part)})"
    for kind in sorted({thing.kind for thing in things} & things_of.HOLDS[part.kind]):
        yield f"(canContain {part.kind}Type {kind}Type)"


def thing_facts(thing, household):
    """The facts of one thing."""
    source = household.receptacles[household.starts[thing.name]]
    yield f"(objectType {identity(thing)} {thing.kind}Type)"
    yield f"(inReceptacle {identity(thing)} {identity(source)})"
    yield f"(objectAtLocation {identity(thing)} place{source.place})"
    if thing.kind not in things_of.FIXED:
        yield f"(pickupable {identity(thing)})"
    for trait, kinds in TRAITS.items():
        if thing.kind in kinds:
            yield f"({trait} {identity(thing)})"


def goal(asked):
    """The goal of a task in PDDL, by the task type."""
    kind = f"(objectType ?o {asked.thing}Type)"
    if asked.type == LOOK:
        return (
            f"(and (exists (?t - object ?r - receptacle ?a - agent ?l - location)"
            f" (and (objectType ?t {asked.receptacle}Type) (toggleable ?t) (isToggled ?t)"
            f" (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?t ?r)))"
            f" (exists (?o - object ?a - agent) (and {kind} (holds ?a ?o))))"
        )
    where = f"(receptacleType ?r {asked.receptacle}Type) (inReceptacle ?o ?r)"
    if asked.type == TWO:
        other = f"(exists (?p - object) (and (not (= ?o ?p)) (objectType ?p {asked.thing}Type) (inReceptacle ?p ?r)))"
        return f"(and (exists (?r - receptacle) (exists (?o - object) (and {kind} {where} {other}))))"
    treated = " ".join(f"({name} ?o)" for name in QUALITIES.get(TREATMENT.get(asked.type), ()))
    return f"(and (exists (?r - receptacle) (exists (?o - object) (and {kind} {where} {treated}))))"


def identity(part):
    """A part's id in the game. ALFWorld counts ids backwards, and names a basin by the word in the rest of the id."""
    kind, _, basin = part.kind.partition("basin")
    rest = f"_bar_{kind}basin" if part.kind.endswith("basin") else basin
    return f"{kind}_bar_{99 - part.number:02d}{rest}"
