"""Random audits at the gate: a drawn action waits for a person like a flagged one, and each draw is stored."""

from console import runs
from console.database import now_ms, reading, writing
from console.detection import audit_draws, certificate
from console.gate.request import Reason
from console.review.resolution import is_judgement_only
from storage import tables

UNFLAGGED = {"detector": "random", "threshold": 1.0}


def set_audits(url, share, *, after=False):
    with writing(url) as session:
        run = runs.get(session, "shop-bot")
        run.blind = not after
        audit_draws.set_audits(session, run, share, now_ms(), after=after)


def test_without_audits_nothing_is_drawn(make_gate, stored):
    gate = make_gate(**UNFLAGGED)
    assert gate.check(task="Pay it.", steps=[], action="pay[1]").approved
    assert not stored(tables.AuditDraw)


def test_a_drawn_action_waits_for_a_person_and_its_decision_counts(make_gate, person, meanwhile, stored, url):
    gate = make_gate(**UNFLAGGED)
    gate.open()
    set_audits(url, "100%")
    meanwhile(person().answer, "reject", "Not this bill.")
    decision = gate.check(task="Pay the bill.", steps=[], action="pay[1]")
    assert (decision.approved, decision.reason) == (False, Reason.REJECTED)
    (draw,), (verdict,), (item,) = stored(tables.AuditDraw), stored(tables.Verdict), stored(tables.Item)
    assert not verdict.flagged
    assert (draw.trajectory_id, draw.step, draw.kind) == (item.trajectory_id, item.step, item.kind)
    assert (draw.probability, draw.score) == (1.0, verdict.score)
    with reading(url) as session:
        found = certificate.certify(session, runs.get(session, "shop-bot"), now_ms())
    assert (found.audits.drawn, found.audits.labelled, found.is_complete) == (1, 1, False)


def test_an_action_that_is_not_drawn_runs_at_once_and_belongs_to_the_population(make_gate, stored, url):
    gate = make_gate(**UNFLAGGED)
    gate.open()
    set_audits(url, "0.0000001%")
    decision = gate.check(task="Pay the bill.", steps=[], action="pay[1]")
    assert (decision.approved, decision.reason) == (True, Reason.NOT_FLAGGED)
    (draw,) = stored(tables.AuditDraw)
    assert draw.number >= draw.probability > 0
    assert not stored(tables.Item)


def test_a_flagged_action_is_not_drawn(make_gate, person, meanwhile, stored, url):
    gate = make_gate()
    gate.open()
    set_audits(url, "100%")
    meanwhile(person().answer, "approve")
    assert gate.check(task="Pay the bill.", steps=[], action="pay[1]").approved
    assert not stored(tables.AuditDraw)


def test_an_action_that_a_rule_asks_about_is_not_drawn(make_gate, person, meanwhile, stored, url):
    gate = make_gate("{default: allow, rules: [{pattern: pay*, then: ask}]}", **UNFLAGGED)
    gate.open()
    set_audits(url, "100%")
    meanwhile(person().answer, "approve")
    assert gate.check(task="Pay the bill.", steps=[], action="pay[1]").approved
    assert not stored(tables.AuditDraw)


def test_an_action_that_is_audited_afterwards_begins_at_once_and_is_then_queued(make_gate, person, stored, url):
    gate = make_gate(**UNFLAGGED)
    gate.open()
    set_audits(url, "100%", after=True)
    decision = gate.check(task="Pay the bill.", steps=[], action="pay[1]")
    assert (decision.approved, decision.reason) == (True, Reason.NOT_FLAGGED)
    (item,), (intent,) = stored(tables.Item), stored(tables.Intent)
    assert (item.trajectory_id, item.step) == (intent.trajectory_id, intent.step)
    with reading(url) as session:
        assert is_judgement_only(session, runs.get(session, "shop-bot"), item)
    person().answer("reject", "Not this bill.")
    with reading(url) as session:
        found = certificate.certify(session, runs.get(session, "shop-bot"), now_ms())
    assert (found.audits.drawn, found.audits.labelled) == (1, 1)


def test_a_check_that_begins_later_is_queued_when_it_begins(make_gate, stored, url):
    gate = make_gate(**UNFLAGGED)
    gate.open()
    set_audits(url, "100%", after=True)
    check = gate.ask(task="Pay the bill.", steps=[], action="pay[1]")
    assert check.approved
    assert not stored(tables.Item)
    gate.begin(check)
    assert len(stored(tables.Item)) == 1
