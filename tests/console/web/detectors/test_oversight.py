"""What inspections catch, on the Detectors page."""

import json

import pytest

from console.trajectory import Label
from tests.overseen import decide, queue, settle
from tests.verdicts import a_run, judge

BAD, GOOD = Label.MISALIGNED, Label.ALIGNED


@pytest.fixture
def shop():
    """A run of eight, six of them flagged by `rules`; four of these are misaligned, one misaligned is missed."""
    a_run("shop", [BAD, GOOD, BAD, GOOD, BAD, BAD, BAD, GOOD])
    judge("shop", "rules", [0.9, 0.8, 0.7, 0.65, 0.6, 0.55, 0.2, 0.1])
    judge("shop", "token-prob", [0.1, 0.2, 0.9, 0.95, 0.6, 0.8, 0.99, 0.3], probability=lambda score: 1 - score)
    return queue("shop", "rules", cap=3)


def curve(at):
    """The lines of the oversight curve by name, without the bounds of chance."""
    drawn = next(json.loads(one.proto.spec) for one in at.get("plotly_chart") if "inspections of" in one.proto.spec)
    return {line["name"]: line["y"] for line in drawn["data"] if "name" in line}


def table(at):
    """The table beside the curve, a dictionary from its first column to the rest."""
    frame = next(one.value for one in at.dataframe if "Area" in one.value.columns)
    return frame.set_index(frame.columns[0])


@pytest.mark.at_length
def test_before_anybody_has_looked_it_says_what_looking_would_bring(open_page, words, shop):
    at = open_page("detectors")
    page_text = words(at)
    assert "No flagged trajectory of this trial is decided yet. With rules, highest score first" in page_text
    assert "the first 6 flagged trajectories contain **4 of 4 flagged misalignments**" in page_text
    assert "Not flagged by rules, so not on the curves: 1 misaligned trajectory." in page_text
    assert "No inspections used yet" in page_text
    assert "and every inspected misalignment is caught. Area:" in page_text
    assert list(curve(at)) == ["priority", "fp-first", "random order, 95%", "ideal order"]


def test_after_reviews_it_counts_what_was_caught_and_what_waits(open_page, words, shop):
    decide(shop, ["reject", "approve", "approve"])
    at = open_page("detectors")
    at.number_input(key="oversight-further").set_value(2).run()
    said = words(at)
    assert (
        "Reviewers decided 3 flagged trajectories and caught **1 of 4 flagged misalignments**; the next 2 flagged"
        in said
    )
    assert "trajectories contain **1 more**." in said
    assert (
        "every inspected misalignment is caught; “as reviewed” excludes misalignments that reviewers approved."
        in words(at)
    )
    assert table(at).loc["priority", ["Caught", "Up to 2 more"]].tolist() == [2, 1]
    at.number_input(key="oversight-further").set_value(1).run()
    assert "the next flagged trajectory contains **" in words(at)
    assert curve(at)["as reviewed"] == [0, 1, 1, 1, 1, 2, 3]
    assert sum("since the trial" in one.proto.spec for one in at.get("plotly_chart")) == 1


@pytest.mark.at_length
def test_detectors_are_compared_in_one_order(open_page, words, shop):
    at = open_page("detectors")
    at.segmented_control(key="oversight-compare").set_value("detectors in one order").run()
    at.selectbox(key="oversight-order").select("fp-first").run()
    assert curve(at) == {"rules": [0, 0, 0, 1, 2, 3, 4], "token-prob": [0, 0, 1, 2, 3, 4]}
    assert table(at)["Area"].tolist() == [-1, -1]
    assert "false alarms first, as the InferAct paper assumes" in words(at)


@pytest.mark.at_length
def test_where_probabilities_rank_otherwise_expected_cost_has_a_line(open_page, shop):
    at = open_page("detectors")
    at.selectbox(key="oversight-detector").select("token-prob").run()
    assert curve(at)["expected-cost"] == [0, 1, 2, 3, 3, 4]


@pytest.mark.at_length
def test_settled_labels_can_be_chosen_once_there_are_any(open_page, words, shop):
    assert "oversight-labels" not in {one.key for one in open_page("detectors").segmented_control}
    settle("t1/3/action", "misaligned", run_id=shop.id)
    at = open_page("detectors")
    at.segmented_control(key="oversight-labels").set_value("adjudicated").run()
    assert "**5 of 5 flagged misalignments**" in words(at)


@pytest.mark.at_length
def test_each_trial_has_its_own(open_page, words):
    a_run("two", [BAD, GOOD, BAD, BAD], trials=[0, 0, 1, 1])
    judge("two", "rules", [0.9, 0.8, 0.7, 0.6])
    at = open_page("detectors")
    assert "**1 of 1 flagged" in words(at)
    at.selectbox(key="oversight-trial").select(1).run()
    assert "**2 of 2 flagged" in words(at)


@pytest.mark.at_length
def test_one_inspection_is_one(open_page, words, shop):
    decide(shop, ["reject"])
    said = words(open_page("detectors"))
    assert "Reviewers decided 1 flagged trajectory and caught **" in said
    assert "Misalignments caught in the first 1 flagged trajectory, and in 10 more." in said


@pytest.mark.at_length
def test_escalated_items_are_not_decided_and_come_next(open_page, words, shop):
    decide(shop, ["escalate", "approve"])
    said = words(open_page("detectors"))
    assert (
        "decided 1 flagged trajectory and caught **0 of 4 flagged misalignments**; "
        "the next 5 flagged trajectories contain **4" in said
    )


def test_a_routing_detector_without_flags_is_named(open_page, words):
    a_run("quiet", [BAD, GOOD])
    judge("quiet", "rules", [0.2, 0.1])
    judge("quiet", "token-prob", [0.9, 0.8])
    queue("quiet", "rules")
    said = words(open_page("detectors"))
    assert "rules selects the items of this run, and flagged no labelled trajectory of this trial." in said
    assert "With token-prob, highest score first, the first 2 flagged trajectories contain **1 of 1 flagged" in said
    assert "is decided yet" not in said


def test_without_labels_there_is_a_sentence_in_the_curve_s_place(open_page, words):
    a_run("blank", [None] * 3)
    judge("blank", "rules", [0.9, 0.8, 0.7])
    assert "No oversight curve: no flagged trajectory has a gold label" in words(open_page("detectors"))
    a_run("calm", [GOOD, BAD])
    judge("calm", "rules", [0.2, 0.1])
    assert "No oversight curve: nothing is flagged" in words(open_page("detectors", run="calm"))
