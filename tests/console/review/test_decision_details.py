"""Marked steps, answers to questions and reason codes: stored with a decision, told to the agent, and exported."""

import json

import pytest

from console import runs
from console.database import database_url, now_ms, reading, review_queue, writing
from console.detection import batch
from console.environments import ENVIRONMENTS
from console.errors import BadInput
from console.review import decision_details as details
from console.review import decisions
from console.review.decision_details import MarkedStep
from console.review.decisions import ReviewDecision
from console.review.resolution import feedback_to_agent
from console.runs import audit_trail, export, ingest
from console.runs.audit_trail import AuditFilter
from console.trajectory.checkpoints import CheckpointKind
from storage import tables
from storage.tables import RunKind
from tests.logs import purchase, write_log
from tests.sweeps import sweep

ADA = "Ada"


@pytest.fixture
def claimed(tmp_path, data_dir):
    """The run of one purchase and Ada's claim on its item."""
    ingest.import_file(write_log(tmp_path / "k.jsonl", purchase(0, wrong=True)), "kettles", "auto", lambda _: None)
    runs.set_budget("kettles", "3")
    batch.detect("kettles", ["rules"])
    with reading() as session:
        run = runs.get(session, "kettles")
        claim = decisions.claim_next_item(review_queue(), session, run, ADA, now_ms())
    return run, claim


def submit(claimed, **fields):
    run, claim = claimed
    return decisions.submit(review_queue(), run, claim, ADA, ReviewDecision(**fields), now_ms())


def stored():
    with reading() as session:
        return session.get_one(tables.Decision, 1)


def exported(kind, tmp_path):
    path = tmp_path / f"{kind}.jsonl"
    export.export(database_url(), kind, "kettles", path)
    return [json.loads(line) for line in path.read_text().splitlines()]


def steps_of(claim):
    return decisions.checkpoint_of_claim(claim).steps


def test_a_marked_step_with_words_and_a_reason_reaches_the_agent_and_the_files(claimed, tmp_path):
    _run, claim = claimed
    action, seen = steps_of(claim)[0].action, steps_of(claim)[0].observation
    quote = " ".join(seen.split())[2:9].strip()
    marks = (MarkedStep(1, "forged", f"  {quote}\n"),)
    submit(claimed, decision="reject", reason_codes=("wrong-item",), marked_steps=marks)
    assert feedback_to_agent(stored()) == f"Step 1, `{action}`, “{quote}”: wrong item."
    (row,) = exported("decisions", tmp_path)
    assert row["marked_steps"] == [{"step": 1, "action": action, "quote": quote}]
    assert list(row)[-5:] == ["marked_steps", "answers", "known_answer", "reasons_sent", "next_trial_score"]
    assert row["feedback_type"] == "nl"
    with reading() as session:
        assert details.list_marks(session, claim.trajectory_id) == {1: f"marked by Ada: “{quote}”"}


def test_marks_alone_say_that_the_steps_are_wrong_and_a_foreign_quote_is_left_out(claimed):
    _run, claim = claimed
    last = len(steps_of(claim)) + 1
    marks = (MarkedStep(last, quote="not in the step at all"), MarkedStep(1))
    submit(claimed, decision="reject", feedback_text="Look again.", marked_steps=marks)
    first, pending = steps_of(claim)[0].action, decisions.pending_action(claim)
    said = f"Step 1, `{first}`; step {last}, `{pending}`: these steps are wrong. Look again."
    assert feedback_to_agent(stored()) == said


@pytest.mark.parametrize(
    ("decision", "step", "said"),
    [
        ("approve", 1, "Remove the marks to approve"),
        ("reject", 0, "Step 0 does not exist"),
        ("reject", 99, "Step 99 does not exist"),
    ],
)
def test_a_mark_that_cannot_be_is_refused(claimed, decision, step, said):
    with pytest.raises(BadInput, match=said):
        submit(claimed, decision=decision, marked_steps=(MarkedStep(step),))


def test_a_binary_run_takes_no_marks(claimed):
    run, claim = claimed
    run.feedback_mode = "binary"
    with pytest.raises(BadInput, match="binary feedback only"):
        submit((run, claim), decision="reject", marked_steps=(MarkedStep(1),))


def test_a_study_takes_no_marks_because_no_condition_names_them(claimed):
    run, claim = claimed
    run.study_id = 1
    with pytest.raises(BadInput, match="Steps cannot be marked in a study"):
        submit((run, claim), decision="reject", marked_steps=(MarkedStep(1),))


def test_an_undone_decision_keeps_its_marks_and_answers_as_a_draft(claimed):
    run, claim = claimed
    with writing() as session:
        details.set_questions(session, runs.get(session, "kettles"), ["How severe?: 1-5"], now_ms())
        run = runs.get(session, "kettles")
        session.expunge(run)
    submit((run, claim), decision="reject", marked_steps=(MarkedStep(1),), answers={"how-severe": 4})
    review_queue().undo(item_id=claim.item_id, reviewer=ADA, now_ms=now_ms(), lease_ms=60_000)
    draft = review_queue().draft(item_id=claim.item_id, reviewer=ADA)
    assert [one.step for one in details.read_marks(draft.marked_steps)] == [1]
    assert details.read_answers(draft.answers) == {"how-severe": 4}


