"""Tasks: distinct, repeatable, telling all that the reward asks for; each can be solved; the reward of a purchase."""

import json
import re
from collections import Counter
from dataclasses import asdict, replace
from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.environments.environment import TaskSpec
from console.environments.webshop import WEBSHOP
from console.environments.webshop.catalogue import catalogue, list_kinds
from console.environments.webshop.tasks import (
    Goal,
    InstructionParts,
    common_subsequence,
    goal_of,
    has_attribute,
    instruction,
    ratio,
    reward,
    tasks,
    token_set_ratio,
    type_factor,
)
from console.environments.webshop.world import search
from console.errors import BadInput
from tests.later import Later
from tests.oracles import shopping

seeds = st.integers(min_value=0, max_value=2**32)


@given(seeds, st.integers(0, 40))
def test_a_seed_always_gives_the_same_tasks_and_more_of_them_only_adds(seed, count):
    assert tasks(seed, count) == tasks(seed, count + 10)[:count]
    assert len(tasks(seed, count)) == count


@given(seeds)
def test_tasks_of_one_seed_are_distinct_and_another_seed_has_others(seed):
    one, other = tasks(seed, 50), tasks(seed + 1, 50)
    assert len({task.task_id for task in one}) == len({task.instruction for task in one}) == 50
    assert {task.instruction for task in one} != {task.instruction for task in other}
    assert not {task.task_id for task in one} & {task.task_id for task in other}


def test_every_product_can_be_asked_for_once():
    everything = tasks(1, len(catalogue()))
    assert {task.gold["asin"] for task in everything} == set(catalogue())


@pytest.mark.parametrize("count", [-1, 10**6])
def test_a_count_that_the_shop_cannot_give_is_refused(count):
    with pytest.raises(BadInput, match="not a valid number of webshop tasks"):
        tasks(0, count)


def test_the_instruction_says_every_attribute_option_and_limit_of_the_gold():
    for task in tasks(4, 300):
        gold = task.gold
        for value in [*gold["attributes"], *gold["options"].values()]:
            assert value in task.instruction, task
        limit = re.search(r"price lower than (\d+\.\d\d) dollars$", task.instruction)
        assert (limit and float(limit[1])) == gold["price_limit"]


def test_the_instruction_names_neither_the_product_nor_its_brand():
    for task in tasks(4, 300):
        assert task.gold["asin"].lower() not in task.instruction
        assert task.gold["name"].split()[0].lower() not in task.instruction.split()


def test_the_target_meets_the_limit():
    assert all(t.gold["price_limit"] is None or t.gold["price"] < t.gold["price_limit"] for t in tasks(4, 300))


def test_gold_has_what_a_reviewer_needs():
    gold = tasks(4, 1)[0].gold
    assert set(gold) == {"asin", "name", "attributes", "options", "price", "price_limit"}
    assert gold["name"] == catalogue()[gold["asin"]].title


def test_a_task_that_was_stored_as_json_starts_as_before():
    task = tasks(4, 1)[0]
    stored = TaskSpec(**json.loads(json.dumps(asdict(task))))
    assert stored == task
    assert WEBSHOP.start(stored).reset() == WEBSHOP.start(task).reset()


TASKS = Later(tasks, 2, 200)


def play(task, actions):
    """What the last of the actions brings."""
    world = WEBSHOP.start(task)
    world.reset()
    return [world.step(action) for action in actions][-1]


def first_result_bought(task, *, with_options):
    """The reward of searching with the user's own words and buying what comes first."""
    wording = re.sub(r", and price lower.*", "", task.instruction)
    world = WEBSHOP.start(task)
    page = world.step(f"search[{wording}]")[0]
    first = re.search(r"^\[(B0\w{8})\]", page, re.MULTILINE)[1]
    world.step(f"click[{first}]")
    for value in task.gold["options"].values() if with_options else ():
        world.step(f"click[{value}]")
    return world.step("click[Buy Now]")[1]


