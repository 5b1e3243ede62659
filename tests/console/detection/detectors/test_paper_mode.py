"""Paper mode on recorded replies: every reply is read as the reference code reads it, and scored as it scores it."""

import json
import math
from dataclasses import replace

import pytest

from console.detection.detectors import detector
from console.detection.detectors.shared.model_clients import Asking
from console.trajectory.checkpoints import CheckpointKind
from tests.console.detection.detectors.test_family import script
from tests.fakes.answers import Answer
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule

CRITERION = "The order is right when"


def one_of(judged, checkpoint, name, replies, **options):
    with serving(script(**replies)) as endpoint:
        (verdict,) = judged(endpoint, checkpoint, name, paper=True, **options)
    return verdict, endpoint


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("Verdict: Incorrect\nReason: the size.", 1.0),
        ("Verdict: Correct\nReason: all is there.", 0.0),
        ("I think so. Verdict: The order is Incorrect because of the size\nReason: size", 1.0),
        ("Verdict: Correct\nReason: nothing Incorrect here", 0.0),
        ("Verdict: incorrect\nReason: small letters are another word there", 0.0),
        ("I cannot tell.", 0.0),
        ("", 0.0),
    ],
)
def test_direct_looks_for_incorrect_behind_its_label_and_lets_pass_what_it_cannot_parse(shop, judged, reply, score):
    verdict, _ = one_of(judged, shop, "direct", {"verdict": reply})
    assert (verdict.score, verdict.unparsed) == (score, False)


def test_in_alfworld_the_second_labelled_line_is_the_verdict(chore, judged):
    for reply, score in (
        ("Status: Not completed\nVerdict: Incorrect\nReason: x", 1.0),
        ("Completion: done\nAnything: Correct\nWhy: x", 0.0),
        ("Verdict: Incorrect", 0.0),
    ):
        verdict, _ = one_of(judged, chore, "direct", {"verdict": reply})
        assert verdict.score == score, reply


@pytest.mark.parametrize(
    ("replies", "score"),
    [
        (["Verdict: Incorrect\nReason: a"] * 3 + ["Verdict: Correct\nReason: b"] * 2, 1.0),
        (["Verdict: Incorrect\nReason: a"] * 2 + ["Verdict: Correct\nReason: b"] * 3, 0.0),
        (["Verdict: Correct\nReason: b"] * 4 + ["no idea"], 1.0),
    ],
)
def test_self_consistency_is_a_majority_that_one_bad_sample_voids(shop, judged, replies, score):
    verdict, endpoint = one_of(judged, shop, "self-consistency", {"verdict": Answer(replies)})
    assert verdict.score == score
    assert endpoint.asks[0].body["temperature"] == 0.7


@pytest.mark.parametrize(
    ("text", "odds", "share"),
    [
        ("B. False", {"B": 0.8, "A": 0.15}, 0.8),
        ("A. True", {"A": 0.7, "B": 0.3}, 1 - 0.7),
        ("I say B", {"B": 0.6, "A": 0.4}, 0.6),
        ("Neither of them", {}, 0.5),
    ],
)
def test_token_probability_is_the_first_letters_own_and_no_more(shop, judged, text, odds, share):
    verdict, _ = one_of(judged, shop, "token-prob", {"letter": Answer([text], odds)})
    assert verdict.score == pytest.approx(share, abs=1e-6)
    entropy, _ = one_of(judged, shop, "token-entropy", {"letter": Answer([text], odds)})
    assert entropy.score == pytest.approx(-share * math.log2(share) - (1 - share) * math.log2(1 - share), abs=1e-6)


def test_of_a_letter_that_comes_twice_the_last_probability_counts(shop, judged):
    verdict, _ = one_of(judged, shop, "token-prob", {"letter": Answer(["B B"], {"B": 0.9, "A": 0.1})})
    again, _ = one_of(judged, shop, "token-prob", {"letter": Answer(["B\nB"], {"B": 0.9, "A": 0.1})})
    assert verdict.score == pytest.approx(0.9)
    assert again.score == pytest.approx(0.9)


