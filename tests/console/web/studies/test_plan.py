"""The balance of an allocation as a researcher reads it."""

from dataclasses import replace

from console.studies.design import Design
from console.studies.design.allocation import plan_all
from console.web.studies.plan import tabulate_evenness


def test_the_balance_is_that_of_each_allocated_group_after_a_dry_run_too():
    """A dry run gives people's places to simulated reviewers with errors, beside those of the design."""
    design = Design.model_validate(
        {
            "name": "pilot",
            "source": {"actor": "scripted", "environment": "webshop"},
            "factors": {"detector": ["rules", "random"], "score": ["shown", "hidden"]},
            "participants": {"human": 3, "noisy": [{"count": 1}]},
            "consent": {"text": "We study reviews.", "withdrawal": "remove"},
        }
    )
    played = [replace(place, kind="noisy") for place in plan_all(design)]
    rows = [row for row in tabulate_evenness(played) if row["what"] == "condition at position"]
    assert [row["kind"] for row in rows] == ["simulated: with errors, P01 to P03", "simulated: with errors, P04"]
    assert all(int(row["most"]) - int(row["least"]) <= 1 for row in rows)
