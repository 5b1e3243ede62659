"""The oversight curve of each condition, from the items alone."""

import pytest

from console.database import now_ms, reading, review_queue
from console.review import decisions
from console.studies import results
from console.studies.analysis.oversight import burn_down, points, summary
from console.studies.sessions import joining
from storage import tables as stored


def test_every_condition_has_a_curve_that_ends_at_all_there_is_to_catch(tables):
    drawn, ends = points(tables), summary(tables)
    assert set(drawn["condition"]) == {"rules-shown", "rules-hidden"}
    drawn, ends = drawn.query("reviewers == 'people'"), ends.query("reviewers == 'people'")
    ideal = drawn[(drawn["policy"] == "ideal") & (drawn["condition"] == "rules-shown")]
    assert ideal["caught"].tolist() == [0, 1, 2, 2, 2]
    reviewed = ends[(ends["policy"] == "as reviewed") & (ends["condition"] == "rules-shown")]
    assert reviewed[["spent", "caught"]].to_numpy().tolist() == [[2, 1]]


def test_without_labels_there_is_no_curve(tables):
    unknown = tables["items"].assign(gold_label=None)
    without = {**tables, "items": unknown}
    assert len(points(without)) == len(summary(without)) == 0


def test_people_and_simulated_reviewers_are_never_one_curve(tables):
    drawn, burnt = points(tables), burn_down(tables)
    assert set(drawn["reviewers"]) == {"people", "simulated"}
    caps = tables["budget"].groupby(["condition", "trial", "annotator_kind"])["used"].sum()
    ends = burnt.groupby(["condition", "trial", "reviewers"])["used"].max()
    for (condition, trial, kind), used in caps.items():
        who = {"human": "people", "rule": "simulated"}[kind]
        assert ends.get((condition, trial, who), 0) == used


@pytest.mark.at_length
def test_an_escalation_is_no_inspection(study, walk, rows):
    made = study(budget="10", factors={"detector": ("full-validation",)}, tasks=4, trials=1)
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda at: at.kind == "review")
    passed_on = decisions.ReviewDecision("escalate", note="a colleague knows")
    decisions.submit(review_queue(), place.run, place.claim, place.participant.code, passed_on, now_ms())
    assert walk(person.id).kind == "finished"
    with reading() as session:
        told, counted = results.frames(session, made.id), results.headline(session, made.id)
    kinds = [row.decision for row in rows(stored.Decision)]
    assert sorted(kinds) == ["escalate", "reject", "reject", "reject"]
    decided = {row.item_id for row in rows(stored.Decision) if row.decision != "escalate"}
    assert set(told["items"].dropna(subset="decided_at")["item_id"]) == decided
    assert counted.human_decisions == 3
    assert summary(told).set_index("policy").loc["as reviewed", "spent"] == 3
