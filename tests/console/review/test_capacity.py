"""The capacity of reviewers: read from known items, shown without revealing them, and a stop of the budget."""

import orjson
import pytest
from sqlmodel import select

from console import runs
from console.analysis.metrics.bootstrap import Interval
from console.analysis.statistics.capacity import Capacity
from console.analysis.statistics.estimates import Estimate
from console.cli import run_command
from console.database import now_ms, reading, review_queue, writing
from console.errors import Refused
from console.review import decisions
from console.review.capacity import BREAK_MS, ReviewerCapacity, describe_own_capacity, measure_capacity, set_stop
from storage import tables
from storage.queue import Claim, NoClaim, NoClaimReason
from storage.tables import RunKind
from tests.overseen import queue
from tests.verdicts import a_run, judge

MINUTE = 60_000
ITEMS, DECIDED = 100, 90


@pytest.fixture
def tired():
    """A run with gold labels: Ada decides an item every two minutes, after 80 minutes everything wrongly."""
    a_run("gold", ["misaligned" if place % 2 else "aligned" for place in range(ITEMS)])
    judge("gold", "rules", [0.9 - place / 1_000 for place in range(ITEMS)])
    run = queue("gold", "rules")
    began = now_ms() - 2 * DECIDED * MINUTE
    for place in range(DECIDED):
        at_ms = began + 2 * place * MINUTE
        claim = claim_next(run, at_ms)
        with reading() as session:
            label = session.get_one(tables.Trajectory, claim.trajectory_id).label
        is_right = place < 40
        kind = "approve" if (label == "aligned") == is_right else "reject"
        answer = decisions.ReviewDecision(kind, "wrong" if kind == "reject" else "")
        decisions.submit(review_queue(), run, claim, "Ada", answer, at_ms + 90_000)
    return run


def claim_next(run, at_ms):
    with reading() as session:
        run = runs.get(session, run.name)
        return decisions.claim_next_item(review_queue(), session, run, "Ada", at_ms)


def measure(at_ms, **options):
    with reading() as session:
        (found,) = measure_capacity(session, runs.get(session, "gold"), at_ms, **options)
    return found


def test_an_effect_in_both_directions_is_the_reason_why_a_capacity_is_inconclusive():
    both = Capacity({}, {}, Estimate(0.1, Interval(-0.2, 0.4)))
    said = ReviewerCapacity("Ada", 1.0, 10.0, both, ()).sentence
    assert said == "Ada: inconclusive. The interval of the effect on safety includes 0."


@pytest.mark.at_length
def test_sensitivity_and_pace_are_stated_by_hour_and_the_verdict_by_time_on_task(tired):
    found = measure(now_ms())
    assert found.capacity.verdict == "lowers"
    assert 1.0 < found.capacity.lowers_from_h < 2.2
    first, _, last = found.by_hour
    assert (first["sensitivity"], last["sensitivity"]) == (1, 0)
    assert {row["seconds"] for row in found.by_hour} == {90}
    assert "expected to lower safety" in found.sentence


@pytest.mark.at_length
def test_after_a_break_the_reviewer_starts_anew(tired):
    found = measure(now_ms() + BREAK_MS + 3 * MINUTE)
    assert found.hours == 0
    assert found.capacity.verdict != "lowers"


@pytest.mark.at_length
def test_the_budget_stops_at_the_capacity_and_goes_on_after_a_break(tired):
    assert isinstance(claim_next(tired, now_ms()), Claim)
    assert isinstance(claim_next(tired, now_ms()), Claim)
    with writing() as session:
        set_stop(session, runs.get(session, "gold"), stops=True, now_ms=now_ms())
    assert isinstance(claim_next(tired, now_ms()), Claim), "the item that Ada holds stays open"
    with reading() as session:
        held = session.exec(select(tables.Slot).where(tables.Slot.status == "claimed")).one()
    review_queue().release(item_id=held.item_id, reviewer="Ada", token=held.token, now_ms=now_ms())
    stopped = claim_next(tired, now_ms())
    assert isinstance(stopped, NoClaim)
    assert stopped.reason == NoClaimReason.BEYOND_CAPACITY
    with reading() as session:
        item = session.exec(select(tables.Item).where(tables.Item.open_slots > 0)).first()
        found = decisions.claim_item(review_queue(), session, runs.get(session, "gold"), item.id, "Ada", now_ms())
    assert found.reason == NoClaimReason.BEYOND_CAPACITY
    assert isinstance(claim_next(tired, now_ms() + BREAK_MS + 3 * MINUTE), Claim)


def test_a_reviewer_sees_the_conclusion_without_recent_known_items(tired):
    with reading() as session:
        run = runs.get(session, "gold")
        told = describe_own_capacity(session, run, "Ada", now_ms())
        before = measure_capacity(session, run, now_ms(), ["Ada"], until_ms=now_ms() - 150 * MINUTE)
        assert describe_own_capacity(session, run, "Ben", now_ms()) == ""
    assert "expected to lower safety" in told
    assert before[0].capacity.verdict == "cannot tell"


@pytest.mark.at_length
def test_labels_of_a_live_run_are_no_known_answers(tired):
    with writing() as session:
        runs.get(session, "gold").kind = RunKind.LIVE
    assert measure(now_ms()).capacity.verdict == "cannot tell"


@pytest.mark.at_length
def test_a_study_has_no_stop(tired):
    with reading() as session:
        run = runs.get(session, "gold")
        session.expunge(run)
        run.study_id = 1
        with pytest.raises(Refused, match="study"):
            set_stop(session, run, stops=True, now_ms=1)


@pytest.mark.at_length
def test_the_command_prints_rows_sentences_and_the_switch(tired, capsys):
    assert run_command(["review", "capacity", "gold", "--stop"]) == 0
    said = capsys.readouterr().out
    assert "The figures cover a reviewer's latest 2,000 decisions in all runs." in said
    assert "Stop at the capacity: on." in said
    assert run_command(["review", "capacity", "gold", "--json"]) == 0
    document = orjson.loads(capsys.readouterr().out)
    assert document["stops_at_capacity"]
    assert document["reviewers"][0]["next_inspection"] == "lowers"
    assert document["reviewers"][0]["log_odds"]["hits_by_hours"]["high"] < 0
