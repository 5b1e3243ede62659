"""The sentences for an agent's model."""

import pytest
from inferact_client.decision import CONSOLE_SAYS, Decision

from console.gate.request import Reason
from console.gate.resolve import WORDS


@pytest.mark.parametrize("reason", [Reason.TIMEOUT, Reason.BUDGET_SPENT, Reason.CANCELLED, Reason.DETECTOR_FAILED])
def test_message_does_not_repeat_what_the_console_says_without_feedback(reason):
    message = Decision(False, "pay()", WORDS[reason], str(reason)).message
    assert WORDS[reason] in CONSOLE_SAYS
    assert WORDS[reason] not in message
    assert message == Decision(False, "pay()", "", str(reason)).message


def test_message_keeps_what_is_added_to_the_console_s_sentence():
    said = Decision(False, "pay()", f"{WORDS[Reason.DENIED]} Too much.", "denied").message
    assert said == "A rule of the policy denies this call, so it did not run. No person looked at it. Too much."
    assert Decision(False, "pay()", WORDS[Reason.TIMEOUT], "rejected").message.endswith(WORDS[Reason.TIMEOUT])


@pytest.mark.parametrize("reason", [Reason.REJECTED, Reason.RESPONDED])
def test_reviewers_without_words_say_nothing(reason):
    message = Decision(False, "pay()", WORDS[reason], str(reason)).message
    assert message == Decision(False, "pay()", "", str(reason)).message
    assert "says" not in message


def test_a_call_that_began_before_is_told_once_what_to_do():
    message = Decision(False, "pay()", WORDS[Reason.ALREADY_HANDED_OUT], "already_handed_out").message
    assert (message.count("Find out"), message.count("task_id")) == (1, 1)


def test_a_rejection_that_is_repeated_says_so_once_and_keeps_the_words():
    before = "This action was already rejected in this task. Order 12."
    message = Decision(False, "pay()", before, "already_rejected").message
    assert message.endswith("so it did not run. The reviewer says: Order 12.")
    assert "already rejected" not in message
