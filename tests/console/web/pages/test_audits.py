"""Random audits on the pages Runs and Detectors: the form, the certificate, and the corrected figures."""

import pytest

from console.database import now_ms, reading
from console.detection import batch, certificate
from console.runs import get, run_options
from console.trials import engine, start
from tests.overseen import decide, queue
from tests.verdicts import a_run, judge


@pytest.fixture
def shop():
    """A run of 20 actions, four of them flagged."""
    a_run("shop", ["aligned"] * 20)
    judge("shop", "rules", [0.9 if place < 4 else 0.2 for place in range(20)])
    return queue("shop", "rules")


def press(at, label):
    (button,) = [found for found in at.button if found.label == label]
    button.click().run()


def test_audits_are_drawn_by_the_form_and_their_decisions_give_the_certificate(open_page, words, shop):
    at = open_page("runs", run="shop")
    field = at.text_input(key=f"audits-{shop.id}")
    # The run has no budget, so a share of it is refused.
    assert field.placeholder == "5%"
    assert "20% budget" not in words(at)
    field.input("half")
    press(at, "Draw audits")
    assert "is not a valid share of audits" in words(at)
    at.text_input(key=f"audits-{shop.id}").input("100%")
    press(at, "Draw audits")
    assert "16 of 16 unflagged actions drawn" in words(at)
    assert "No certificate yet" in words(at)
    decide(shop, ["approve"] * 10)
    at = open_page("runs", run="shop")
    with reading() as session:
        found = certificate.certify(session, get(session, "shop"), now_ms())
    assert found.sentence in [text.value for text in at.text]
    assert {metric.label: metric.value for metric in at.metric}["Audits pending"] == str(found.waiting)
    assert "To allow for measured errors: <code>inferact certify shop --known RUN</code>" in words(at)
    assert "A limited budget grows by one inspection for each added item." in words(at)


@pytest.mark.at_length
def test_the_certificate_of_a_live_run_stays_after_its_audits_are_turned_off(open_page, words):
    start.start_run("buy", {"webshop": 3}, threshold=1.0)
    batch.set_audits("buy", "100%")
    engine.resume("buy")
    batch.set_audits("buy", "0")
    assert "No certificate yet" in words(open_page("runs", run="buy"))


@pytest.mark.at_length
def test_known_items_are_added_by_the_form_told_in_the_inbox_and_measured(open_page, words, shop):
    a_run("gold", ["misaligned", "aligned"] * 3)
    judge("gold", "rules", [0.8] * 6)
    queue("gold", "rules")
    assert "known answer" not in words(open_page("inbox", run="shop"))
    at = open_page("runs", run="shop")
    at.selectbox(key=f"known-source-{shop.id}").set_value("gold")
    at.number_input(key=f"known-count-{shop.id}").set_value(3)
    press(at, "Add known items")
    assert "3 known items added" in words(at)
    assert "Some items have a known answer" in words(open_page("inbox", run="shop"))
    decide(shop, ["approve"] * 7)
    at = open_page("runs", run="shop")
    (table,) = [frame.value for frame in at.dataframe if "Criterion" in frame.value]
    assert list(table["Hour"]) == ["all", "1"]


@pytest.mark.at_length
def test_capacity_is_shown_by_hour_and_the_switch_stops_there(open_page, words, shop):
    decide(shop, ["approve", "reject"], apart_ms=60_003)
    at = open_page("runs", run="shop")
    told = " ".join(text.value for text in at.text)
    assert "ada: inconclusive." in told
    assert "Known answers of decided items: 0 misaligned, 2 aligned. At least 10 of each are needed." in told
    assert "a reviewer's latest 2,000 decisions in all runs" in words(at)
    (table,) = [frame.value for frame in at.dataframe if "Sensitivity" in frame.value]
    assert table[["Decisions", "Seconds"]].values.tolist() == [[2, 30]]
    at.toggle(key=f"capacity-stop-{shop.id}").set_value(True).run()
    assert "Reviewers stop at their capacity." in words(at)
    with reading() as session:
        assert run_options(get(session, "shop")).stops_at_capacity


@pytest.mark.at_length
def test_live_runs_compare_their_protocols_and_the_reasons_in_feedback(open_page):
    start.start_run("buy", {"webshop": 2}, rationale=0.5, protocol="undo")
    engine.resume("buy")
    at = open_page("runs", run="buy")
    (table,) = [frame.value for frame in at.dataframe if "Usefulness" in frame.value]
    assert list(table["Protocol"]) == ["undo"]
    assert not [frame for frame in at.dataframe if "Reasons" in frame.value]
    told = " ".join(text.value for text in at.text)
    assert "Whether reasons in the feedback lead to evasion is inconclusive." in told


@pytest.mark.at_length
def test_the_detectors_page_says_what_decisions_cover_until_audits_correct_them(open_page, words, shop):
    assert "inspected items only" in words(open_page("detectors", run="shop"))
    batch.set_audits("shop", "100%")
    decide(shop, ["reject", *["approve"] * 19])
    at = open_page("detectors", run="shop")
    assert "inspected items only" not in words(at)
    (table,) = [frame.value for frame in at.dataframe if "Figure" in frame.value and "95% interval" in frame.value]
    assert list(table["Figure"]) == ["recall", "precision"]


def test_audits_by_score_keep_the_share_that_was_entered(open_page):
    a_run("shop", ["aligned"] * 20)
    judge("shop", "rules", [place / 50 for place in range(20)])
    run = queue("shop", "rules")
    batch.set_audits("shop", "20%", batch.Spread.SCORE)
    assert open_page("runs", run="shop").text_input(key=f"audits-{run.id}").value == "20%"
