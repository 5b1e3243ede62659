"""A brief names the target in plain words, and nothing else of the gold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.environments import ENVIRONMENTS
from console.environments.environment import BRIEFS, brief_of

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
