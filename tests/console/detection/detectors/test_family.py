"""The detectors that ask models, against a scripted endpoint: what they ask, how they score, and what they tell."""

import json
import math
from dataclasses import replace

import pytest

from console.detection.detectors import DETECTORS
from console.trajectory import Step
from tests.fakes.answers import Answer, judging
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule
from tests.sweeps import sweep

SEVEN = ("direct", "self-consistency", "token-prob", "token-entropy", "multi-step", "inferact-verb", "inferact-prob")
# `requirements` has questions of its own, and its own tests.
MODELS = [name for name, found in DETECTORS.items() if found.ask and name != "requirements"]


def script(**answers):
    """An endpoint that knows one answer for each kind of question: task, letter, verdict, steps, progress."""

    def answer(ask):
        question = ask.last
        if "need not be finished yet" in question:
            return answers["progress"]
        if "Step N:" in question:
            return answers["steps"]
        if "Task: the task" in question:
            return answers.get("task", "Task: buy a roller shade\nReason: it is what the page shows.")
        return answers["verdict"] if "Verdict:" in question else answers["letter"]

    return answer


def test_the_panel_of_seven_asks_six_questions_and_inferact_two(shop, judged):
    with serving(rule) as endpoint:
        verdicts = judged(endpoint, shop, *SEVEN)
        assert (endpoint.requests, endpoint.completions) == (6, 10)
        endpoint.reset()
        judged(endpoint, shop, "inferact-verb", "inferact-prob")
        assert endpoint.requests == 2
    assert len(verdicts) == 7
    assert all(0 <= verdict.score <= 1 and not verdict.unparsed for verdict in verdicts)


def test_all_views_of_multi_step_share_one_request(shop, judged):
    with serving(script(steps="Step 1: 0.9\nStep 2: 0.5\nStep 3: 0.8\nJustification: the size.")) as endpoint:
        names = ("multi-step", "multi-step-min", "multi-step-max", "multi-step-mean")
        found = judged(endpoint, shop, *names)
        assert endpoint.requests == 1
    assert [verdict.score for verdict in found] == pytest.approx([1 - 0.36, 0.5, 0.1, 1 - 2.2 / 3])
    assert found[0].probability == found[0].score
    assert found[0].rationale == "Step 2 is the least likely to be right (0.50).\nthe size."


@sweep("name", MODELS)
@pytest.mark.parametrize("environment", ["webshop", "hotpotqa", "alfworld", "generic", "tau-bench"])
def test_every_detector_judges_in_every_environment(shop, judged, name, environment):
    with serving(rule) as endpoint:
        (verdict,) = judged(endpoint, replace(shop, environment=environment), name)
    assert 0 <= verdict.score <= 1
    assert not verdict.unparsed
    assert verdict.rationale
    assert json.loads(verdict.raw)[0]["texts"]


def test_the_record_comes_first_and_is_the_same_for_all_so_that_prefixes_are_cached(shop, judged):
    with serving(rule) as endpoint:
        judged(endpoint, shop, *SEVEN)
        texts = [ask.messages[0]["content"] for ask in endpoint.asks]
    ends = {text[: text.index(">>>")] for text in texts}
    assert len(ends) == 2
    chain = [text for text in texts if "Thought:" not in text]
    assert len(chain) == 2
    assert len({text[: text.index(">>>")] for text in chain}) == 1
    assert all(text.index("<<<RECORD") < 400 for text in texts)


def test_the_inference_never_sees_the_users_words(shop, judged):
    with serving(rule) as endpoint:
        judged(endpoint, shop, "inferact-prob")
        first, second = endpoint.asks
    assert (first.body["model"], second.body["model"]) == ("small", "large")
    assert "66 x 66" not in first.text
    assert "white blackout" not in first.text
    assert "66 x 66" in second.text


def test_direct_scores_one_for_incorrect(shop, judged):
    for word, score in (("Incorrect", 1.0), ("Correct", 0.0)):
        with serving(script(verdict=f"Verdict: {word}\nReason: the size.")) as endpoint:
            (verdict,) = judged(endpoint, shop, "direct")
            body = endpoint.asks[0].body
        assert (verdict.score, verdict.rationale, verdict.probability) == (score, "the size.", None)
        assert body["temperature"] == 0


