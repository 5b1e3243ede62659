"""Corrected requirement lines: stored, undone, counted per detector and exported; hidden tables leave no trace."""

import csv
import re

import orjson
import pytest
from sqlmodel import select

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch
from console.detection.detectors.shared.model_clients import ModelOptions
from console.errors import BadInput, Refused
from console.review import blinding, decisions, line_corrections
from console.runs import ingest
from console.web.widgets.trajectory_view import presentation_html
from storage import tables
from tests.fakes.endpoint import serving
from tests.fakes.requirement_filler import Told, telling
from tests.logs import purchase, write_log

LINES = (
    Told("thing", "kettle", "met", "Kettle", 2),
    Told("limit", "price lower than 30.00 dollars", "broken", "[Buy Now]", 2),
)

LAST = 5
"""A seed with which the audit comes after the flagged items."""


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """A run of three tasks: two flagged by a broken line, one audited though each of its lines is met."""
    records = [purchase(0, wrong=True), purchase(1, wrong=True), purchase(2, wrong=False)]
    ingest.import_file(write_log(tmp_path / "log.jsonl", *records), "kettles", "auto", lambda _: None)
    with writing() as session:
        run = runs.get(session, "kettles")
        run.options, run.seed = orjson.dumps({"audited": 1.0}).decode(), LAST

    def script(ask):
        return telling(LINES[:1] if "number 2" in ask.text else LINES)(ask)

    with serving(script) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        (report,) = batch.detect("kettles", ["requirements"], asking=ModelOptions(model="gpt-4o-mini"))
    assert (report.flagged, report.queued) == (2, 3)
    return "kettles"


def next_view(run_name, reviewer="ada"):
    with reading() as session:
        run = runs.get(session, run_name)
        claim = decisions.claim_next_item(review_queue(), session, run, reviewer, now_ms())
        return claim, blinding.build_review_view(session, review_queue(), run, claim, reviewer, unblinded=False)


def all_pages(run_name):
    """Each item's page by whether the item is flagged, seen by a reviewer who then lets it go."""
    found = []
    for number in range(3):
        claim, view = next_view(run_name, f"r{number}")
        with reading() as session:
            flagged = session.get_one(tables.Verdict, claim.verdict_id).flagged
        found.append((flagged, presentation_html(view.presentation)))
    return found


def toggle(item, key, reviewer="ada"):
    with writing() as session:
        return line_corrections.toggle_correction(session, item, key, reviewer, now_ms())


def counts(run_name):
    with reading() as session:
        return [one.to_dict() for one in line_corrections.count_lines(session, runs.get(session, run_name))]


def test_a_correction_is_stored_shown_to_its_reviewer_counted_and_undone(judged):
    claim, view = next_view(judged)
    broken = line_corrections.key_of(view.presentation.requirements.lines[0])
    assert toggle(claim.item_id, broken)
    with reading() as session:
        run = runs.get(session, judged)
        mine = blinding.build_review_view(session, review_queue(), run, claim, "ada", unblinded=False)
        other = blinding.build_review_view(session, review_queue(), run, claim, "bo", unblinded=False)
    assert mine.presentation.corrected == {broken}
    assert other.presentation.corrected == frozenset()
    (found,) = counts(judged)
    assert (found["detector"], found["verdicts"], found["lines"], found["broken"], found["met"]) == (
        "requirements",
        3,
        5,
        2,
        3,
    )
    assert (found["reviewed"], found["corrected_lines"], found["corrected_broken"]) == (2, 1, 1)
    assert found["corrected_share"] == 0.5
    assert not toggle(claim.item_id, broken)
    assert counts(judged)[0]["corrected_lines"] == 0
    with reading() as session:
        (row,) = session.exec(select(tables.LineCorrection)).all()
    assert row.withdrawn_ms
    assert orjson.loads(row.line)["quote"][0] == "price lower than 30.00 dollars"


def test_the_same_line_corrected_by_two_reviewers_counts_once(judged):
    claim, view = next_view(judged)
    key = line_corrections.key_of(view.presentation.requirements.lines[0])
    assert toggle(claim.item_id, key)
    assert toggle(claim.item_id, key, "bo")
    assert counts(judged)[0]["corrected_lines"] == 1


