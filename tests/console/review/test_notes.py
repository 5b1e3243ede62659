"""Notes to colleagues and hand-overs: who reads them, and that the agent never does."""

import pytest

from console import runs
from console.auth.people import Role, add_person
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch
from console.errors import BadInput, Unknown
from console.review import blinding, decision_details, decisions
from console.review.pending_items import list_pending_items
from console.review.resolution import list_current_decisions, resolve_decisions
from console.runs import ingest
from tests.logs import purchase, write_log


@pytest.fixture
def shop(tmp_path, data_dir):
    ingest.import_file(write_log(tmp_path / "log.jsonl", purchase(0, wrong=True)), "shop", "auto", lambda _: None)
    batch.detect("shop", ["rules"])
    with writing() as session:
        for name in ("Ada", "Ben", "Cleo"):
            add_person(session, name, [Role.REVIEWER], now_ms())


def claimed(reviewer):
    with reading() as session:
        run = runs.get(session, "shop")
        return run, decisions.claim_next_item(review_queue(), session, run, reviewer, now_ms())


def pass_on(**more):
    run, claim = claimed("Ada")
    return decisions.submit(review_queue(), run, claim, "Ada", decisions.ReviewDecision("escalate", **more), now_ms())


def view(reviewer, unblinded=False):
    run, claim = claimed(reviewer)
    with reading() as session:
        return blinding.build_review_view(session, review_queue(), run, claim, reviewer, unblinded=unblinded)


def test_a_hand_over_carries_name_note_and_badge(shop):
    pass_on(note="Is 89.5 really over?", addressee="ben")
    seen = view("Ben")
    assert seen.escalation.badge == "Ada escalated this item to you"
    assert [(note.author, note.text) for note in seen.notes] == [("Ada", "Is 89.5 really over?")]
    with reading() as session:
        (row,) = list_pending_items(session, [runs.get(session, "shop")], "Ben").offered
        others = decision_details.list_escalations(session, [seen.claim.item_id], "Cleo")
        own = decision_details.list_escalations(session, [seen.claim.item_id], "Ada")
        answers = list_current_decisions(session, seen.claim.item_id)
    assert others[seen.claim.item_id].badge == "Ada escalated this item to Ben"
    assert own[seen.claim.item_id].badge == "you escalated this item to Ben"
    assert row.escalation.badge == "Ada escalated this item to you"
    assert resolve_decisions(answers, "click[Buy Now]").feedback == ""


def test_a_plain_note_in_a_blind_run_is_read_by_its_author_and_researchers_alone(shop):
    _, claim = claimed("Ada")
    with writing() as session:
        decision_details.add_note(session, claim.item_id, "Ada", "odd page", now_ms())
    assert [note.text for note in view("Ada").notes] == ["odd page"]
    review_queue().release(item_id=claim.item_id, reviewer="Ada", token=claim.token, now_ms=now_ms())
    assert view("Ben").notes == ()
    assert [note.text for note in view("Ben", unblinded=True).notes] == ["odd page"]


def test_a_hand_over_without_a_note_still_says_by_whom(shop):
    pass_on()
    assert view("Ben").escalation.badge == "Ada escalated this item"


def test_a_note_goes_with_a_hand_over_to_somebody_who_is_there(shop):
    run, claim = claimed("Ada")
    with pytest.raises(BadInput, match="for escalations only"):
        decisions.submit(review_queue(), run, claim, "Ada", decisions.ReviewDecision("reject", note="x"), now_ms())
    with reading() as session:
        assert decision_details.list_colleagues(session, "Ada") == ["Ben", "Cleo"]
    with writing() as session, pytest.raises(Unknown):
        decision_details.add_note(session, claim.item_id, "Ada", "x", now_ms(), addressee="nobody here")
