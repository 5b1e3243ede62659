"""Questionnaires score by their published rules, and say where they come from."""

import pytest
from pydantic import ValidationError

from console.errors import BadInput
from console.studies.design.instruments import Instrument, score, shelf
from console.studies.design.yaml_file import load

START = "name: s\nsource: {environment: webshop}\n"


def answers(instrument, *given):
    """The answers to the items in their order."""
    return dict(zip((one.key for one in instrument.items), map(str, given), strict=True))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # Brooke (1996): odd items less 1, even ones from 5, the sum times 2.5.
        ((5, 1, 5, 1, 5, 1, 5, 1, 5, 1), 100.0),
        ((1, 5, 1, 5, 1, 5, 1, 5, 1, 5), 0.0),
        ((3,) * 10, 50.0),
        ((4, 2, 5, 1, 3, 2, 4, 3, 5, 2), 77.5),
    ],
)
def test_sus_is_scored_as_published(given, expected):
    sus = shelf()["sus"]
    assert score(sus, answers(sus, *given)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [((0,) * 6, 0.0), ((100,) * 6, 100.0), ((70, 10, 55, 25, 60, 35), 42.5), ((5, 0, 0, 0, 0, 0), 5 / 6)],
)
def test_raw_tlx_is_the_mean_of_its_six_ratings(given, expected):
    tlx = shelf()["nasa-tlx"]
    assert score(tlx, answers(tlx, *given)) == expected


def test_the_own_trust_scale_says_that_it_is_own_and_counts_distrust_the_other_way():
    trust = shelf()["trust"]
    assert "not that scale" in trust.source
    assert score(trust, answers(trust, 7, 7, 7, 7, 1, 1)) == 7.0
    assert score(trust, answers(trust, 1, 1, 1, 1, 7, 7)) == 1.0
    assert score(trust, answers(trust, 7, 7, 7, 7, 7, 7)) == 5.0


@pytest.mark.parametrize("name", list(shelf()))
def test_each_names_its_source_and_licence_and_no_score_of_what_was_left_out(name):
    found = shelf()[name]
    assert found.source
    assert found.licence
    assert score(found, {found.items[0].key: str(found.scale.low)}) is None


def test_own_items_stand_in_the_design_and_checks_are_not_scored():
    design = load(
        START + "questionnaires: {after: [own]}\n"
        "instruments:\n"
        "- name: own\n  title: Own\n  scale: {low: 1, high: 5}\n  score: {of: mean, plus: 1}\n  items:\n"
        "  - {key: a, question: A}\n  - {key: b, question: B, reversed: true}\n"
        '  - {key: reads, question: Choose 2., expected: "2"}\n  - {key: why, question: Why, kind: text}\n'
    )
    assert score(design.instruments[0], {"a": "5", "b": "5", "reads": "2", "why": "so"}) == 3.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("questionnaires: {after: [sos]}", "after names the unknown 'sos'. Use nasa-tlx, sus, trust"),
        ("questionnaires: {after: [sus, sus]}", "contains an instrument twice"),
        ("confidence: 9", "confidence: must be 0, 3, 4, 5, 6 or 7, not '9'"),
    ],
)
def test_what_no_design_can_hold_is_one_sentence(text, said):
    with pytest.raises(BadInput) as refused:
        load(START + text)
    assert said in str(refused.value)


def test_nobody_is_asked_for_an_answer_that_cannot_be_given():
    item = {"key": "a", "question": "Choose 9.", "expected": "9"}
    with pytest.raises(ValidationError, match="which is not one of the item's answers"):
        Instrument.model_validate({"name": "own", "title": "Own", "items": [item]})


def test_trust_before_the_study_asks_what_a_person_expects():
    trust = shelf()["trust"]
    before = trust.worded_ahead()
    assert [one.key for one in before.items] == [one.key for one in trust.items]
    assert all("will" in one.question for one in before.items)
    assert "have not seen the agents yet" in before.instructions
