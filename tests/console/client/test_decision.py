"""The sentences for an agent's model."""

import pytest
from inferact_client.decision import CONSOLE_SAYS, Decision

from console.gate.resolve import WORDS
from console.gate.types import Reason


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
