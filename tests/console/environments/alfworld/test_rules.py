"""What each command does in a small kitchen."""

import re
from dataclasses import replace

import pytest

from console.environments.alfworld import ALFWORLD
from console.environments.alfworld.household import Household, HouseholdObject, Receptacle, initial_state, sort_key
from console.environments.alfworld.rules import perform
from console.environments.alfworld.tasks import tasks
from console.errors import BadInput
from tests.oracles import tidying

FURNITURE = [
    Receptacle("countertop", 1, 1, False),
    Receptacle("drawer", 1, 2, True),
    Receptacle("drawer", 2, 2, True),
    Receptacle("fridge", 1, 3, True),
    Receptacle("microwave", 1, 4, True),
    Receptacle("sinkbasin", 1, 5, False),
]
STARTS = {
    HouseholdObject("apple", 1): "countertop 1",
    HouseholdObject("houseplant", 1): "countertop 1",
    HouseholdObject("desklamp", 1): "countertop 1",
    HouseholdObject("mug", 1): "countertop 1",
    HouseholdObject("knife", 1): "drawer 1",
    HouseholdObject("book", 1): "drawer 2",
}
NO = "Nothing happens."


@pytest.fixture
def kitchen():
    """A fresh state of the small kitchen."""
    return initial_state(
        Household(
            receptacles={part.name: part for part in FURNITURE},
            things={thing.name: thing for thing in sorted(STARTS, key=sort_key)},
            starts={thing.name: source for thing, source in STARTS.items()},
        )
    )


def after(state, *commands):
    """What the last of the commands is answered with."""
    return [perform(state, command) for command in commands][-1]


def test_walking_shows_what_is_there(kitchen):
    seen = (
        "You arrive at countertop 1. On the countertop 1, you see a apple 1, a desklamp 1, a houseplant 1, and a mug 1."
    )
    assert after(kitchen, "go to countertop 1") == seen
    assert after(kitchen, "go to fridge 1") == "You arrive at fridge 1. The fridge 1 is closed."


def test_going_to_where_one_stands_does_nothing_and_so_does_the_neighbouring_drawer(kitchen):
    assert after(kitchen, "go to countertop 1", "go to countertop 1") == NO
    assert after(kitchen, "go to drawer 1", "go to drawer 2") == NO


def test_a_door_is_opened_once_and_closed_once(kitchen):
    assert after(kitchen, "open fridge 1") == NO
    opened = "You open the fridge 1. The fridge 1 is open. In it, you see nothing."
    assert after(kitchen, "go to fridge 1", "open fridge 1") == opened
    assert after(kitchen, "open fridge 1") == NO
    assert after(kitchen, "close fridge 1") == "You close the fridge 1."
    assert after(kitchen, "close fridge 1") == NO
    assert after(kitchen, "go to countertop 1", "open countertop 1") == NO


def test_one_hand_holds_one_thing(kitchen):
    assert after(kitchen, "inventory") == "You are not carrying anything."
    took = "You pick up the apple 1 from the countertop 1."
    assert after(kitchen, "go to countertop 1", "take apple 1 from countertop 1") == took
    assert after(kitchen, "inventory") == "You are carrying: a apple 1."
    assert after(kitchen, "take mug 1 from countertop 1") == NO


@pytest.mark.parametrize("thing", ["houseplant 1", "desklamp 1", "knife 1", "unicorn 1"])
def test_what_is_fixed_or_elsewhere_is_not_taken(kitchen, thing):
    assert after(kitchen, "go to countertop 1", f"take {thing} from countertop 1") == NO


def test_nothing_goes_through_a_closed_door(kitchen):
    assert after(kitchen, "go to drawer 1", "take knife 1 from drawer 1") == NO
    after(kitchen, "go to countertop 1", "take apple 1 from countertop 1", "go to fridge 1")
    assert after(kitchen, "move apple 1 to fridge 1") == NO
    assert after(kitchen, "open fridge 1", "move apple 1 to fridge 1") == "You move the apple 1 to the fridge 1."
    assert after(kitchen, "examine fridge 1") == "The fridge 1 is open. In it, you see a apple 1."


