"""The certificate of a run: its counts against the tables, its refusals, and its figures against the truth."""

import json

import pytest
from sqlmodel import select

from console import runs
from console.analysis.statistics.uninspected import (
    Audits,
    KnownItems,
    bound_rest,
    bound_rest_always,
    bound_rest_always_assisted,
    bound_rest_assisted,
    measure_error,
)
from console.cli import run_command
from console.database import now_ms, reading, writing
from console.detection import batch, certificate
from console.errors import BadInput, Refused
from storage import tables
from storage.tables import DecisionKind
from tests.overseen import decide, queue
from tests.verdicts import a_run, judge


@pytest.fixture
def shop():
    """A run of 60 actions: ten flagged, half of these misaligned; of the other fifty, five."""
    a_run("shop", ["misaligned" if place % 10 in (0, 5) and place < 30 else "aligned" for place in range(60)])
    judge("shop", "rules", [0.9 if place < 10 else 0.2 + place / 1_000 for place in range(60)])
    return queue("shop", "rules")


def draw(wanted, spread=batch.Spread.EVEN):
    return batch.set_audits("shop", wanted, spread)


def decide_truly(run, most=100):
    """Decides the next items as their gold labels say."""
    with reading() as session:
        free = select(tables.Item, tables.Trajectory.label).join(tables.Trajectory)
        pending = free.where(tables.Item.run_id == run.id, tables.Item.status == "pending")
        labels = [label for _, label in session.exec(pending.order_by(tables.Item.priority.desc(), tables.Item.id))]
    decide(run, [DecisionKind.REJECT if one == "misaligned" else DecisionKind.APPROVE for one in labels[:most]])


def certified(**options):
    with reading() as session:
        return certificate.certify(session, runs.get(session, "shop"), now_ms(), **options)


def drawn_labels():
    """The gold labels of the drawn actions and of the others without a flag."""
    with reading() as session:
        found = {True: [], False: []}
        for row in session.exec(select(tables.AuditDraw)).all():
            label = session.get_one(tables.Trajectory, row.trajectory_id).label
            found[row.number < row.probability].append(label == "misaligned")
        return found[True], found[False]


def test_complete_audits_give_the_exact_bound_of_one_look(shop):
    draw("50%")
    decide_truly(shop)
    audited, rest = drawn_labels()
    found = certified()
    audits = Audits(50, len(audited), sum(audited))
    assert found.audits == audits
    assert found.bound == bound_rest(audits)
    assert found.bound.misaligned >= sum(rest)
    assert found.is_complete
    assert found.waiting == 0
    assert f"of the {len(rest)} unflagged actions without a decided audit are misaligned" in found.sentence
    assert found.sentence.startswith("With 95% confidence at most ")


def test_while_audits_are_pending_the_bound_is_that_of_every_look(shop):
    drawn = draw("50%").drawn
    decide_truly(shop, most=14)
    found = certified()
    assert 0 < found.audits.drawn < drawn
    assert found.audits.drawn + found.waiting == drawn
    assert found.bound == bound_rest_always(found.audits)
    assert any("pending" in said for said in found.list_assumptions())


def test_corrected_recall_and_precision_are_those_of_all_labels_if_everything_is_audited(shop):
    draw("100%")
    decide_truly(shop)
    figures = certificate.correct_detector_figures(certified())
    # Two of the ten flagged actions are misaligned, and four of the fifty others.
    assert figures["recall"] == {
        "value": pytest.approx(2 / 6),
        "low": pytest.approx(2 / 6),
        "high": pytest.approx(2 / 6),
    }
    assert figures["precision"]["value"] == pytest.approx(2 / 10)


def test_flagged_actions_without_a_decision_leave_an_interval_and_are_named(shop):
    draw("100%")
    decide_truly(shop, most=58)
    found = certified()
    figures = certificate.correct_detector_figures(found)
    assert found.flagged.undecided + found.waiting == 2
    if found.flagged.undecided:
        assert figures["recall"]["value"] is None
        assert figures["precision"]["low"] < figures["precision"]["high"]
        assert any("flagged action" in said for said in found.list_assumptions())


@pytest.mark.at_length
def test_an_audit_that_left_the_queue_without_a_label_counts_as_misaligned(shop):
    draw("50%")
    decide_truly(shop)
    before = certified()
    with writing() as session:
        drawn = session.exec(select(tables.AuditDraw).where(tables.AuditDraw.number < 0.5)).first()
        at = select(tables.Item).where(tables.Item.trajectory_id == drawn.trajectory_id)
        session.exec(at).one().status = "expired"
    after = certified()
    assert after.unlabelled == 1
    assert after.audits.labelled >= before.audits.labelled
    assert any("count as misaligned" in said for said in after.list_assumptions())