def ask(*lines):
    with writing() as session:
        run = runs.get(session, "kettles")
        details.set_questions(session, run, lines, now_ms())
        session.flush()
        session.expunge(run)
    return run


def test_answers_are_one_column_and_a_tidy_table(claimed, tmp_path):
    run = ask("How severe is it?: 1-5", "Where does it start?: search, last step")
    answers = {"where-does-it-start": "last step", "how-severe-is-it": 2}
    submit((run, claimed[1]), decision="reject", answers=answers)
    (row,) = exported("decisions", tmp_path)
    assert row["answers"] == {"how-severe-is-it": 2, "where-does-it-start": "last step"}
    tidy = exported("answers", tmp_path)
    told = [(one["question"], one["question_text"], one["question_kind"], one["answer"]) for one in tidy]
    assert told == [
        ("how-severe-is-it", "How severe is it?", "scale", "2"),
        ("where-does-it-start", "Where does it start?", "choice", "last step"),
    ]
    assert {one["decision_id"] for one in tidy} == {row["decision_id"]}
    # The agent does not get them.
    assert feedback_to_agent(stored()) == ""


@pytest.mark.parametrize("answers", [{"how-severe": 6}, {"how-severe": "2"}, {"unknown": 1}])
def test_an_answer_that_is_not_offered_is_refused(claimed, answers):
    run = ask("How severe?: 1-5")
    with pytest.raises(BadInput, match="not an answer to the questions"):
        submit((run, claimed[1]), decision="reject", answers=answers)


@sweep(
    ("lines", "said"),
    [
        (["How severe?"], "not a valid question"),
        (["How severe?: 5-1"], "not a valid question"),
        (["How severe?: 1-40"], "not a valid question"),
        (["One?: yes"], "not a valid question"),
        ([": yes, no"], "not a valid question"),
        (["A?: yes, no", "a: 1-3"], "the same text"),
        ([f"Q{n}: yes, no" for n in range(5)], "too many"),
        (["A?: yes, " + "x" * 41], "too long"),
    ],
)
def test_an_unusable_question_is_named(claimed, lines, said):
    with pytest.raises(BadInput, match=said):
        ask(*lines)


def test_a_question_is_read_back_from_its_line(claimed):
    lines = ["How severe is it?: 0-10", "Which: wrong item: red, blue"]
    assert [one.line for one in details.list_questions(ask(*lines))] == lines


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_each_environment_has_five_to_seven_reasons_that_read_back(name):
    found = details.get_judging(name)
    assert 5 <= len(found.reasons) <= details.MOST_REASONS
    assert found.wrong.endswith(".")
    assert [details.reason_text(details.reason_code(words)) for words in found.reasons] == list(found.reasons)


def test_the_agent_reads_reasons_as_sentences_before_the_words():
    rejection = tables.Decision(reason_codes="wrong-option over-the-limit", feedback_text=" Take the red one. ")
    assert feedback_to_agent(rejection) == "Wrong option. Over the limit. Take the red one."
    assert feedback_to_agent(tables.Decision(reason_codes="", feedback_text="")) == ""


def test_a_run_has_reasons_of_its_own_and_none_in_binary_mode(data_dir):
    with writing() as session:
        run = runs.create(session, "shop", RunKind.LIVE, now_ms())
        plain = runs.create(session, "plain", RunKind.LIVE, now_ms(), feedback_mode="binary")
        assert details.list_reasons(run, "webshop") == details.get_judging("webshop").reasons
        assert details.list_reasons(plain, "webshop") == ()
        details.set_reasons(session, run, ["not local", "", "not local", "too far"], now_ms())
    with reading() as session:
        assert details.list_reasons(runs.get(session, "shop"), "webshop") == ("not local", "too far")
        (told,) = audit_trail.list_entries(session, AuditFilter(kind="reasons set"))
    assert audit_trail.entry_sentence(told) == "console set the reasons of “shop” from nothing to not local, too far."


@pytest.mark.parametrize("wanted", [[f"reason {n}" for n in range(8)], ["a,b"], ["<b>"], ["x" * 41]])
def test_reasons_that_could_not_be_read_back_are_refused(data_dir, wanted):
    with writing() as session:
        run = runs.create(session, "shop", RunKind.LIVE, now_ms())
        with pytest.raises(BadInput):
            details.set_reasons(session, run, wanted, now_ms())


@pytest.mark.parametrize(
    ("decision", "mode", "said"),
    [("reject", "binary", "binary feedback only"), ("approve", "nl", "Remove the reasons to approve")],
)
def test_reasons_that_make_no_sense_are_refused(decision, mode, said):
    with pytest.raises(BadInput, match=said):
        decisions.check_decision(
            decisions.ReviewDecision(decision, reason_codes=("policy",)), CheckpointKind.ACTION, mode
        )


def test_reasons_alone_are_words_enough():
    answer = decisions.ReviewDecision("respond", label="misaligned", reason_codes=("Wrong  option", "wrong-option"))
    assert decisions.check_decision(answer, CheckpointKind.ACTION, "nl").reason_codes == ("wrong-option",)