def test_a_thing_is_put_only_where_it_fits(kitchen):
    after(kitchen, "go to countertop 1", "take apple 1 from countertop 1", "go to drawer 1", "open drawer 1")
    assert after(kitchen, "move apple 1 to drawer 1") == NO


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("clean apple 1 with sinkbasin 1", "sinkbasin 1"),
        ("heat apple 1 with microwave 1", "microwave 1"),
        ("cool apple 1 with fridge 1", "fridge 1"),
    ],
)
def test_a_treatment_needs_the_thing_in_the_hand_and_its_appliance(kitchen, command, place):
    assert after(kitchen, f"go to {place}", command) == NO
    after(kitchen, "go to countertop 1", "take apple 1 from countertop 1")
    assert after(kitchen, command) == NO
    verb = command.split()[0]
    assert after(kitchen, f"go to {place}", command) == f"You {verb} the apple 1 using the {place}."
    other = "fridge 1" if place != "fridge 1" else "sinkbasin 1"
    assert after(kitchen, f"go to {other}", f"{verb} apple 1 with {other}") == NO


def test_cooling_undoes_heating_and_the_other_way_round(kitchen):
    after(kitchen, "go to countertop 1", "take apple 1 from countertop 1")
    after(kitchen, "go to microwave 1", "heat apple 1 with microwave 1")
    assert after(kitchen, "examine apple 1") == "This is a hot apple 1."
    assert (
        after(kitchen, "go to fridge 1", "cool apple 1 with fridge 1", "examine apple 1") == "This is a cold apple 1."
    )
    after(kitchen, "go to microwave 1", "heat apple 1 with microwave 1")
    assert after(kitchen, "examine apple 1") == "This is a hot apple 1."


def test_slicing_needs_a_knife_in_the_hand_and_the_food_within_reach(kitchen):
    assert after(kitchen, "go to countertop 1", "slice apple 1 with knife 1") == NO
    after(kitchen, "go to drawer 1", "open drawer 1", "take knife 1 from drawer 1")
    assert after(kitchen, "slice apple 1 with knife 1") == NO
    assert after(kitchen, "go to countertop 1", "slice mug 1 with knife 1") == NO
    assert after(kitchen, "slice apple 1 with knife 1") == "You sliced the apple 1 with the knife 1."


def test_a_lamp_is_turned_on_and_never_off(kitchen):
    assert after(kitchen, "use desklamp 1") == NO
    assert after(kitchen, "go to countertop 1", "use desklamp 1") == "You turn on the desklamp 1."
    assert after(kitchen, "use desklamp 1") == "You turn on the desklamp 1."
    assert after(kitchen, "use mug 1") == NO


def test_only_what_is_held_or_stood_before_is_examined(kitchen):
    assert after(kitchen, "go to countertop 1", "examine mug 1") == NO
    assert after(kitchen, "examine fridge 1") == NO
    after(kitchen, "take mug 1 from countertop 1")
    assert after(kitchen, "examine mug 1") == "This is a normal mug 1. In it, you see nothing."


def test_looking_tells_what_one_faces_and_what_was_moved_next_door(kitchen):
    middle = "You are in the middle of a room. Looking quickly around you, you see nothing."
    assert after(kitchen, "look") == middle
    facing = "You are facing the drawer 1, and drawer 2. Next to it, you see {}."
    after(kitchen, "go to drawer 1", "open drawer 1", "open drawer 2")
    assert after(kitchen, "look") == facing.format("nothing")
    after(kitchen, "take book 1 from drawer 2", "move book 1 to drawer 1")
    assert after(kitchen, "look") == facing.format("a book 1")
    after(kitchen, "take book 1 from drawer 1", "go to countertop 1", "move book 1 to countertop 1")
    assert after(kitchen, "go to drawer 1", "look") == facing.format("nothing")


def test_help_names_every_command():
    told = perform(initial_state(Household({}, {}, {})), "help")
    assert told.startswith("Available commands:\n")
    assert [line.split()[0].rstrip(":") for line in told.splitlines()[1:]] == (
        ["look", "inventory", "go", "open", "close", "take", "move", "examine", "use", "heat", "clean", "cool", "slice"]
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "Look",
        "look around",
        "go to",
        "go  to fridge 1",
        "go to Fridge 1",
        "go to fridge",
        "\0",
        "look\nlook",
    ],
)
def test_anything_else_does_nothing(kitchen, text):
    assert after(kitchen, text) == NO


