"""What every embedded world shares: going back, as far as the world can, and what a person is told of a task."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.environments import ENVIRONMENTS
from console.environments.environment import BRIEFS, Environment, brief_of, list_standing_steps, refusal
from console.trajectory import Step
from tests.oracles import shopping

SHOP, WIKI, HOUSE = (ENVIRONMENTS[name] for name in ("webshop", "hotpotqa", "alfworld"))
TASK = next(task for task in SHOP.tasks(6, 60) if len(task.gold["options"]) == 2)
SEARCH, OPEN, FIRST, SECOND, BUY = shopping(TASK)
SITE = Environment("site", "Site", not_executed=("Invalid",), back="go_back")


def played(where, task, actions):
    """The steps of those actions in a fresh world, and the world."""
    world = where.start(task)
    world.reset()
    return [Step("", action, world.step(action)[0]) for action in actions], world


def test_a_shop_brings_the_page_before_back_with_the_options_chosen_then():
    steps, _ = played(SHOP, TASK, [SEARCH, OPEN, FIRST, SECOND, "go_back", "go_back", "go_back", "go_back"])
    results, item = steps[0].observation, steps[1].observation
    assert steps[5].observation == item
    assert steps[6].observation == results
    assert f"[[{FIRST[6:-1]}]]" in steps[4].observation
    assert "[Search]" in steps[7].observation


@pytest.mark.parametrize(
    ("actions", "before"),
    [([SEARCH, OPEN, "click[Description]", "go_back"], 1), ([SEARCH, "click[Next >]", "go_back"], 0)],
)
def test_a_sub_page_and_a_page_of_results_are_gone_back_from(actions, before):
    steps, _ = played(SHOP, TASK, actions)
    assert steps[-1].observation == steps[before].observation


def test_before_the_first_page_there_is_nothing():
    steps, _ = played(SHOP, TASK, ["go_back", "go_back"])
    assert {step.observation for step in steps} == {"Invalid action!"}


def test_after_the_purchase_there_is_no_way_back():
    steps, _ = played(SHOP, TASK, [SEARCH, OPEN, FIRST, SECOND, BUY, "go_back"])
    assert steps[-1].observation == steps[-2].observation
    assert refusal(SHOP, steps[:-1], (0, 1), SHOP.critical) == "click[Buy Now] was critical and has run"


ACTIONS = st.sampled_from(
    [
        SEARCH,
        OPEN,
        FIRST,
        SECOND,
        "click[Features]",
        "click[< Prev]",
        "click[Back to Search]",
        "think[x]",
        "no",
        "go_back",
    ]
)


@given(st.lists(ACTIONS, max_size=12))
def test_the_state_is_the_one_of_the_steps_that_it_stands_on(actions):
    steps, world = played(SHOP, TASK, actions)
    path = list_standing_steps(SHOP, steps)
    assert len({*path}) == len(path)
    _, again = played(SHOP, TASK, [steps[at].action for at in path])
    assert world.step(OPEN)[0] == again.step(OPEN)[0]


def test_an_encyclopedia_opens_the_article_before():
    task = WIKI.tasks(3, 1)[0]
    first, second = (f"Search[{fact['title']}]" for fact in task.gold["supporting_facts"][:2])
    steps, _ = played(WIKI, task, [first, second, "go_back", "go_back", "go_back"])
    assert steps[2].observation == steps[0].observation
    assert steps[3].observation.startswith("No page is open")
    assert steps[4].observation.startswith("Invalid action: go_back")


def test_in_a_household_what_is_done_stays_done():
    steps = [Step("", "go to fridge 1", "You arrive"), Step("", "fly", "Nothing happens.")]
    assert list_standing_steps(HOUSE, steps) == (0,)
    assert refusal(HOUSE, steps, (), ()) == "no action can be undone in ALFWorld"
    assert refusal(HOUSE, steps, (0,), ()) is None


@pytest.mark.parametrize(
    ("actions", "to", "critical", "why"),
    [
        (["a", "b"], (0,), (), None),
        (["a", "pay"], (), ("pay",), "pay was critical and has run"),
        (["a", "pay"], (0, 1), ("pay",), None),
        (["pay", "a"], (0,), ("pay",), None),
        (["a", "go_back", "b"], (0,), (), "the trial cannot return to that state"),
        (["pay", "go_back", "b"], (), ("pay",), None),
    ],
)
def test_what_cannot_be_gone_back_to_is_told_with_the_reason(actions, to, critical, why):
    assert refusal(SITE, [Step("", action, "ok") for action in actions], to, critical) == why


def test_a_task_has_the_type_that_its_environment_tells():
    assert HOUSE.task_type(HOUSE.tasks(0, 1)[0]) == "pick_and_place_simple"
    assert SHOP.task_type(TASK) == ""


GOLD = {
    "webshop": {"name": "Kettle Blue 1", "asin": "B001", "options": {"color": "blue", "size": "1 l"}},
    "hotpotqa": {"answer": "Delhi", "supporting_facts": ["secret fact"]},
    "alfworld": {"thing": "mug", "receptacle": "shelf", "actions": ["go to shelf 1"]},
}


def test_a_shop_task_names_the_product_and_its_options():
    assert brief_of("webshop", GOLD["webshop"]) == (
        ("product", "Kettle Blue 1"),
        ("listed as", "B001"),
        ("options", "color: blue · size: 1 l"),
    )


def test_a_question_names_its_answer_and_a_household_task_its_thing_and_place():
    assert brief_of("hotpotqa", GOLD["hotpotqa"]) == (("answer", "Delhi"),)
    assert brief_of("alfworld", GOLD["alfworld"]) == (("object", "mug"), ("place", "shelf"))


def test_an_environment_without_a_target_has_no_brief():
    assert brief_of("tau-bench", {"label": "misaligned", "actions": ["x"]}) == ()
    assert brief_of("webshop", {"label": "misaligned", "score": 0.25}) == ()


def test_every_embedded_environment_has_a_brief():
    assert {name for name, found in ENVIRONMENTS.items() if found.tasks} <= set(BRIEFS)


@pytest.mark.parametrize("name", sorted(GOLD))
@given(
    secret=st.dictionaries(
        st.sampled_from(["label", "score", "outcome", "reward", "success", "solution"]),
        st.uuids().map(str),
        min_size=1,
    )
)
def test_label_and_outcome_never_stand_in_a_brief(name, secret):
    told = " ".join(text for pair in brief_of(name, GOLD[name] | secret) for text in pair)
    assert not [value for value in secret.values() if value in told]


@given(
    name=st.sampled_from(sorted(BRIEFS)),
    gold=st.dictionaries(
        st.sampled_from(["name", "asin", "options", "answer", "thing", "receptacle"]),
        st.one_of(st.none(), st.integers(), st.text(), st.lists(st.text()), st.dictionaries(st.text(), st.text())),
    ),
)
def test_whatever_a_log_calls_gold_the_brief_is_pairs_of_texts(name, gold):
    assert all(isinstance(text, str) and text for pair in brief_of(name, gold) for text in pair)
