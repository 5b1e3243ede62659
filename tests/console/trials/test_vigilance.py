"""Items of known answer in a queue: what reviewers meet, what they cost, and what they say about reviewers."""

import orjson
import pytest
from scipy import stats
from sqlmodel import select

from console import runs
from console.analysis.statistics.capacity import Signals, estimate_sensitivity
from console.cli import run_command
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch, certificate
from console.errors import BadInput, Refused
from console.review import decisions
from console.review.overview import build_overview
from console.review.pending_items import list_pending_items
from console.runs import maintenance, run_options
from console.runs.status import run_status
from console.trials import vigilance
from storage import tables
from storage.queue import Claim, NoClaim
from storage.tables import DecisionKind
from tests.overseen import decide, queue
from tests.verdicts import a_run, judge

GOLD = ["misaligned" if place % 2 else "aligned" for place in range(12)]


@pytest.fixture
def shop():
    """A run of ten flagged actions with a budget of six, and another one with gold labels."""
    a_run("shop", [None] * 10)
    judge("shop", "rules", [0.9 - place / 50 for place in range(10)])
    run = queue("shop", "rules", cap=6)
    a_run("gold", GOLD)
    judge("gold", "rules", [0.8] * 12)
    queue("gold", "rules")
    return run


def all_of(table):
    with reading() as session:
        return session.exec(select(table)).all()


def seeded_ids():
    return {one.item_id for one in all_of(tables.SeededItem)}


def claim_next(run, reviewer):
    with reading() as session:
        return decisions.claim_next_item(review_queue(), session, run, reviewer, now_ms())


def decide_all(run, reviewer, kind_of):
    """Decides everything that the budget covers; returns the ids of the decided items."""
    done = []
    while isinstance(claim := claim_next(run, reviewer), Claim):
        kind = kind_of(claim)
        answer = decisions.ReviewDecision(kind, "wrong" if kind == DecisionKind.REJECT else "")
        decisions.submit(review_queue(), run, claim, reviewer, answer, now_ms())
        done.append(claim.item_id)
    return done


def test_known_items_join_the_queue_and_cost_no_inspection_of_a_real_action(shop):
    assert vigilance.add_known_items("shop", "gold", 4) == 4
    seeds = seeded_ids()
    (budget,) = [one for one in all_of(tables.Budget) if one.run_id == shop.id]
    assert budget.cap == 6 + 4
    done = decide_all(shop, "ada", lambda claim: DecisionKind.APPROVE)
    assert len(set(done) - seeds) == 6
    assert set(done) >= seeds
    assert len(done) == 10


def test_real_items_cannot_use_the_units_of_unclaimed_known_ones(shop):
    vigilance.add_known_items("shop", "gold", 4)
    with writing() as session:
        for one in session.exec(select(tables.Item).where(tables.Item.id.in_(seeded_ids()))):
            one.priority = -0.5
    first = []
    for reviewer in [f"r{number}" for number in range(7)]:
        claim = claim_next(shop, reviewer)
        first.append(claim)
    assert [isinstance(one, Claim) for one in first] == [True] * 6 + [False]
    assert not {one.item_id for one in first[:6]} & seeded_ids()
    assert isinstance(first[6], NoClaim)


def test_a_new_cap_keeps_the_units_of_the_known_items(shop):
    vigilance.add_known_items("shop", "gold", 2)
    runs.set_budget("shop", "8")
    with reading() as session:
        assert runs.budgets(session, runs.get(session, "shop"))[0]["cap"] == 10


def test_known_items_are_in_no_figure_of_the_run_and_outlive_a_new_detection(shop):
    with reading() as session:
        run = runs.get(session, "shop")
        before = run_status(session, run)["trials"][0]["flagged"], build_overview(session, run, 1).flows[0].flagged
        n = certificate._count_flagged(session, run)
    vigilance.add_known_items("shop", "gold", 4)
    batch.queue_flagged(shop, run_options(shop))
    with reading() as session:
        run = runs.get(session, "shop")
        after = run_status(session, run)["trials"][0]["flagged"], build_overview(session, run, 1).flows[0].flagged
        assert certificate._count_flagged(session, run) == n
        assert [one.name for one in runs.list_runs(session)] == ["gold", "shop"]
        pending = {one.id for one in session.exec(select(tables.Item).where(tables.Item.status == "pending"))}
        flow, inbox = build_overview(session, run, 1).flows[0], list_pending_items(session, [run], "ada")
    assert before == after
    assert seeded_ids() <= pending
    assert (flow.waiting, flow.beyond) == (inbox.matching, inbox.beyond) == (14, 4)


def test_decisions_on_known_items_are_not_in_the_bars(shop):
    vigilance.add_known_items("shop", "gold", 4)
    assert len(decide_all(shop, "ada", lambda claim: DecisionKind.APPROVE)) == 10
    with reading() as session:
        overview = build_overview(session, runs.get(session, "shop"), 1)
    assert (overview.flows[0].inspected, overview.flows[0].answers) == (6, (("approve", 6),))
    assert [one.decisions for one in overview.reviewers] == [10]