@pytest.mark.at_length
def test_a_smaller_probability_later_counts_only_what_it_would_have_drawn(shop):
    draw("80%")
    decide_truly(shop)
    with writing() as session:
        rows = session.exec(select(tables.AuditDraw)).all()
        rows[0].probability = 0.3
        expected = sum(row.number < 0.3 for row in rows)
    assert certified().audits.drawn == expected


def test_draws_by_score_store_two_chances_and_give_the_bound_of_both_strata(shop):
    drawn = draw("40%", batch.Spread.SCORE)
    low, high, cut = drawn.probability, drawn.strata["high"], drawn.strata["cut"]
    assert high == pytest.approx(2 * low)
    with reading() as session:
        rows = session.exec(select(tables.AuditDraw)).all()
        assert {(row.probability, row.score > cut) for row in rows} == {(low, False), (high, True)}
        parts = []
        for above in (False, True):
            of_part = [row for row in rows if (row.score > cut) is above]
            taken = [row for row in of_part if row.number < row.probability]
            labels = [session.get_one(tables.Trajectory, row.trajectory_id).label for row in taken]
            parts.append(Audits(len(of_part), len(taken), labels.count("misaligned")))
    assert sum(part.population for part in parts) * 0.4 == pytest.approx(
        low * parts[0].population + high * parts[1].population
    )
    decide_truly(shop)
    found = certified()
    assert found.strata == tuple(parts)
    assert found.bound == bound_rest_assisted(*parts)
    # The plain bound uses the audits that the lower chance draws too, and speaks about the same rest.
    evenly = [row for row in rows if row.number < low]
    assert found.evenly.drawn == len(evenly) < found.audits.drawn
    assert found.once.rest == found.bound.rest == 50 - found.audits.drawn
    assert any("another for high scores" in said for said in found.list_assumptions())
    weighed = sum(part.population * part.labelled / part.drawn for part in parts)
    caught = found.flagged.misaligned
    assert certificate.correct_detector_figures(found)["recall"]["value"] == pytest.approx(caught / (caught + weighed))


@pytest.mark.at_length
def test_adaptive_draws_follow_the_labels_lower_no_chance_and_are_bounded_at_every_look(shop):
    first = draw("40%", batch.Spread.ADAPTIVE)
    decide_truly(shop)
    second = draw("50%", batch.Spread.ADAPTIVE)
    assert second.strata["cut"] == first.strata["cut"]
    assert second.probability >= first.probability
    assert second.strata["high"] >= first.strata["high"]
    assert second.drawn > first.drawn
    decide_truly(shop)
    found = certified()
    assert not found.is_complete
    assert found.assisted is None
    assert found.bound == bound_rest_always_assisted(*found.strata)


def test_equal_scores_are_not_drawn_by_score():
    a_run("even", ["aligned"] * 8)
    judge("even", "rules", [0.2] * 8)
    queue("even", "rules")
    with pytest.raises(Refused, match="equal scores"):
        batch.set_audits("even", "50%", batch.Spread.SCORE)


def test_measured_errors_widen_the_bound_and_strangers_are_refused(shop):
    draw("50%")
    decide_truly(shop)
    with reading() as session:
        known = [runs.get(session, "shop")]
        found = certificate.certify(session, known[0], now_ms(), known_runs=known)
        items = certificate.read_known_items(session, known, ("ada",))
        with pytest.raises(Refused, match="decided no item with a gold label in shop"):
            certificate.read_known_items(session, known, ("bo",))
    assert items.misaligned == items.caught > 0
    assert items.alarms == 0 < items.aligned
    assert isinstance(items, KnownItems)
    assert found.error == measure_error(items)
    assert found.bound.share > certified().bound.share


def test_nothing_drawn_is_refused_with_what_to_do(shop):
    with pytest.raises(Refused, match=r"Draw audits: inferact run audit shop 20%$"):
        certified()
    draw("50%")
    with pytest.raises(Refused, match="pending audits and no audit with a decision"):
        certified()


@pytest.mark.parametrize(("text", "level"), [("95%", 0.95), ("0.9", 0.9), ("99.5 %", 0.995)])
def test_levels_are_read(text, level):
    assert certificate.parse_level(text) == pytest.approx(level)


@pytest.mark.parametrize("text", ["100%", "40%", "high", ""])
def test_other_levels_are_refused(text):
    with pytest.raises(BadInput, match="is not a valid confidence level"):
        certificate.parse_level(text)


def test_the_command_prints_the_sentence_and_one_document(shop, capsys):
    assert run_command(["certify", "shop"]) == 1
    assert "Nothing was drawn at random" in capsys.readouterr().err
    draw("50%")
    decide_truly(shop)
    capsys.readouterr()
    assert run_command(["certify", "shop"]) == 0
    assert certified().sentence in capsys.readouterr().out
    assert run_command(["certify", "shop", "--level", "90%", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = certified(level=0.9)
    assert document["share"] == found.bound.share
    assert document["bounds"]["once"]["misaligned"] == found.once.misaligned
    assert document["uninspected"] == found.audits.rest
    assert document["audits"]["population"] == 50
