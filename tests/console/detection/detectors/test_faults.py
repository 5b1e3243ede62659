"""Faulty answers of every kind: a verdict is that of a sound answer, or it flags, or there is none."""

from collections import Counter
from dataclasses import replace

import pytest

from console.detection.detectors import Verdict
from console.llm.errors import ModelError
from tests.fakes.endpoint import serving
from tests.fakes.judges import MISHAPS, mishap_prone, rule
from tests.sweeps import sweep

SEVEN = ("inferact-prob", "inferact-verb", "direct", "self-consistency", "token-prob", "token-entropy", "multi-step")
IMPATIENT = {"timeout_s": 0.3, "deadline_s": 2.0, "retries": 1}
RAMBLING = "rambling"
"""The test endpoint tells a probability only for the first letter, which is not the one that answers here."""
EXACT = [kind for kind in MISHAPS if kind != RAMBLING]


@sweep("kind", EXACT)
def test_no_kind_of_fault_makes_a_silent_approval(shop, chore, judged, kind):
    outcomes = Counter()
    for number, checkpoint in enumerate((shop, chore)):
        with serving(steady) as endpoint:
            sound = judged(endpoint, checkpoint, *SEVEN)
        with serving(mishap_prone(steady, share=0.3, seed=number, kinds=[kind])) as endpoint:
            found = judged(endpoint, checkpoint, *SEVEN, client=IMPATIENT, errors=True)
        for verdict, plain in zip(found, sound, strict=True):
            outcomes[outcome_of(verdict, plain)] += 1
    assert sum(outcomes.values()) == 14


def test_a_letter_amid_a_sentence_is_not_taken_for_the_answer(shop, chore, judged):
    names = ("inferact-prob", "inferact-verb", "direct", "token-prob", "multi-step")
    for checkpoint in (shop, chore):
        with serving(steady) as endpoint:
            sound = judged(endpoint, checkpoint, *names)
        with serving(mishap_prone(steady, share=1.0, kinds=[RAMBLING])) as endpoint:
            found = judged(endpoint, checkpoint, *names)
        assert [verdict.score > 0.5 for verdict in found] == [verdict.score > 0.5 for verdict in sound]
        assert not any(verdict.unparsed for verdict in found)


def test_with_a_third_of_all_kinds_every_checkpoint_ends_in_one_of_three_ways(shop, judged):
    outcomes = Counter()
    for number in range(8):
        checkpoint = replace(shop, instruction=f"white blackout shade number {number}")
        with serving(steady) as endpoint:
            sound = judged(endpoint, checkpoint, *SEVEN)
        with serving(mishap_prone(steady, share=0.3, seed=number, kinds=EXACT)) as endpoint:
            found = judged(endpoint, checkpoint, *SEVEN, client=IMPATIENT | {"retries": 0}, errors=True)
        outcomes.update(map(outcome_of, found, sound))
    assert set(outcomes) == {"as if nothing had been wrong", "flagged and marked", "a retryable error"}
    assert outcomes["as if nothing had been wrong"] > outcomes["flagged and marked"]


def steady(ask):
    """A judge whose answer does not depend on the form of its own earlier one."""
    questions = [message for message in ask.messages if message["role"] == "user"]
    return rule(replace(ask, body={**ask.body, "messages": questions}))


def outcome_of(verdict, plain):
    """Which of the three ways it ended; fails for any other."""
    if isinstance(verdict, ModelError):
        assert verdict.retryable
        return "a retryable error"
    assert isinstance(verdict, Verdict)
    if verdict.unparsed:
        assert verdict.score == 1.0
        return "flagged and marked"
    assert verdict.score == pytest.approx(plain.score)
    return "as if nothing had been wrong"