def test_decisions_on_known_items_give_d_prime_and_criterion_per_reviewer_and_hour(shop):
    vigilance.add_known_items("shop", "gold", 6)
    expected = {one.item_id: one.expected for one in all_of(tables.SeededItem)}
    bad = [id for id, label in expected.items() if label == "misaligned"]
    good = [id for id, label in expected.items() if label == "aligned"]
    rejected = {*bad[:-1], *good[:1]}
    decide_all(shop, "ada", lambda claim: DecisionKind.REJECT if claim.item_id in rejected else DecisionKind.APPROVE)
    with reading() as session:
        rows = vigilance.measure(session, runs.get(session, "shop"))
    signals = Signals(len(bad), len(bad) - 1, len(good), 1)
    assert [(row.reviewer, row.hour, row.signals) for row in rows] == [("ada", None, signals), ("ada", 1, signals)]


def test_the_hour_of_work_begins_anew_after_a_break(shop):
    vigilance.add_known_items("shop", "gold", 6)
    decide(shop, ["approve"] * 12, apart_ms=10 * 60_000)
    with writing() as session:
        late = session.exec(select(tables.Decision).order_by(tables.Decision.decided_ms.desc())).first()
        late.decided_ms += 3_600_000
    with reading() as session:
        hours = vigilance._read_hours(session, runs.get(session, "shop"))
    assert [hours[id] for id in sorted(hours)] == [1] * 6 + [2] * 5 + [1]


def test_answers_of_agreeing_reviewers_are_known_but_never_to_these_reviewers(shop):
    a_run("agreed", [None] * 5)
    judge("agreed", "rules", [0.8] * 5)
    source = queue("agreed", "rules")
    with writing() as session:
        row = runs.get(session, "agreed")
        row.reviews_per_item = 2
        for item in session.exec(select(tables.Item).where(tables.Item.run_id == row.id)):
            item.reviews_required = item.open_slots = 2
    decide(source, ["reject", "reject", "approve", "approve"], reviewer="bo")
    decide(source, ["reject", "approve", "approve", "approve"], reviewer="cy")
    with reading() as session:
        known = vigilance.find_known_answers(session, runs.get(session, "shop"), runs.get(session, "agreed"))
    assert sorted(one.label for one in known) == ["aligned", "aligned", "misaligned"]
    assert {one.reviewers for one in known} == {("bo", "cy")}
    vigilance.add_known_items("shop", "agreed", 1)
    decide_all(shop, "bo", lambda claim: DecisionKind.APPROVE)
    with reading() as session:
        assert vigilance.measure(session, runs.get(session, "shop")) == []
        # Bo works in the run now, so no further answer of his is used there.
        assert not vigilance.find_known_answers(session, runs.get(session, "shop"), runs.get(session, "agreed"))


def test_what_cannot_have_known_items_is_refused(shop):
    with pytest.raises(BadInput, match="at least 1"):
        vigilance.add_known_items("shop", "gold", 0)
    with pytest.raises(Refused, match="has 12 actions with a known answer"):
        vigilance.add_known_items("shop", "gold", 13)
    with pytest.raises(Refused, match="its own known answers"):
        vigilance.add_known_items("shop", "shop", 1)
    with writing() as session:
        runs.get(session, "shop").kind = "gate"
    with pytest.raises(Refused, match="countdown"):
        vigilance.add_known_items("shop", "gold", 1)


def test_a_deleted_run_takes_its_known_items_along(shop):
    vigilance.add_known_items("shop", "gold", 3)
    with writing() as session:
        maintenance.delete_run(session, runs.get(session, "shop"), now_ms())
    assert not all_of(tables.SeededItem)


def test_d_prime_and_criterion_are_those_of_the_normal_quantiles():
    found = estimate_sensitivity(Signals(20, 17, 30, 6))
    hit, alarm = stats.norm.ppf(17.5 / 21), stats.norm.ppf(6.5 / 31)
    assert found.d_prime == pytest.approx(hit - alarm)
    assert found.criterion == pytest.approx(-(hit + alarm) / 2)
    spread = sum(
        p * (1 - p) / (n * stats.norm.pdf(stats.norm.ppf(p)) ** 2) for p, n in ((17.5 / 21, 21), (6.5 / 31, 31))
    )
    assert found.d_prime_high - found.d_prime == pytest.approx(1.959964 * spread**0.5, rel=1e-6)
    assert found.criterion_high - found.criterion == pytest.approx(1.959964 * spread**0.5 / 2, rel=1e-6)
    assert estimate_sensitivity(Signals(3, 1, 0, 0)) is None


def test_the_commands_add_and_show(shop, capsys):
    assert run_command(["review", "seed", "shop", "--from", "gold", "--count", "2"]) == 0
    assert "Added 2 known items to shop" in capsys.readouterr().out
    decide_all(shop, "ada", lambda claim: DecisionKind.APPROVE)
    assert run_command(["review", "vigilance", "shop", "--json"]) == 0
    rows = orjson.loads(capsys.readouterr().out)["reviewers"]
    assert [row["hour"] for row in rows] == [None, 1]
    assert rows[0]["misaligned"] + rows[0]["aligned"] == 2
    assert run_command(["review", "vigilance", "shop"]) == 0
    assert "ada" in capsys.readouterr().out