def test_self_consistency_is_one_request_and_its_share_of_incorrect(shop, judged):
    texts = ["Verdict: Incorrect\nReason: size."] * 3 + ["Verdict: Correct", "well"]
    with serving(script(verdict=Answer(texts))) as endpoint:
        (verdict,) = judged(endpoint, shop, "self-consistency")
        assert endpoint.requests == 1
        body = endpoint.asks[0].body
    assert (body["n"], body["temperature"], body["seed"]) == (5, 0.7, 7)
    assert verdict.score == verdict.probability == 0.75
    assert verdict.parameters["unreadable_samples"] == 1


def test_a_tie_of_samples_flags_and_equal_samples_are_told(shop, judged):
    tie = ["Verdict: Incorrect", "Verdict: Incorrect", "Verdict: Correct", "Verdict: Correct", "?"]
    with serving(script(verdict=Answer(tie))) as endpoint:
        (verdict,) = judged(endpoint, shop, "self-consistency")
    assert verdict.score == pytest.approx(0.6)
    with serving(script(verdict="Verdict: Correct")) as endpoint:
        (verdict,) = judged(endpoint, shop, "self-consistency")
    assert verdict.parameters["identical_samples"] is True


def test_token_methods_share_one_request_and_read_the_letters_probability(shop, judged):
    with serving(script(letter=judging(0.8))) as endpoint:
        prob, entropy = judged(endpoint, shop, "token-prob", "token-entropy")
        assert endpoint.requests == 1
        body = endpoint.asks[0].body
    assert body["logprobs"] is True
    assert body["top_logprobs"] == 5
    assert prob.score == prob.probability == pytest.approx(0.8)
    assert entropy.score == pytest.approx(-0.8 * math.log2(0.8) - 0.2 * math.log2(0.2))
    assert entropy.probability is None
    assert prob.parameters["basis"] == "top_logprobs"


def test_a_sure_answer_has_no_entropy_whichever_it_is(shop, judged):
    for share in (0.0, 1.0):
        with serving(script(letter=judging(share))) as endpoint:
            (verdict,) = judged(endpoint, shop, "token-entropy")
        assert verdict.score == pytest.approx(0.0, abs=1e-9)


def test_verb_and_prob_are_views_of_one_run_with_the_inferred_task(shop, judged):
    with serving(script(letter=judging(0.7))) as endpoint:
        verb, prob = judged(endpoint, shop, "inferact-verb", "inferact-prob")
        assert endpoint.requests == 2
    assert (verb.score, prob.score) == (1.0, pytest.approx(0.7))
    assert verb.inferred_task == prob.inferred_task == "buy a roller shade"
    assert prob.rationale == "The actions look like this task: buy a roller shade\nit is what the page shows."
    assert verb.probability is None


def test_midway_a_b_is_followed_by_the_question_about_progress_whose_answer_counts(chore, judged):
    with serving(script(letter=judging(0.9), progress=judging(0.1))) as endpoint:
        verb, prob, token = judged(endpoint, chore, "inferact-verb", "inferact-prob", "token-prob")
        assert endpoint.requests == 5
        further = [ask for ask in endpoint.asks if len(ask.messages) == 3]
    assert (verb.score, prob.score, token.score) == (0.0, pytest.approx(0.1), pytest.approx(0.1))
    assert [message["role"] for message in further[0].messages] == ["user", "assistant", "user"]
    assert prob.spent.requests == 3


def test_midway_an_a_needs_no_further_question_and_a_terminal_action_never_gets_one(chore, shop, judged):
    with serving(script(letter=judging(0.2))) as endpoint:
        judged(endpoint, chore, "inferact-prob")
        assert endpoint.requests == 2
    with serving(script(letter=judging(0.9))) as endpoint:
        judged(endpoint, shop, "inferact-prob", "token-prob")
        assert endpoint.requests == 3


def test_swapped_labels_ask_both_ways_round_and_take_the_mean(shop, judged):
    def biased(ask):
        if "Task: the task" in ask.last:
            return "Task: buy a roller shade\nReason: seen."
        return Answer(["A"], {"A": 0.8, "B": 0.2})

    with serving(biased) as endpoint:
        verb, prob = judged(endpoint, shop, "inferact-verb", "inferact-prob", swap_labels=True)
        assert endpoint.requests == 3
        ends = [ask.last[ask.last.index("A. ") :] for ask in endpoint.asks[1:]]
    assert {end.split("\n")[0] for end in ends} == {"A. true", "A. false"}
    assert prob.score == pytest.approx(0.5)
    assert verb.score == 1.0


