"""Designs: conditions are the factors crossed, with names for files and a level of every factor."""

import re

import pytest
from pydantic import ValidationError

from console.studies.design import FACTORS, Design, conditions, varied_factors
from console.studies.design.allocation import promise
from console.studies.design.contrasts import planned_contrasts
from console.studies.design.factors import is_unattended, view


def design(**fields):
    return Design(**{"name": "s", "source": {"environment": "webshop"}, **fields})


def test_factors_are_crossed_and_others_have_their_default():
    arms = conditions(design(factors={"detector": ["rules", "random"], "feedback": "nl", "score": ["shown", "hidden"]}))
    assert [arm.name for arm in arms] == ["rules-shown", "rules-hidden", "random-shown", "random-hidden"]
    assert all(set(arm.levels) == set(FACTORS) for arm in arms)
    assert arms[3].levels["score"] == "hidden"
    assert arms[3].levels["brief"] == "none"


def test_levels_that_two_factors_share_are_named_with_their_factor():
    arms = conditions(design(factors={"score": ["shown", "hidden"], "highlights": ["shown", "hidden"]}))
    assert arms[1].name == "score-shown-highlights-hidden"


def test_names_suit_files_whatever_the_detector_is_called():
    arms = conditions(design(factors={"detector": ["inferact-prob@org/one+two", "inferact-prob@org/one two", "r"]}))
    assert len({arm.name for arm in arms}) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9 ._-]{1,40}", arm.name) for arm in arms)


def test_without_factors_there_is_one_condition():
    (only,) = conditions(design())
    assert only.name == "rules"
    assert varied_factors(design()) == {}


def test_given_conditions_are_taken_as_they_are():
    found = design(conditions=[{"name": "alone", "levels": {"feedback": "none"}}, {"name": "people"}])
    arms = conditions(found)
    assert [arm.name for arm in arms] == ["alone", "people"]
    assert [is_unattended(arm.levels) for arm in arms] == [True, False]
    assert varied_factors(found) == {"feedback": ("none", "nl")}


def test_the_view_names_every_page_setting():
    (arm,) = conditions(design(factors={"detector_name": ["hidden"], "brief": ["target"]}))
    assert view(arm.levels) == {
        "score": "shown",
        "explanation": "shown",
        "brief": "target",
        "highlights": "shown",
        "detector": "hidden",
        "earlier": "shown",
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"factors": {"colour": ["red"]}},
        {"factors": {"score": ["dim"]}},
        {"factors": {"score": ["shown", "shown"]}},
        {"factors": {"score": []}},
        {"factors": {"detector": [" "]}},
        {"factors": {"detector": [str(number) for number in range(65)]}},
        {"factors": {"score": ["shown"]}, "conditions": [{"name": "a"}]},
        {"conditions": [{"name": "a"}, {"name": "A"}]},
        {"conditions": [{"name": "a/b"}]},
        {"conditions": [{"name": "a", "levels": {"score": "dim"}}]},
        {"participants": {"human": 0}},
        {"source": {"actor": "replay", "environment": "webshop"}},
        {"source": {"actor": "scripted", "run": "log"}},
        {"budget": "101%"},
        {"budget": True},
        {"demographics": [{"key": "a", "question": "?", "kind": "choice", "choices": ["one"]}]},
        {"demographics": [{"key": "a", "question": "?", "kind": "text"}] * 2},
        {"colour": "red"},
        {"comparison": "between", "same_tasks": True},
        {"comparison": "between", "washout_hours": 24},
        {"washout_hours": -1},
        {"source": {"actor": "replay", "run": "log"}, "factors": {"rationale": ["sent", "withheld"]}},
        {"source": {"actor": "replay", "run": "log"}, "factors": {"protocol": ["defer", "undo"]}},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(fields):
    with pytest.raises(ValidationError):
        design(**fields)


def test_a_stored_design_is_read_back_as_it_was():
    found = design(participants={"human": 2, "noisy": 3}, budget=7, factors={"score": ["shown", "hidden"]})
    assert Design.model_validate_json(found.model_dump_json()) == found
    assert found.participants.noisy[0].count == 3
    assert found.budget == "7"


def test_a_fixed_order_within_participants_needs_a_reason_that_page_one_carries():
    given = {
        "name": "s",
        "source": {"environment": "webshop"},
        "factors": {"score": ["shown", "hidden"]},
        "order": "fixed",
    }
    with pytest.raises(ValidationError, match="state your reason in `fixed_order_because`"):
        Design(**given)
    stated = Design(**given, fixed_order_because="The second level builds on the first.")
    assert all("an effect of order looks the same" in one.asks for one in planned_contrasts(stated))
    assert any("builds on the first" in said for said in promise(stated))
    assert Design(**given, comparison="between").order == "fixed", "each participant has one condition"


def test_a_questionnaire_about_an_experience_is_refused_before_it():
    given = {"name": "s", "source": {"environment": "webshop"}}
    with pytest.raises(ValidationError, match="before names sus, which asks about an experience"):
        Design(**given, questionnaires={"before": ["sus"]})
    assert Design(**given, questionnaires={"before": ["trust"]}).questionnaires.before == ("trust",)