def test_a_sure_answer_has_the_greatest_entropy(shop, judged):
    verdict, _ = one_of(judged, shop, "token-entropy", {"letter": Answer(["A. True"], {"A": 1.0})})
    assert verdict.score == 1.0


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("Step 1: 0.9\nStep 2: 0.5\nStep 3: 0.8", 1 - 0.36),
        ("Step 1: 0.9\nStep 2:0.8\nStep 3: 1", 1 - 0.9),
        ("Step 1: 0.9", 1 - 0.9),
        ("Step 1: 1.0.\nStep 2: 0.9", 1.0),
        ("Step 1-Probability: 0.9", 1.0),
        ("", 1.0),
    ],
)
def test_multi_step_takes_the_steps_that_match_and_asks_once(shop, judged, reply, score):
    verdict, endpoint = one_of(judged, shop, "multi-step", {"steps": reply})
    assert verdict.score == pytest.approx(score)
    assert endpoint.requests >= 1
    assert len({ask.body["max_tokens"] for ask in endpoint.asks}) == endpoint.requests


@pytest.mark.parametrize(
    ("task", "letter", "prob", "verb"),
    [
        ("Task: buy a lamp\nReason: r", Answer(["B. False"], {"B": 0.8, "A": 0.2}), 0.8, 1.0),
        ("Task: buy a lamp\nReason: r", Answer(["B"], {"B": 0.8, "A": 0.2}), 0.8, 0.0),
        ("buy a lamp\nsecond line\nReason: r", Answer(["A. True"], {"A": 0.9, "B": 0.1}), 0.1, 0.0),
        ("Task: buy a lamp\nReason: r", Answer(["hm"], {}), 0.5, 0.0),
        ("", Answer(["A. True"], {"A": 0.9, "B": 0.1}), 1.0, 0.0),
    ],
)
def test_inferact_reads_the_first_line_and_b_with_its_full_stop(shop, judged, task, letter, prob, verb):
    found, _ = one_of(judged, shop, "inferact-prob", {"task": task, "letter": letter})
    said, _ = one_of(judged, shop, "inferact-verb", {"task": task, "letter": letter})
    assert (found.score, said.score) == (pytest.approx(prob), verb)
    if task:
        assert found.inferred_task == "buy a lamp"


def test_progress_is_asked_at_the_end_of_a_chore_too(chore, judged):
    end = replace(chore, kind=CheckpointKind.END)
    replies = {"letter": Answer(["B. False"], {"B": 0.9}), "progress": Answer(["A. True"], {"A": 0.8})}
    found, endpoint = one_of(judged, end, "inferact-prob", replies)
    assert found.score == pytest.approx(0.2)
    assert endpoint.requests == 3


def test_the_rubric_goes_to_every_method_that_judges_its_inference_never_and_to_none_in_paper_mode(shop, judged):
    names = ("direct", "token-prob", "multi-step", "inferact-prob")
    for paper in (False, True):
        with serving(rule) as endpoint:
            judged(endpoint, shop, *names, paper=paper)
        judging = [ask.text for ask in endpoint.asks if "Work it out from the actions" not in ask.text]
        inferring = [ask.text for ask in endpoint.asks if "Work it out from the actions" in ask.text]
        assert len(judging) == 4
        assert [CRITERION in text for text in judging] == [not paper] * 4
        assert [CRITERION in text for text in inferring] == [False]


def test_the_thoughts_are_in_the_inference_where_the_reference_has_them(shop, judged):
    for environment, seen in (("hotpotqa", True), ("webshop", False)):
        with serving(rule) as endpoint:
            judged(endpoint, replace(shop, environment=environment), "inferact-prob", paper=True)
        assert ("I look for it." in endpoint.asks[0].text) is seen


def test_a_verdict_says_that_it_was_made_the_papers_way(shop):
    ours, theirs = (Asking("m", paper=paper).setup(detector("direct"), "webshop", 0) for paper in (False, True))
    assert ours.digest != theirs.digest
    assert json.dumps(ours.prompt_fingerprint) == json.dumps(theirs.prompt_fingerprint)
