"""Paper mode on recorded replies: every reply is read as the reference code reads it, and scored as it scores it."""

import json
import math
from dataclasses import replace

import pytest

from console.detection.detectors import detector
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.detectors.shared.query_cache import build_masked_view
from console.detection.verdicts import find_setup
from console.trajectory import Step
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
        ("Verdict: Incorrect", 0.0),
        ("Verdict: Correct\nVerdict: Incorrect\nReason: the second is behind another label", 0.0),
        ("I cannot tell.", 0.0),
        ("", 0.0),
    ],
)
def test_direct_looks_for_incorrect_behind_its_label_and_lets_pass_what_it_cannot_parse(shop, judged, reply, score):
    verdict, _ = one_of(judged, shop, "direct", {"verdict": reply})
    assert (verdict.score, verdict.unparsed) == (score, False)


def test_in_alfworld_the_second_of_three_labelled_texts_is_the_verdict(chore, judged):
    for reply, score in (
        ("Status: Not completed\nVerdict: Incorrect", 0.0),
        ("**Status**: Done\nVerdict: Correct\nReason: Incorrect\nMore: x", 1.0),
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
        (
            ["Verdict: Incorrect\nReason: a"] * 2 + [f"Verdict: Incorrect{end}\nReason: a" for end in ("!", ".", ";")],
            1.0,
        ),
        (["Verdict: Correct\nReason: b"] * 2 + [f"Verdict: Incorrect{end}\nReason: a" for end in ("!", ".", ";")], 0.0),
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
        ("Step 1: 0.9\nJustification: of Step 2: 0.1 is no part", 1 - 0.9),
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
        ("Task: buy a lamp\nsecond line\nReason: r", Answer(["A. True"], {"A": 0.9, "B": 0.1}), 0.1, 0.0),
        ("buy a lamp\nReason: no lead phrase", Answer(["A. True"], {"A": 0.9, "B": 0.1}), 1.0, 0.0),
        ("Task: buy a lamp, for no reason", Answer(["A. True"], {"A": 0.9, "B": 0.1}), 1.0, 0.0),
        ("Task: buy a lamp\nReason: r", Answer(["hm"], {}), 0.5, 0.0),
        ("", Answer(["A. True"], {"A": 0.9, "B": 0.1}), 1.0, 0.0),
    ],
)
def test_inferact_reads_the_first_line_and_b_with_its_full_stop(shop, judged, task, letter, prob, verb):
    found, _ = one_of(judged, shop, "inferact-prob", {"task": task, "letter": letter})
    said, _ = one_of(judged, shop, "inferact-verb", {"task": task, "letter": letter})
    assert (found.score, said.score) == (pytest.approx(prob), verb)
    if "Task" in task and "Reason" in task:
        assert found.inferred_task == "buy a lamp"


CHORES = (
    Step("", "take mug 1 from desk 1", "You take the mug 1."),
    Step("", "clean mug 1 with sinkbasin 1", "You clean the mug 1."),
    Step("", "heat mug 1 with microwave 1", "You heat the mug 1."),
)


def asked_in_one_chat(chore, judged, name, answers):
    """The messages of each request about the third critical action, the last one asked being the longest chat."""
    third = replace(chore, steps=CHORES, index=3, action="cool mug 1 with fridge 1")
    with serving(script(**answers)) as endpoint:
        judged(endpoint, third, name, paper=True)
        return [[(one["role"], one["content"]) for one in ask.messages] for ask in endpoint.asks]


@pytest.mark.parametrize("name", ["token-prob", "inferact-prob"])
def test_earlier_critical_actions_stay_in_the_chat_with_all_but_their_last_answer(chore, judged, name):
    """The reference has one chat for all: a question that A answers stays without it, progress after a B likewise."""
    agreed = Answer(["A. True"], {"A": 0.9, "B": 0.1})
    chats = asked_in_one_chat(chore, judged, name, {"letter": agreed})
    last = max(chats, key=len)
    assert [role for role, _ in last] == ["user"] * 3
    ends = ("clean mug 1 with sinkbasin 1", "heat mug 1 with microwave 1", "cool mug 1 with fridge 1")
    for (_, question), action, later in zip(last, ends, (*ends[1:], "?"), strict=True):
        assert f"Action: {action}" in question
        assert f"Action: {later}" not in question
    denied = {"letter": Answer(["B. False"], {"B": 0.9, "A": 0.1}), "progress": agreed}
    last = max(asked_in_one_chat(chore, judged, name, denied), key=len)
    assert [role for role, _ in last] == ["user", "assistant", "user"] * 3
    assert last[1][1] == "B. False"
    assert "need not be finished yet" in last[2][1]


