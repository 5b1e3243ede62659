"""Rules from decisions: what they would have saved, their bound, their expiry, and that nothing is applied."""

import json
from datetime import UTC, datetime

import pytest
from scipy import stats
from sqlmodel import select

from console import runs
from console.cli import run_command
from console.database import reading, writing
from console.detection import batch
from console.gate.policy import read_policy, suggest
from console.gate.policy.rules import CheckFacts, Then, ruling
from console.runs import run_options
from console.trajectory import Step, Trajectory
from storage import tables
from tests.overseen import decide
from tests.verdicts import a_run, judge, trajectory_ids

AT_MS = int(datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp() * 1_000)


def decided(name, actions, wrong):
    """A run of one call each, all decided; those at the places of `wrong` are called misaligned."""
    a_run(name, [None] * len(actions))
    judge(name, "rules", [0.9 - place / 1_000 for place in range(len(actions))])
    with writing() as session:
        run = runs.get(session, name)
        run.detector, run.undo_ms = "rules", 0
        for id, action in zip(trajectory_ids(session, run), actions, strict=True):
            steps = tuple(Step("", f'look_up({{"n": {n}}})', "found") for n in range(3))
            record = Trajectory(f"t{id}", "generic", "Help.", steps=steps, critical_action=action)
            session.add(tables.TrajectoryBody(trajectory_id=id, body=record.to_json()))
    with reading() as session:
        run = runs.get(session, name)
        session.expunge(run)
    batch.queue_flagged(run, run_options(run))
    decide(run, ["reject" if place in wrong else "approve" for place in range(len(actions))], apart_ms=1_000)


def refund(amount):
    return f'refund_order({{"order": "A1", "amount": {amount}}})'


def suggested(name, **options):
    with reading() as session:
        return suggest.suggest_rules(session, runs.get(session, name), AT_MS, **options)


@pytest.mark.at_length
def test_the_rule_leaves_the_wrong_amounts_out_and_its_bound_holds_for_all_candidates_together():
    amounts = [*range(1, 181), *range(900, 910)]
    decided("shop", [refund(amount) for amount in amounts], set(range(180, 190)))
    (one,) = suggested("shop")
    assert (one.tool, one.argument, str(one.least), one.wrong) == ("refund_order", "amount", "1.0", 0)
    assert one.most < 900
    assert one.saved == sum(amount <= one.most for amount in amounts)
    # All, and the limits at four shares of the calls.
    exact = stats.beta.ppf(1 - 0.05 / 5, 1, one.saved)
    assert one.bound == pytest.approx(exact)
    with reading() as session:
        asked = suggest.try_on_log(session, runs.get(session, "shop"), one)
    assert asked == (4 * 190, 4 * 190 - one.saved)
    assert f"would have saved {one.saved} reviews and let through at most {100 * exact:.1f}% misaligned" in one.sentence


@pytest.mark.at_length
def test_a_limit_is_of_its_own_argument_whatever_else_is_a_number():
    amounts = [*range(1, 181), *range(900, 910)]
    call = 'pay({{"quantity": {0}, "lines": 1, "amount": {0}}})'
    decided("lines", [call.format(amount) for amount in amounts], set(range(180, 190)))
    # Of two arguments that save as much, the first by name.
    (one,) = suggested("lines")
    assert (one.argument, one.wrong, one.saved) == ("amount", 0, sum(amount <= one.most for amount in amounts))


def test_the_rule_is_yaml_that_allows_what_was_reviewed_until_it_expires():
    decided("shop", [refund(amount) for amount in range(5, 125)], set())
    (one,) = suggested("shop", days=10)
    assert one.expires == "2026-11-11"
    policy = read_policy("default: ask\nrules:\n" + one.rule)
    within = CheckFacts(refund(50), at_ms=AT_MS)
    assert ruling(policy, within).then is Then.ALLOW
    later = AT_MS + 11 * 86_400_000
    assert ruling(policy, CheckFacts(refund(50), at_ms=later)).then is Then.ASK
    assert ruling(policy, CheckFacts(refund(50))).then is Then.ASK
    if one.most is not None:
        assert ruling(policy, CheckFacts(refund(-3), at_ms=AT_MS)).then is Then.ASK


@pytest.mark.at_length
def test_the_log_is_replayed_with_the_rule_and_the_policy_stays_as_it_was(capsys):
    decided("shop", [refund(amount) for amount in range(5, 125)], set())
    assert run_command(["policy", "suggest", "shop", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (row,) = document["suggestions"]
    # Of each log, three looks and one refund are recorded.
    assert row["asked"] == 4 * 120
    assert row["asked_with_rule"] == 4 * 120 - row["saved"]
    with reading() as session:
        assert not session.exec(select(tables.Policy)).all()
    assert run_command(["policy", "suggest", "shop"]) == 0
    assert row["sentence"] in capsys.readouterr().out


def test_too_few_or_too_wrong_decisions_suggest_nothing(capsys):
    decided("few", [refund(5)] * 15, set())
    assert suggested("few") == []
    decided("bad", [refund(5)] * 100, set(range(0, 100, 10)))
    assert suggested("bad") == []
    (one,) = suggested("bad", at_most=0.3)
    assert (one.argument, one.limits, one.saved, one.wrong, one.expires) == ("", "", 100, 10, "2026-12-01")
    assert run_command(["policy", "suggest", "few"]) == 0
    assert "No rule keeps the share of misaligned actions within 5%" in capsys.readouterr().out
    assert run_command(["policy", "suggest", "few", "--at-most", "lots"]) == 2
