"""Who took part, and what they were to see."""

import pandas as pd
import pytest

from console.database import now_ms, reading, review_queue
from console.review import decisions
from console.studies import results
from console.studies.analysis import computations
from console.studies.analysis.exclusions import EVERYBODY, KEPT
from console.studies.results import csv_files
from console.studies.results.participants import allocation, ids_in, participants, payments
from console.studies.sessions import answering, joining
from console.studies.sessions.joining import Arrival
from console.studies.sessions.steps import keep_events


def test_places_that_somebody_has_are_told_without_what_brings_them_back(read):
    frame = read(participants, 1)
    assert frame["participant"].tolist() == ["P01", "P02", "P03"]
    assert frame["annotator_kind"].tolist() == ["human", "human", "rule"]
    assert frame["conditions_done"].tolist() == [2, 2, 2]
    assert frame["decisions"].tolist() == [5, 5, 5]
    assert "secret" not in frame.to_csv()
    assert "code-1" not in frame.to_csv()


def test_the_allocation_has_each_task_in_its_order(read):
    frame = read(allocation, 1)
    assert len(frame) == 12
    first = frame[frame["participant"] == "P01"]
    assert first["task_id"].tolist() == ["kettle", "lamp", "sofa", "desk"]
    assert first["place"].tolist() == [1, 2, 1, 2]
    assert first["position"].tolist() == [1, 1, 2, 2]


DESIGN = {
    "tasks": 2,
    "trials": 1,
    "budget": None,
    "comparison": "within",
    "factors": {"score": ("shown", "hidden"), "detector": ("full-validation",)},
    "participants": {"human": 3},
    "checks": {"attention": 1},
    "confidence": 4,
    "questionnaires": {"between": ("nasa-tlx",), "after": ("own",)},
    "instruments": [{"name": "own", "title": "Own", "items": [{"key": "a", "question": "2?", "expected": "2"}]}],
    "exclusions": {"failed_attention": 1, "decisions": 3},
    "estimands": {"measure": "right"},
    "recruiting": {"platform": "sona", "bonus": {"currency": "EUR", "per_right": "0.25", "most": "0.9"}},
}


@pytest.fixture
def done(study, walk):
    """A study in which one person answers all checks, another none of them, and a third has only come."""
    made = study(**DESIGN)
    careful, careless, fresh = (
        joining.join(made.join_code, Arrival(made.join_code, given={"id": n})) for n in ("11", "22", "33")
    )
    for person, right in ((careful, True), (careless, False)):
        place = walk(person.id, stop=_to_decide)
        while place.kind != "finished":
            if place.kind == "probe":
                label = (
                    place.probe.expected if right else {"aligned": "misaligned"}.get(place.probe.expected, "aligned")
                )
                verb = "approve" if label == "aligned" else "reject"
                _answer(place, verb)
            elif place.kind == "review":
                event = {"kind": "away", "ms": 5, "lasted_ms": 700}
                keep_events(person.secret, {"item": place.claim.item_id, "events": [event, event]})
                _answer(place, "reject")
            else:
                answering.fill_in(person.id, "own", {"a": "2" if right else "7"})
            place = walk(person.id, stop=_to_decide)
    return made, careful, careless, fresh


def _to_decide(place):
    return place.kind in ("probe", "review") or (place.kind == "questionnaire" and place.instrument.name == "own")


def _answer(place, verb):
    answer = decisions.ReviewDecision(verb)
    decisions.submit(review_queue(), place.run, place.claim, place.participant.code, answer, now_ms())


def test_what_people_gave_beside_their_decisions(done, tmp_path, caplog):
    made, careful, careless, fresh = done
    with reading() as session:
        frames = results.frames(session, made.id)
        paid = payments(session, made, ids_in('id,credit\n"11",x\n33,y'))
    # scores by the instrument's rule, one sheet a condition
    scales = frames["scales"]
    tlx = scales[(scales["participant"] == careful.code) & (scales["instrument"] == "nasa-tlx")]
    assert sorted(tlx["score"]) == [100.0, 100.0]
    assert sorted(tlx["condition"]) == ["hidden", "shown"]
    # confidence and absence stand beside the decision, and in no time of it
    times = frames["page_times"].merge(frames["decisions"][["decision_id", "purpose"]], on="decision_id")
    assert set(times["confidence"]) == {2}
    assert set(times[times["purpose"] == ""]["away_ms"]) == {1400}
    assert len(frames["trace"]) == 2 * len(times[times["purpose"] == ""])
    # who is left out, by which rule
    rules = frames["exclusions"].set_index(["participant", "rule"])
    assert rules.loc[(careful.code, "failed_attention"), "value"] == 0
    assert rules.loc[(careless.code, "failed_attention"), "value"] == 3
    excluded = rules["excluded"][lambda column: column]
    assert list(excluded.index) == [(careless.code, "failed_attention")], "a person under way is not left out"
    # both ways in the report, and only the kept ones elsewhere
    both = computations()["with-and-without"](frames)
    assert dict(zip(both["people"], both["n"], strict=True)) == {EVERYBODY: 2, KEPT: 1}
    assert set(computations()["contrasts"](frames)["n"]) == {1}
    assert computations()["exclusion-rules"](frames)["left_out"].tolist() == [1, 0, 1]
    # the payment list, by the platform's own ids
    rows = paid.set_index("participant")
    assert rows.loc[careful.code, ["outside_id", "state", "excluded_by"]].tolist() == ["11", "finished", ""]
    earned = min(0.25 * rows.loc[careful.code, "right"], 0.9)
    assert rows.loc[careful.code, ["bonus", "currency"]].tolist() == [f"{earned:.2f}", "EUR"]
    assert rows.loc[careless.code, ["bonus", "excluded_by"]].tolist() == ["0.00", "failed_attention"]
    assert len(rows.loc[careless.code, "outside_id"]) == 32
    assert rows.loc[fresh.code, ["outside_id", "state", "completion_code"]].tolist() == ["33", "under way", ""]
    # and every table reads back as it was
    csv_files.write(frames, tmp_path)
    for name, frame in csv_files.read(tmp_path).items():
        pd.testing.assert_frame_equal(frame, frames[name], obj=name)