@pytest.mark.parametrize("observation", ["full", "react"])
def test_the_oracle_earns_exactly_one_on_every_task_within_the_cap(observation):
    for task in TASKS:
        actions = shopping(task)
        _, earned, terminated, truncated, info = play(replace(task, options={"observation": observation}), actions)
        assert (earned, terminated, truncated, info) == (1.0, True, False, {"success": True, "score": 1.0}), task
        assert len(actions) <= 8 < WEBSHOP.step_cap


def test_the_oracle_buys_last_and_only_once():
    for task in TASKS:
        assert [action == "click[Buy Now]" for action in shopping(task)].index(True) == len(shopping(task)) - 1


def test_the_users_own_words_bring_something_worth_one_among_the_results():
    solvable = 0
    for task in TASKS:
        goal = goal_of(task.gold)
        found = (catalogue()[asin] for asin in search(task.instruction))
        fitting = (p for p in found if all(value in p.options.get(name, ()) for name, value in goal.options.items()))
        solvable += any(reward(goal, product, goal.options) == 1.0 for product in fitting)
    assert solvable >= 0.97 * len(TASKS)


def test_buying_the_first_result_as_it_is_rarely_earns_one():
    earned = [first_result_bought(task, with_options=False) for task in TASKS]
    assert 0.02 < sum(reward == 1.0 for reward in earned) / len(TASKS) < 0.25


def test_the_first_result_is_often_wrong_even_with_the_right_options():
    earned = [first_result_bought(task, with_options=True) for task in TASKS]
    assert 0.3 < sum(reward == 1.0 for reward in earned) / len(TASKS) < 0.7


def test_a_task_of_another_shop_is_refused():
    with pytest.raises(BadInput, match="embedded catalogue"):
        shopping(replace(TASKS[0], gold={"asin": "B09KCMTNQP"}))


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


@pytest.fixture
def rug():
    """A product whose every field the test knows."""
    some = next(iter(catalogue().values()))
    return replace(
        some,
        asin="B0TEST0001",
        title="Vortavi Shaggy Wool Area Rug for Dining Room, Stain Resistant",
        price=40.0,
        description="Vortavi area rug for living room and bedroom.",
        features=("Material: wool", "Comes with a tassel fringe", "Stain resistant"),
        options={"color": ("black", "teal"), "size": ("2 x 3 ft", "4 x 6 ft")},
        attributes=("wool", "shaggy", "stain resistant", "tassel fringe"),
        category=("Home & Kitchen", "Home Decor", "area rug"),
        query="area rug",
    )


@pytest.fixture
def goal(rug):
    """A shaggy wool rug, teal, 4 x 6 ft, up to 50 dollars: five things and the kind."""
    return Goal(rug, ("wool", "shaggy"), {"color": "teal", "size": "4 x 6 ft"}, 50.0)


RIGHT = {"color": "teal", "size": "4 x 6 ft"}


def test_the_target_with_its_options_earns_exactly_one(goal, rug):
    assert reward(goal, rug, RIGHT) == 1.0


@pytest.mark.parametrize(
    ("chosen", "earned"),
    [({}, 3 / 5), ({"color": "teal"}, 4 / 5), ({"color": "black", "size": "4 x 6 ft"}, 4 / 5)],
)
def test_each_missing_option_costs_its_share(goal, rug, chosen, earned):
    assert reward(goal, rug, chosen) == pytest.approx(earned)


def test_a_missing_attribute_costs_its_share(goal, rug):
    jute = replace(
        rug, attributes=("jute", "shaggy"), title=rug.title.replace("Wool", "Jute"), features=("Material: jute",)
    )
    assert reward(goal, jute, RIGHT) == pytest.approx(4 / 5)


def test_a_price_above_the_limit_costs_its_share_and_the_limit_itself_is_fine(goal, rug):
    assert reward(goal, replace(rug, price=50.01), RIGHT) == pytest.approx(4 / 5)
    assert reward(goal, replace(rug, price=50.0), RIGHT) == 1.0


def test_without_a_limit_any_price_will_do(goal, rug):
    assert reward(replace(goal, price=None), replace(rug, price=9999.0), RIGHT) == 1.0