def test_a_line_that_the_verdict_lacks_is_refused_and_so_is_a_study(judged):
    claim, view = next_view(judged)
    with pytest.raises(BadInput, match="no longer has this line"):
        toggle(claim.item_id, "0" * 16)
    with writing() as session:
        study = tables.Study(name="s", design="{}", status=tables.StudyStatus.OPEN, join_code="j", created_ms=1)
        session.add(study)
        session.flush()
        runs.get(session, judged).study_id = study.id
    with pytest.raises(Refused, match="in a study"):
        toggle(claim.item_id, line_corrections.key_of(view.presentation.requirements.lines[0]))


@pytest.mark.parametrize("hidden", ["explanation", "highlights"])
def test_a_condition_that_hides_the_table_hides_every_trace_of_it(judged, hidden):
    everything = dict.fromkeys(("score", "explanation", "detector"), "hidden") if hidden == "explanation" else {}
    view = {hidden: "hidden", **everything}
    with writing() as session:
        runs.get(session, judged).options = orjson.dumps({"audited": 1.0, "view": view}).decode()
    with_lines = all_pages(judged)
    assert {flagged for flagged, _page in with_lines} == {True, False}
    for _flagged, page in with_lines:
        assert "ia-requirements" not in page
        assert "ia-correct" not in page
    if hidden == "explanation":
        # Audited and flagged items have the same parts.
        parts = [re.findall(r'<section class="ia-block ([\w-]+)', page) for _flagged, page in with_lines]
        assert len(set(map(tuple, parts))) == 1
        release_all(judged)
        with writing() as session:
            for verdict in session.exec(select(tables.Verdict)):
                verdict.requirements = None
        assert all_pages(judged) == with_lines


def release_all(run_name):
    with reading() as session:
        held = session.exec(select(tables.Slot).where(tables.Slot.status == "claimed")).all()
    for slot in held:
        review_queue().release(item_id=slot.item_id, reviewer=slot.reviewer, token=slot.token, now_ms=now_ms())


def test_an_item_without_a_table_keeps_the_lists(judged):
    with writing() as session:
        for verdict in session.exec(select(tables.Verdict)):
            verdict.requirements = None
    _claim, view = next_view(judged)
    page = presentation_html(view.presentation)
    assert "ia-terms" in page
    assert "ia-requirements" not in page


def test_verdicts_and_corrections_are_exported(judged, tmp_path):
    from console.cli import run_command

    claim, view = next_view(judged)
    key = line_corrections.key_of(view.presentation.requirements.lines[0])
    toggle(claim.item_id, key)
    toggle(claim.item_id, key)
    toggle(claim.item_id, key)
    assert run_command(["export", "corrections", "--run", judged, "--out", str(tmp_path / "c.csv")]) == 0
    with (tmp_path / "c.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [bool(row["withdrawn_at"]) for row in rows] == [True, False]
    assert {row["requirement_quote"] for row in rows} == {"price lower than 30.00 dollars"}
    assert (rows[1]["requirement_kind"], rows[1]["standing"], rows[1]["evidence_quote"], rows[1]["evidence_step"]) == (
        "limit",
        "broken",
        "[Buy Now]",
        "2",
    )
    assert run_command(["export", "verdicts", "--run", judged, "--out", str(tmp_path / "v.csv")]) == 0
    with (tmp_path / "v.csv").open(newline="") as file:
        reader = csv.DictReader(file)
        tables_told = [orjson.loads(row["requirements"]) for row in reader]
    assert reader.fieldnames[-1] == "requirements"
    assert sorted(len(one["lines"]) for one in tables_told) == [1, 2, 2]


def test_the_lines_of_an_escalated_item_are_not_reviewed_before_a_decision(judged):
    for kind, reviewed in (("escalate", 0), ("reject", 2)):
        claim, _view = next_view(judged, reviewer=f"by {kind}")
        with reading() as session:
            run = runs.get(session, judged)
            session.expunge(run)
        answer = decisions.ReviewDecision(kind, "Too dear." if kind == "reject" else "")
        decisions.submit(review_queue(), run, claim, f"by {kind}", answer, now_ms())
        assert counts(judged)[0]["reviewed"] == reviewed
