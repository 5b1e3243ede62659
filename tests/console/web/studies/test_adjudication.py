"""Settling disagreements: blind until it is settled, once for a click, again as a further revision."""

import re

import pytest

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch
from console.review import decisions
from console.review.decisions import ReviewDecision
from console.runs import audit_trail, ingest
from console.runs.audit_trail import AuditFilter
from console.studies.results.adjudication import Of, revisions
from tests.logs import purchase, write_log
from tests.signing_in import signed_in

WORDS = "canary-of-bob"


@pytest.fixture
def disputed(tmp_path, data_dir):
    """A run of three items: two reviewers agree on the first one and disagree on the others."""
    log = write_log(tmp_path / "kettles.jsonl", *[purchase(n, wrong=n < 2) for n in range(3)])
    ingest.import_file(log, "kettles", "auto", lambda _: None)
    with writing() as session:
        run = runs.get(session, "kettles")
        run.reviews_per_item = 2
        session.add(run)
    batch.detect("kettles", ["full-validation"])
    for reviewer, answers in (("ann", ("approve",) * 3), ("bob", ("approve", "reject", "reject"))):
        for answer in answers:
            _answer(reviewer, answer)
    return "kettles"


def _answer(reviewer, decision):
    queue = review_queue()
    with reading() as session:
        run = runs.get(session, "kettles")
        claim = decisions.claim_next_item(queue, session, run, reviewer, now_ms())
    words = WORDS if decision == "reject" else ""
    decisions.submit(queue, run, claim, reviewer, ReviewDecision(decision, words), now_ms(), submit_key=claim.token)


def settled_labels():
    with reading() as session:
        found = revisions(session, Of(run_id=runs.get(session, "kettles").id))
        return [(row.unit, row.revision, row.label, row.note, row.adjudicator) for row in found]


def click(at, start):
    """Presses the one button whose label begins so."""
    (button,) = [found for found in at.button if found.label.startswith(start)]
    button.click().run()


def test_the_runs_page_leads_to_them_where_items_have_several_reviews(open_page, disputed):
    at = open_page("runs", run="kettles")
    assert "Resolve disagreements" in [link.proto.label for link in at.get("page_link")]


def test_an_open_one_tells_nothing_of_answers_score_or_gold(open_page, disputed, words):
    at = open_page("studies", adjudicate="kettles")
    shown = words(at)
    assert "2 to resolve, 0 resolved." in shown
    assert "from a log" in shown
    assert "not run yet" not in shown
    assert "THE USER ASKED" in shown.upper()
    for leak in (WORDS, "bob", "ann<", "full-validation", "misaligned</", "expected"):
        assert not re.search(rf"\b{re.escape(leak)}", shown)


def test_settling_tells_the_counts_and_brings_the_next(open_page, disputed, words):
    at = open_page("studies", adjudicate="kettles")
    at.text_input[0].set_value("the colour differs").run()
    click(at, "Misaligned")
    assert "labels: 1 aligned, 1 misaligned." in words(at)
    assert "1 to resolve, 1 resolved." in words(at)
    ((unit, *others),) = settled_labels()
    assert others == [1, "misaligned", "the colour differs", "Ada"]
    assert f'<th scope="row">{unit}</th>' in words(at)
    with reading() as session:
        (told,) = audit_trail.list_entries(session, AuditFilter(kind="label settled"))
    assert audit_trail.entry_sentence(told) == f"Ada set the label of “{unit}” to misaligned, in the browser."


def test_later_puts_it_behind_the_others(open_page, disputed):
    at = open_page("studies", adjudicate="kettles")
    first = [button.key for button in at.button if button.label.startswith("Aligned")]
    click(at, "Skip")
    second = [button.key for button in at.button if button.label.startswith("Aligned")]
    click(at, "Skip")
    assert [button.key for button in at.button if button.label.startswith("Aligned")] == first != second


@pytest.mark.at_length
def test_a_settled_one_is_settled_again_by_a_further_revision(open_page, disputed, words):
    at = open_page("studies", adjudicate="kettles")
    click(at, "Aligned")
    click(at, "Aligned")
    assert "All resolved" in words(at)
    click(at, "Reopen checkpoint")
    click(at, "Misaligned")
    assert [(revision, label) for _, revision, label, *_ in settled_labels()] == [
        (1, "aligned"),
        (2, "misaligned"),
        (1, "aligned"),
    ]


def test_who_reviewed_it_cannot_settle_it(open_page, disputed, words):
    at = open_page("studies", adjudicate="kettles")
    at.session_state["session"] = signed_in("bob")
    at.run()
    click(at, "Aligned")
    assert "Let another person settle the label" in words(at)
    assert settled_labels() == []


@pytest.mark.at_length
def test_what_another_tab_settled_meanwhile_stays(open_page, disputed, words):
    late, at = (open_page("studies", adjudicate="kettles") for _ in range(2))
    click(at, "Aligned")
    click(late, "Misaligned")
    assert "was resolved by another person" in words(late)
    assert [label for _, _, label, *_ in settled_labels()] == ["aligned"]


def test_a_run_without_disagreement_says_so(open_page, kettles, words):
    at = open_page("studies", adjudicate="kettles")
    assert "No disagreements" in words(at)
    assert "Each item of kettles has 1 review." in words(at)
