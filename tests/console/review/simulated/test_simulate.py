"""Simulated reviewers at work in the queue of a live run."""

import json

import pytest
from sqlmodel import col, select
from typer.testing import CliRunner

from console import runs
from console.cli import review
from console.database import reading, review_queue
from console.errors import BadInput
from console.review.simulated import Noise, simulate
from console.review.simulated.simulate import SimulationPlan
from console.runs.status import run_status
from console.trials import engine, start
from storage import tables
from tests.sweeps import sweep


@pytest.fixture
def shop():
    """A function that starts a run of 20 webshop tasks and plays its first trials."""

    def begin(**fields):
        fields = {"feedback_mode": "nl", "trials": 3, "detector_name": "full-validation"} | fields
        start.start_run("shop", {"webshop": 20}, **fields)
        engine.resume("shop")

    return begin


def decisions():
    with reading() as session:
        found = session.exec(select(tables.Decision).order_by(col(tables.Decision.id))).all()
        return [(row.decision, row.annotator_kind, row.feedback_text, row.decided_ms - row.claimed_ms) for row in found]


def budget(trial=0):
    with reading() as session:
        run = runs.get(session, "shop")
        return review_queue().budget(run_id=run.id, trial=trial)


@pytest.mark.at_length
def test_the_oracle_decides_all_that_waits_as_a_rule(shop):
    shop()
    tally = simulate.simulate("shop")
    assert tally.waiting == tally.inspected == 20
    assert tally.approved + tally.rejected + tally.responded == 20
    assert {kind for _, kind, _, _ in decisions()} == {"rule"}
    assert all(bool(words) == (decision != "approve") for decision, _, words, _ in decisions())


@pytest.mark.at_length
def test_what_it_decided_is_delivered_at_once_and_the_next_trial_does_better(shop):
    shop()
    tally = simulate.simulate("shop")
    done = engine.advance("shop")
    assert done.delivered == 20
    assert done.revealed == tally.rejected + tally.responded
    with reading() as session:
        first, second = run_status(session, runs.get(session, "shop"))["trials"]
    assert first["succeeded"] == tally.approved
    simulate.simulate("shop")
    engine.advance("shop")
    with reading() as session:
        second = run_status(session, runs.get(session, "shop"))["trials"][1]
    assert second["succeeded"] > first["succeeded"]


@sweep("order", ["priority", "fp-first"], kept=1)
def test_it_never_inspects_more_than_the_budget(shop, order):
    shop(budget_cap=7)
    tally = simulate.simulate("shop", SimulationPlan(order=order))
    assert (tally.inspected, tally.left) == (7, 13)
    assert budget().used == 7
    assert simulate.simulate("shop", SimulationPlan(order=order)).inspected == 0


@pytest.mark.at_length
def test_fp_first_spends_the_budget_on_false_alarms(shop):
    shop(budget_cap=5)
    tally = simulate.simulate("shop", SimulationPlan(order="fp-first"))
    assert (tally.approved, tally.rejected) == (5, 0)


def test_binary_feedback_has_no_words(shop):
    shop(feedback_mode="binary")
    simulate.simulate("shop")
    assert all(words == "" for _, _, words, _ in decisions())


@pytest.mark.at_length
def test_the_noisy_one_errs_and_takes_its_time(shop):
    shop()
    noise = Noise(false_accept=1.0, false_reject=1.0, seconds_per_item=20)
    tally = simulate.simulate("shop", SimulationPlan("noisy", noise=noise))
    assert tally.approved + tally.rejected + tally.responded == 20
    assert all(10_000 <= taken <= 30_000 for _, _, _, taken in decisions())
    engine.advance("shop")
    with reading() as session:
        assert run_status(session, runs.get(session, "shop"))["trials"][0]["succeeded"] == 0


@sweep(
    ("plan", "complaint"),
    [
        (SimulationPlan(reviewer="psychic"), "psychic"),
        (SimulationPlan(order="whim"), "Known: priority, expected-cost, fp-first, random"),
        (SimulationPlan("noisy", noise=Noise(false_accept=10)), "from 0 to 1"),
        (SimulationPlan("noisy", noise=Noise(seconds_per_item=-1)), "seconds"),
    ],
    kept=1,
)
def test_what_makes_no_sense_is_refused(shop, plan, complaint):
    shop()
    with pytest.raises(BadInput, match=complaint):
        simulate.simulate("shop", plan)
    assert decisions() == []


def test_the_command_prints_one_json_document_or_a_sentence(shop):
    shop(budget_cap=4)
    as_json = CliRunner().invoke(review.app, ["simulate", "--run", "shop", "--policy", "fp-first", "--json"])
    assert as_json.exit_code == 0
    document = json.loads(as_json.stdout)
    assert (document["inspected"], document["left"], document["policy"]) == (4, 16, "fp-first")
    in_words = CliRunner().invoke(review.app, ["simulate", "--run", "shop"])
    assert "inspected 0 of 16" in in_words.stdout.replace("\n", " ")


@pytest.mark.at_length
def test_the_order_expected_cost_weighs_what_a_wrong_action_costs(shop):
    shop(budget_cap=5, options=json.dumps({"costs": {"click[Buy Now]": "price"}}))
    with reading() as session:
        dearest = select(tables.Item.id).order_by(col(tables.Item.priority).desc(), col(tables.Item.id)).limit(5)
        expected = set(session.exec(dearest))
    simulate.simulate("shop", SimulationPlan(order="expected-cost"))
    with reading() as session:
        assert set(session.exec(select(tables.Decision.item_id))) == expected
