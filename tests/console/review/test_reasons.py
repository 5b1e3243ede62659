"""Reason codes: a few for each environment, of a run's own where it has some, and what the agent reads of them."""

import pytest

from console import runs
from console.database import now_ms, reading, writing
from console.environments import ENVIRONMENTS
from console.errors import BadInput
from console.review import decisions, reasons
from console.review.resolution import feedback_to_agent
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.trajectory.checkpoints import CheckpointKind
from storage import tables
from storage.tables import RunKind


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_each_environment_has_five_to_seven_reasons_that_read_back(name):
    found = reasons.get_judging(name)
    assert 5 <= len(found.reasons) <= reasons.MOST
    assert found.wrong.endswith(".")
    assert [reasons.reason_text(reasons.reason_code(words)) for words in found.reasons] == list(found.reasons)


def test_the_agent_reads_reasons_as_sentences_before_the_words():
    rejection = tables.Decision(reason_codes="wrong-option over-the-limit", feedback_text=" Take the red one. ")
    assert feedback_to_agent(rejection) == "Wrong option. Over the limit. Take the red one."
    assert feedback_to_agent(tables.Decision(reason_codes="", feedback_text="")) == ""


def test_a_run_has_reasons_of_its_own_and_none_in_binary_mode(data_dir):
    with writing() as session:
        run = runs.create(session, "shop", RunKind.LIVE, now_ms())
        plain = runs.create(session, "plain", RunKind.LIVE, now_ms(), feedback_mode="binary")
        assert reasons.list_reasons(run, "webshop") == reasons.get_judging("webshop").reasons
        assert reasons.list_reasons(plain, "webshop") == ()
        reasons.set_reasons(session, run, ["not local", "", "not local", "too far"], now_ms())
    with reading() as session:
        assert reasons.list_reasons(runs.get(session, "shop"), "webshop") == ("not local", "too far")
        (told,) = audit_trail.list_entries(session, AuditFilter(kind="reasons set"))
    assert audit_trail.entry_sentence(told) == "console set the reasons of shop from nothing to not local, too far."


@pytest.mark.parametrize("wanted", [[f"reason {n}" for n in range(8)], ["a,b"], ["<b>"], ["x" * 41]])
def test_reasons_that_could_not_be_read_back_are_refused(data_dir, wanted):
    with writing() as session:
        run = runs.create(session, "shop", RunKind.LIVE, now_ms())
        with pytest.raises(BadInput):
            reasons.set_reasons(session, run, wanted, now_ms())


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
