"""Detectors before endpoints that answer as the large providers do: every verdict can be read, and says its lacks."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.fakes.answers import Raw
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule
from tests.fakes.providers import PROVIDERS, provider
from tests.sweeps import sweep

SEVEN = ("inferact-prob", "inferact-verb", "direct", "self-consistency", "token-prob", "token-entropy", "multi-step")


def steady(ask):
    """A judge whose answer depends on what it is asked first alone, whatever form the request has."""
    return rule(replace(ask, body={"messages": [one for one in ask.messages if one["role"] == "user"]}))


@sweep("name", PROVIDERS, kept=4)
def test_every_provider_serves_every_detector(shop, chore, judged, name):
    for checkpoint in (shop, chore):
        with serving(provider(name, steady), offers=PROVIDERS[name][2]) as endpoint:
            verdicts = judged(endpoint, checkpoint, *SEVEN)
        assert not [judge for judge, verdict in zip(SEVEN, verdicts, strict=True) if verdict.unparsed]
        assert all(verdict.rationale and verdict.raw for verdict in verdicts)


@sweep("name", PROVIDERS, kept=4)
def test_what_the_words_say_does_not_depend_on_the_provider(shop, judged, name):
    verbal = ("inferact-verb", "direct", "multi-step")
    with serving(steady) as endpoint:
        plain = judged(endpoint, shop, *verbal)
    with serving(provider(name, steady), offers=PROVIDERS[name][2]) as endpoint:
        found = judged(endpoint, shop, *verbal)
    assert [verdict.score for verdict in found] == pytest.approx([verdict.score for verdict in plain])


def test_without_log_probabilities_samples_take_their_place_and_the_verdict_says_so(shop, judged):
    name = "OpenAI, reasoning"
    with serving(provider(name, steady), offers=PROVIDERS[name][2]) as endpoint:
        (verdict,) = judged(endpoint, shop, "token-prob")
        refused = Counter(
            next(iter(sorted(ask.body.keys() & {"max_tokens", "logprobs"})), "taken") for ask in endpoint.asks
        )
    assert verdict.parameters["basis"] == "samples"
    assert {"logprobs", "n"} <= set(verdict.parameters["not_offered"])
    assert refused["taken"] >= 6


def test_a_call_of_a_tool_in_place_of_words_flags_and_says_so(shop, judged):
    call = {"id": "c", "type": "function", "function": {"name": "judge", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    with serving(lambda ask: Raw({"object": "chat.completion", "choices": [choice], "usage": {}})) as endpoint:
        verdicts = judged(endpoint, shop, *SEVEN)
    assert all(verdict.unparsed and verdict.score == 1.0 for verdict in verdicts)
    assert all("gave no verdict (tool_calls)" in verdict.rationale for verdict in verdicts)
