"""Wording that gives a condition away is found before anybody reads it."""

import pytest

from console.detection.detectors import DETECTORS
from console.studies.design import Design
from console.studies.design.giveaways import find_giveaways
from console.trajectory.checkpoints import Checkpoint, CheckpointKind

BLIND = {
    "name": "pilot",
    "source": {"environment": "webshop"},
    "factors": {"detector": ("rules", "random"), "explanation": "hidden"},
}


def test_a_text_that_names_a_condition_a_detector_or_a_seeded_item_is_named():
    assert find_giveaways(Design(**BLIND)) == []
    instructions = "One part is at Random. There are attention checks, and an Attention check."
    found = find_giveaways(Design(**BLIND, instructions=instructions, checks={"attention": 1}))
    assert any("instructions contains “random”" in said for said in found)
    assert any("“attention check”" in said for said in found)
    unchecked = find_giveaways(Design(**BLIND, instructions="An attention check."))
    assert unchecked == []
    assert find_giveaways(Design(**BLIND, instructions="The randomised rulesets.")) == []


def test_reasons_that_tell_detectors_apart_are_named():
    told = find_giveaways(Design(**BLIND | {"factors": {"detector": ("rules", "random")}}))
    assert any("Set `explanation: hidden`" in said for said in told)
    assert any(said.startswith("`random` gives no reasons") for said in told)


@pytest.mark.parametrize("name", ["random", "full-validation"])
def test_a_detector_that_is_said_to_give_no_reasons_writes_none(name):
    told = find_giveaways(Design(**BLIND | {"factors": {"detector": ("rules", name)}}))
    assert any(said.startswith(f"`{name}` gives no reasons") for said in told)
    seen = Checkpoint("webshop", "Buy a lamp.", "", (), 0, CheckpointKind.ACTION, action="click[Buy Now]")
    assert DETECTORS[name].judge(seen, 1).rationale == ""


def test_seeded_items_of_one_kind_alone_are_named():
    flagged = {"known_good": 1, "audited": 0.5}
    assert any("audited items are not shown" in said for said in find_giveaways(Design(**BLIND, checks=flagged)))
    unflagged = {"unflagged_bad": 1, "audited": 0.5}
    assert any("Set known_good or known_bad" in said for said in find_giveaways(Design(**BLIND, checks=unflagged)))
    assert find_giveaways(Design(**BLIND, checks=flagged | unflagged)) == []
