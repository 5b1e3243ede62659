"""The plan in the fields of the OSF Preregistration template."""

from console.studies.design import Design, plan_all, power
from console.studies.design.preregistration import osf_fields, osf_preregistration

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
    powers = power.power(design, simulations=5)
    assert "Power: score: hidden - shown:" in osf_fields(design, plan_all(design), powers)["Sample size rationale"]
    assert osf_preregistration(design, plan_all(design)).count("\n## ") == len(FIELDS) - 1