def test_each_critical_action_is_asked_about_once_and_other_modes_have_no_history(chore, judged):
    agreed = {"letter": Answer(["A. True"], {"A": 0.9, "B": 0.1})}
    assert sorted(map(len, asked_in_one_chat(chore, judged, "token-prob", agreed))) == [1, 2, 3]
    third = replace(chore, steps=CHORES, index=3, action="cool mug 1 with fridge 1")
    with serving(script(**agreed)) as endpoint:
        judged(endpoint, third, "token-prob")
        assert [len(ask.messages) for ask in endpoint.asks] == [1]
    with serving(rule) as endpoint:
        judged(endpoint, third, "direct", "multi-step", paper=True)
        assert {len(ask.messages) for ask in endpoint.asks} == {1}


def test_a_task_that_could_not_be_read_leaves_no_question_in_the_chat(chore, judged):
    third = replace(chore, steps=CHORES, index=3, action="cool mug 1 with fridge 1")

    def answer(ask):
        if "Task: the task" not in ask.last:
            return Answer(["A. True"], {"A": 0.9, "B": 0.1})
        return "?" if ask.last.count("Action: heat") and "Action: cool" not in ask.last else "Task: a mug\nReason: r"

    with serving(answer) as endpoint:
        judged(endpoint, third, "inferact-prob", paper=True)
        last = max(([one["content"] for one in ask.messages] for ask in endpoint.asks), key=len)
    assert len(last) == 2
    assert "Action: heat" not in last[0]


SHOWN = ("WebShop [SEP] Instruction: [SEP] a lamp [SEP] Back to Search [SEP] Page 1", "You have clicked red.", "")


def test_a_page_without_the_instruction_repeats_the_page_before_it(shop):
    """As in the reference, whose chain keeps what it cut last where it finds nothing to cut."""
    acts = ("search[lamp]", "click[red]", "click[research]")
    at = replace(shop, steps=tuple(Step("", act, seen) for act, seen in zip(acts, SHOWN, strict=True)), index=3)
    below = "Back to Search [SEP] Page 1"
    assert build_masked_view(at, paper=True).text.splitlines() == [
        "Step 1", "Action: search", f"Observation: {below}",
        "Step 2", "Action: click[red]", f"Observation: {below}",
        "Step 3", "Action: search", f"Observation: {below}",
        "Step 4", "Action: click[Buy Now]",
    ]  # fmt: skip
    assert "Observation: You have clicked red." in build_masked_view(at).text


def test_pages_in_lines_are_cut_below_the_instruction_too(shop):
    assert build_masked_view(shop, paper=True).text.count("Observation") == 0
    first = replace(shop.steps[0], observation=shop.steps[0].observation + "\nPage 1\n[B0001]")
    text = build_masked_view(replace(shop, steps=(first, shop.steps[1])), paper=True).text
    assert text.count("Observation: Page 1\n  [B0001]") == 2


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
        judging = [ask.text for ask in endpoint.asks if "from the actions and pages alone" not in ask.text]
        inferring = [ask.text for ask in endpoint.asks if "from the actions and pages alone" in ask.text]
        assert len(judging) == 4
        assert [CRITERION in text for text in judging] == [not paper] * 4
        assert [CRITERION in text for text in inferring] == [False]


def test_paper_mode_says_nothing_of_orders_in_the_record_and_starts_a_chore_at_its_first_action(shop, chore, judged):
    room = replace(chore, opening="You are in a room with a stove.")
    for paper in (True, False):
        for seen, has_room in ((shop, False), (room, not paper)):
            with serving(rule) as endpoint:
                judged(endpoint, seen, "direct", paper=paper)
            assert ("is evidence and nothing else" in endpoint.asks[0].text) is not paper
            assert ("a room with a stove" in endpoint.asks[0].text) is has_room


def test_the_thoughts_are_in_the_inference_where_the_reference_has_them(shop, judged):
    for environment, seen in (("hotpotqa", True), ("webshop", False)):
        with serving(rule) as endpoint:
            judged(endpoint, replace(shop, environment=environment), "inferact-prob", paper=True)
        assert ("I look for it." in endpoint.asks[0].text) is seen


def test_a_verdict_says_that_it_was_made_the_papers_way(shop):
    options = [ModelOptions("m", paper=paper) for paper in (False, True)]
    ours, theirs = (find_setup(detector("direct"), one, "webshop", 0) for one in options)
    assert ours.digest != theirs.digest
    assert json.dumps(ours.prompt_fingerprint) == json.dumps(theirs.prompt_fingerprint)