def test_midway_the_further_question_is_swapped_in_its_own_chat_too(chore, judged):
    def biased(ask):
        if "Task: the task" in ask.last:
            return "Task: failed to complete a chore\nReason: seen."
        return Answer(["B"], {"A": 0.3, "B": 0.7})

    with serving(biased) as endpoint:
        (prob,) = judged(endpoint, chore, "inferact-prob", swap_labels=True)
        assert endpoint.requests == 5
        further = [ask.messages for ask in endpoint.asks if len(ask.messages) == 3]
    for first, _, last in further:
        assert ("A. false" in first["content"]) == ("A. false" in last["content"])
    assert prob.score == pytest.approx(0.5)


def test_without_log_probabilities_the_share_of_sampled_answers_counts_and_the_verdict_says_so(shop, judged):
    def answer(ask):
        return Answer(["B"]) if int(ask.body.get("n") or 1) == 1 else Answer(["B", "A", "B", "B", "A"])

    with serving(answer, offers=("n",)) as endpoint:
        (verdict,) = judged(endpoint, shop, "token-prob")
        assert endpoint.requests == 2
    assert verdict.score == pytest.approx(0.6)
    assert verdict.parameters["basis"] == "samples"
    assert verdict.parameters["not_offered"] == ["logprobs"]


def test_a_list_of_steps_with_a_gap_is_asked_for_once_more(shop, judged):
    replies = iter(["Step 1: 0.9", "Step 1: 0.9\nStep 2: 1\nStep 3: 0.5"])
    with serving(lambda ask: next(replies)) as endpoint:
        (verdict,) = judged(endpoint, shop, "multi-step")
        assert endpoint.requests == 2
    assert verdict.score == pytest.approx(0.55)


UNREADABLE = {
    "another language": Answer(["Die Antwort lautet: vermutlich richtig."]),
    "a refusal": Answer(["x"], refusal="I cannot help with that request."),
    "a refusal in words": Answer(["I'm sorry, but I can't help with that."]),
    "nothing": Answer([""]),
    "both": Answer(["A. true\nB. false\nVerdict: Correct\nVerdict: Incorrect"]),
}


@sweep("name", MODELS)
@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_is_flagged_and_marked(shop, judged, name, what):
    with serving(lambda ask: UNREADABLE[what]) as endpoint:
        (verdict,) = judged(endpoint, shop, name)
    assert verdict.unparsed
    assert verdict.score == 1.0
    assert verdict.probability is None
    assert "a person has to decide" in verdict.rationale


def test_a_task_without_a_readable_comparison_is_flagged_and_still_shown(shop, judged):
    with serving(script(letter="I cannot decide.")) as endpoint:
        (verdict,) = judged(endpoint, shop, "inferact-verb")
    assert verdict.unparsed
    assert verdict.inferred_task == "buy a roller shade"


def test_formatted_and_rambling_answers_are_read(shop, judged):
    odds = {"A": 0.9, "B": 0.1}
    for text in ("**A. True**", "At first I thought B. False, yet it is not.\nA. True", "Answer: A"):
        with serving(script(letter=Answer([text], odds))) as endpoint:
            verb, _ = judged(endpoint, shop, "inferact-verb", "inferact-prob")
        assert (verb.score, verb.unparsed) == (0.0, False)


def test_no_prompt_of_a_detector_is_longer_than_it_has_to_be(shop, judged):
    page = Step("", "click[B0001]", "Roller shade, plain and long in its description. " * 60)
    long = replace(shop, steps=(page, *shop.steps), index=3)
    prompt_tokens = {}
    for name in ("direct", "self-consistency", "inferact-prob"):
        with serving(rule) as endpoint:
            (verdict,) = judged(endpoint, long, name)
        prompt_tokens[name] = verdict.spent.prompt_tokens
    assert prompt_tokens["self-consistency"] <= 1.05 * prompt_tokens["direct"]
    assert prompt_tokens["inferact-prob"] <= 2.1 * prompt_tokens["direct"]
