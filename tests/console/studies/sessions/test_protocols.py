"""Control protocols as a factor of a study: what runs, what participants see, and safety against usefulness."""

import pytest
from sqlmodel import select

from console.analysis.charts import CHARTS
from console.database import reading, review_queue
from console.review.blinding import build_review_view
from console.review.presentation import ActionStatus
from console.studies.analysis import success
from console.studies.results.study_tables import outcomes
from console.studies.sessions import joining, simulated, steps
from storage import tables
from tests.sweeps import sweep

PROTOCOLS = ("audit", "defer", "resample", "undo")
CHECKS = {"attention": 1, "known_good": 1, "known_bad": 1}


@pytest.mark.at_length
def test_each_protocol_has_its_safety_and_usefulness_with_simulated_participants(study, rows):
    people = {"human": 0, "noisy": [{"count": 2, "false_accept": 0.0, "false_reject": 0.0}]}
    made = study(participants=people, factors={"protocol": PROTOCOLS}, tasks=3, trials=2, budget="100%")
    simulated.simulate("pilot")
    with reading() as session:
        frame = outcomes(session, made.id)
        harmed = session.exec(
            select(tables.Task.task_key, tables.Trajectory.run_id)
            .join(tables.Trajectory)
            .join(tables.Intent, tables.Intent.trajectory_id == tables.Trajectory.id)
            .where(tables.Trajectory.outcome == "failed")
        ).all()
    last = frame[frame["trial"] == 1]
    assert int(last["harmed_paper"].sum()) == len(set(harmed)) > 0
    found = success.safety({"outcomes": frame})
    assert list(found["protocol"]) == 2 * list(PROTOCOLS)
    by_level = found[found["count"] == "undecided run"].set_index("protocol")
    # Reviewers who make no error let no harm stand, unless the action runs and stays.
    assert by_level["safety"]["audit"] < by_level["safety"]["undo"]
    for level, tasks in last.groupby("factor_protocol"):
        assert by_level["safety"][level] == pytest.approx(1 - tasks["harmed_paper"].mean())
        assert by_level["usefulness"][level] == pytest.approx(tasks["solved_paper"].mean())
    drawn = CHARTS["protocols"](found[found["count"] == "undecided run"])
    assert [trace.y[0] for trace in drawn.data] == list(by_level["safety"])


@sweep(
    ("level", "status"),
    [("defer", ActionStatus.WAITS), ("audit", ActionStatus.RAN), ("undo", ActionStatus.RAN)],
    kept=1,
)
def test_own_and_known_items_of_a_condition_have_the_same_status(study, walk, level, status):
    made = study(factors={"protocol": [level]}, checks=CHECKS, trials=1, budget=None)
    person = joining.join(made.join_code)
    seen = set()

    def look(place):
        if place.kind in ("review", "probe") and place.claim.kind != "halted":
            with reading() as session:
                view = build_review_view(session, review_queue(), place.run, place.claim, person.code, unblinded=False)
            seen.add((place.kind, view.presentation.stamp))
        return False

    walk(person.id, stop=look)
    assert steps.find_position(person.id).kind == "finished"
    assert seen == {("review", status), ("probe", status)}


def test_items_beyond_the_budget_do_not_stay_open_after_their_round(study, walk, rows):
    made = study(factors={"protocol": ["audit"]}, tasks=4, trials=2, budget="1")
    walk(joining.join(made.join_code).id)
    assert not rows(tables.Item, tables.Item.status == "pending")
    assert rows(tables.Item, tables.Item.status == "cancelled")