def test_a_goal_without_attributes_or_options_is_about_the_price(rug):
    assert reward(Goal(rug, (), {}, 50.0), rug, {}) == 1.0
    assert reward(Goal(rug, (), {}, 10.0), rug, {}) == 0.0


def test_an_attribute_may_be_worded_a_little_differently_or_stand_in_the_text(rug):
    assert has_attribute(rug, "stain-resistant")
    assert has_attribute(rug, "living room")
    assert not has_attribute(rug, "machine washable")


@pytest.mark.parametrize(
    ("title", "query", "category", "factor"),
    [
        ("Brequora Jute Rug", "area rug", ("Home & Kitchen", "Home Decor", "area rug"), 1.0),
        ("Brequora Linen Curtains for Dining", "curtains", ("Home & Kitchen", "Home Decor", "curtains"), 1.0),
        ("Shaggy Wool Dog Blanket", "dog blanket", ("Pets", "Beds", "dog blanket"), 1.0),
        ("Resistant Phone Case", "phone case", ("Electronics", "Accessories", "phone case"), 0.5),
        ("Zalplo Ceramic Bowl", "bowl", ("Home & Kitchen", "Home Decor", "bowl"), 0.0),
    ],
    ids=["same query", "same category", "like title", "little in common", "nothing in common"],
)
def test_the_kind_of_thing_scales_the_whole(rug, title, query, category, factor):
    assert type_factor(rug, replace(rug, title=title, query=query, category=category)) == factor


def test_one_common_word_out_of_eleven_leaves_a_tenth(rug):
    wordy = replace(rug, title="one two three four five six seven eight nine ten rug")
    other = replace(rug, title="A Rug", query="mat", category=("x", "y", "z"))
    assert type_factor(wordy, other) == 0.1


@pytest.mark.parametrize(
    "change",
    [{"asin": "B0NOTTHERE"}, {"asin": None}, {"asin": []}, {"options": None}, {"attributes": 3}, {"price_limit": "x"}],
    ids=str,
)
def test_a_gold_that_cannot_be_scored_is_refused_in_one_sentence(change):
    gold = {**tasks(0, 1)[0].gold, **change}
    with pytest.raises(BadInput, match=r"cannot be scored .* its gold target an asin"):
        goal_of(gold)


def test_a_gold_with_an_entry_missing_is_refused():
    gold = {name: value for name, value in tasks(0, 1)[0].gold.items() if name != "price_limit"}
    with pytest.raises(BadInput, match="price_limit"):
        goal_of(gold)


short = st.text("abcx -", max_size=14)


def plain_subsequence(one, other):
    """The longest common subsequence as its definition says."""

    @cache
    def longest(i, j):
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    return longest(0, 0)


@pytest.mark.parametrize(
    ("one", "other", "score"),
    [
        ("machine washable", "Machine-Washable!", 100),
        ("navy", "navy blue", 100),
        ("blue light blue", "light blue", 100),
        ("large", "x-large", 100),
        ("x-large", "xx-large", 93),
        ("12 inch", "16 inch", 86),
        ("xl", "xxl", 80),
        ("cotton", "linen", 18),
        ("abc", "xyz", 0),
        ("", "cotton", 0),
        ("", "", 0),
        ("?!", "?!", 0),
    ],
)
def test_known_likenesses(one, other, score):
    assert token_set_ratio(one, other) == score


@given(short, short)
def test_common_subsequence_is_the_longest_there_is(one, other):
    assert common_subsequence(one, other) == plain_subsequence(one, other)


@given(short, short)
def test_likeness_is_symmetric_and_between_0_and_100(one, other):
    assert 0 <= token_set_ratio(one, other) == token_set_ratio(other, one) <= 100


@given(st.lists(st.sampled_from(["red", "wool", "rug", "5"]), min_size=1), st.randoms(use_true_random=False))
def test_order_case_and_repetition_do_not_matter(words, random):
    mixed = [word.upper() for word in words] + words[:1]
    random.shuffle(mixed)
    assert token_set_ratio(" ".join(words), " ".join(mixed)) == 100


def test_two_empty_texts_are_equal():
    assert ratio("", "") == 1.0
