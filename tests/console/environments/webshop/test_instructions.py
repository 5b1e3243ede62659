"""How wishes are worded."""

import re
from collections import Counter
from random import Random

import pytest

from console.environments.webshop.catalogue import list_kinds
from console.environments.webshop.tasks import InstructionParts, instruction, tasks

KINDS = {kind.noun: kind for kind in list_kinds()}


def wish(noun, **said):
    """A wish for that kind of thing, with nothing else said but what is given."""
    nothing = {"style": None, "material": None, "traits": [], "part": None, "options": {}, "price": None}
    return InstructionParts(kind=KINDS[noun], **{**nothing, **said})


@pytest.mark.parametrize(
    ("noun", "style", "thing"),
    [
        ("area rug", None, "an area rug"),
        ("area rug", "persian", "a persian area rug"),
        ("yoga mat", None, "a yoga mat"),
        ("running shoes", "retro", "retro running shoes"),
        ("ground coffee", None, "ground coffee"),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_the_article_fits_the_first_word_and_plurals_have_none(noun, style, thing, seed):
    text = instruction(wish(noun, style=style), Random(seed))
    assert text.endswith(f" {thing}")
    assert not text.endswith((f" a {thing}", f" an {thing}"))


def test_plural_things_are_and_a_single_thing_is():
    one = instruction(wish("yoga mat", style="travel", traits=["non slip"]), Random(1))
    many = instruction(wish("leggings", style="capri", traits=["squat proof"]), Random(1))
    assert "that is non slip" in one
    assert "that are squat proof" in many


def test_a_limit_is_said_in_dollars_and_cents():
    assert instruction(wish("yoga mat", price=30.0), Random(1)).endswith(", and price lower than 30.00 dollars")


def test_two_hundred_tasks_are_worded_in_many_ways():
    texts = [task.instruction for task in tasks(8, 200)]
    openings = Counter(re.match(r"(?:\S+ ){2}", text)[0] for text in texts)
    assert len(openings) >= 10
    assert max(openings.values()) < 60
    with_price = sum("price lower than" in text for text in texts)
    assert 120 < with_price < 190