@pytest.mark.parametrize("text", ["think: hm", "> think: hm", "think[no action could be read]"])
def test_a_thought_is_noted_and_changes_nothing(kitchen, text):
    assert after(kitchen, text) == "OK."
    assert after(kitchen, "inventory") == "You are not carrying anything."


def test_blanks_around_a_command_do_not_matter(kitchen):
    assert after(kitchen, "  go to fridge 1\n") == "You arrive at fridge 1. The fridge 1 is closed."


COOL = next(task for task in tasks(0, 30) if task.options["type"].startswith("pick_cool"))


def world(task=COOL, **options):
    made = ALFWORLD.start(replace(task, options={**task.options, **options}))
    opening = made.reset()[0]
    return made, opening


def fine(*actions):
    """The last observation of those actions, reasons on."""
    made, _ = world(errors="fine")
    return [made.step(action)[0] for action in actions][-1]


def walk(verb):
    """The oracle's actions up to the first one of that verb."""
    actions = tidying(COOL)
    return actions[: next(at for at, action in enumerate(actions) if action.startswith(verb)) + 1]


TAKE = walk("take")
THING, SOURCE = TAKE[-1].removeprefix("take ").split(" from ")


def test_off_unless_asked_for():
    made, _ = world()
    assert made.step("take x")[0] == "Nothing happens."


def test_it_can_only_be_plain_or_fine():
    with pytest.raises(BadInput, match="plain"):
        world(errors="verbose")


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        ([f"take {THING} from {SOURCE}"], f"You are not at {SOURCE}; go to {SOURCE} first."),
        (["go to fridge"], "fridge has no number; say which one you mean, such as fridge 1."),
        (["go to palace 1"], "This room has no palace 1."),
        (["go to fridge 1", "go to fridge 1"], "You are at fridge 1 already."),
        ([*TAKE, f"take {THING} from {SOURCE}"], f"{THING} is not at {SOURCE}."),
        (["go to fridge 1", f"move {THING} to fridge 1"], f"You do not carry {THING}; take it first."),
        ([*TAKE, "go to fridge 1", f"move {THING} to fridge 1"], "fridge 1 is closed; open fridge 1 first."),
        (
            [*TAKE, "go to microwave 1", f"cool {THING} with microwave 1"],
            "To cool something takes a fridge, not microwave 1.",
        ),
        ([*TAKE, f"cool {THING} with fridge 1"], "You are not at fridge 1; go to fridge 1 first."),
        (["dance"], "Unknown command 'dance'; `help` lists the commands."),
        (["take it"], "'take' needs more, or other, words; `help` shows its form."),
        (["go to fridge 1", "open fridge 1", "open fridge 1"], "fridge 1 is open, or has no door."),
        (["use fridge 1"], "fridge 1 cannot be used; only lamps can."),
        ([f"slice {THING} with {THING}"], f"To slice something takes a knife, not {THING}."),
        ([f"examine {THING}"], f"You neither stand at {THING} nor carry it."),
    ],
)
def test_the_reason_follows_the_usual_words(actions, reason):
    assert fine(*actions) == f"Nothing happens. {reason}"


def test_hands_that_are_full_are_told():
    for task in tasks(0, 60):
        made, _ = world(task, errors="fine")
        *before, take = tidying(task)[: _until_taken(task)]
        thing, source = take.removeprefix("take ").split(" from ")
        *_, sight = [made.step(action)[0] for action in before]
        others = [name for name in re.findall(r"a (\w+ \d+)", sight.partition("you see")[2]) if name != thing]
        if others:
            break
    made.step(take)
    assert made.step(f"take {others[0]} from {source}")[0] == (
        f"Nothing happens. You carry {thing} already; put it down first."
    )


def _until_taken(task):
    return next(at for at, action in enumerate(tidying(task), start=1) if action.startswith("take"))


@pytest.mark.parametrize("task", tasks(1, 12), ids=lambda task: task.task_id)
def test_what_succeeds_is_answered_as_before(task):
    plain, spoken = world(task)[0], world(task, errors="fine")[0]
    for action in tidying(task):
        assert plain.step(action) == spoken.step(action)
