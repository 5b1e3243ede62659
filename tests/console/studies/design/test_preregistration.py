"""Preregistrations say what was settled, and their fingerprint changes with it."""

import pytest

from console.studies.design import Design, allocate, plan_all, sample_tasks
from console.studies.design.power import Assumptions, power
from console.studies.design.preregistration import (
    fingerprint,
    format_code_block,
    osf_fields,
    osf_preregistration,
    preregistration,
    table,
)
from console.studies.design.yaml_file import example, load

KEYS = [f"shop-{number}" for number in range(100)]


@pytest.fixture
def pilot():
    return load(example())


def test_everything_that_was_settled_is_there(pilot):
    places = allocate(pilot, sample_tasks(pilot, KEYS))
    text = preregistration(pilot, places)
    for said in (
        "# Preregistration: pilot",
        "6 participants, 4 conditions compared within participants, 10 tasks per condition, 4 trials.",
        "| random-hidden | random | hidden |",
        "| human | condition after condition | 1 | 1 | yes |",
        "| human | tasks at position | 0 | 2 | no |",
        "each condition directly follows each other one equally often (Williams design)",
        "Inspections per participant, condition and trial: 50% of",
        "Does random in place of rules (detector that flags and ranks) change the share of tasks solved",
        "Does the effect of detector (random) depend on score (hidden) in the share of tasks solved by the last trial?",
        "the last trial is trial 3",
        "one family of 3 contrasts, two-sided at 0.05, Holm-corrected p-values: detector: random - rules; ",
        "paired t-test and the Wilcoxon",
        "who withdraw are deleted",
        "seed: 1",
    ):
        assert said in text
    assert all(key in text for place in places for key in place.tasks)
    assert "## Power" not in text


def test_power_is_told_with_its_assumptions(pilot):
    assumed = Assumptions(start=0.4, effect=0.2)
    text = preregistration(pilot, plan_all(pilot), power(pilot, assumed, participants=[4, 8], simulations=20), assumed)
    assert (
        "solved by the last trial is 0.40 for detector rules and 0.60 for detector random; other effects are 0" in text
    )
    assert text.count("\n| detector: random - rules | 8 | ") == 1


def test_a_study_between_participants_is_compared_by_another_test():
    other = Design(
        name="b", source={"environment": "webshop"}, comparison="between", factors={"score": ["shown", "hidden"]}
    )
    text = preregistration(other, plan_all(other))
    assert "Welch's t-test" in text
    assert "permuted blocks of 2" in text


def test_the_fingerprint_changes_with_the_plan(pilot):
    places = plan_all(pilot)
    assert fingerprint(pilot, places) == fingerprint(load(example()), plan_all(pilot))
    assert fingerprint(pilot, places) != fingerprint(pilot, places[:-1])
    other = pilot.model_copy(update={"undo_seconds": 6.0})
    assert fingerprint(other, places) != fingerprint(pilot, places)


def test_texts_of_the_design_cannot_break_out_of_the_document(pilot):
    fence = chr(96) * 3
    other = pilot.model_copy(update={"instructions": f"a | b\n{fence}\n# Not a title\n"})
    text = preregistration(other, plan_all(other))
    assert f"{fence}`yaml\n" in text
    assert table(("a",), [("x | y\nz",)]).endswith("| x \\| y z |")
    assert format_code_block("plain", "").startswith(f"{fence}\n")


def test_a_design_of_an_earlier_version_keeps_its_fingerprint():
    fields = {
        "name": "pilot",
        "source": {"environment": "webshop"},
        "tasks": 2,
        "factors": {"score": ["shown", "hidden"]},
    }
    found = Design(**fields)
    then = "3a0e17a4253f96502ec8d1345b13044080e255eef7015578bbc240dafbabf0cd"
    assert fingerprint(found, allocate(found, sample_tasks(found, KEYS))) == then
    changed = Design(**fields, washout_hours=24)
    assert fingerprint(changed, allocate(changed, sample_tasks(changed, KEYS))) != then


FIELDS = [
    "Title", "Description", "Hypotheses", "Study type", "Blinding", "Study design", "Randomization", "Existing data",
    "Data collection procedures", "Sample size", "Sample size rationale", "Stopping rule", "Manipulated variables",
    "Measured variables", "Indices", "Statistical models", "Transformations", "Inference criteria", "Data exclusion",
    "Missing data", "Exploratory analysis", "Other",
]  # fmt: skip


def test_every_field_of_the_template_is_filled_in_from_the_design():
    design = Design(name="pilot", source={"environment": "webshop"}, factors={"score": ["shown", "hidden"]}, tasks=12)
    found = osf_fields(design, plan_all(design))
    assert list(found) == FIELDS
    assert all(found.values())
    assert found["Sample size"] == "4 participants and 24 tasks, 12 per condition."
    assert "Does hidden in place of shown" in found["Hypotheses"]
    assert "participants and tasks are random samples" in found["Statistical models"]
    assert found["Sample size rationale"] == "To be filled in."
    powers = power(design, simulations=5)
    assert "Power: score: hidden - shown:" in osf_fields(design, plan_all(design), powers)["Sample size rationale"]
    assert osf_preregistration(design, plan_all(design)).count("\n## ") == len(FIELDS) - 1
