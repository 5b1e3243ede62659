"""What an Actor takes from a reply: the conclusion, not the first yes; a list, not a refusal; JSON as prose."""

import pytest

from console.actors.autoplan import read_plan
from console.actors.introspective import read_alignment, read_verdict
from console.actors.react import read_action
from console.actors.replies import read_list


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("YES", True),
        ("no.", False),
        ("Yes, progress was made, but it is not finished yet, so: NO", False),
        ("No, not at first sight. Looking again, the lamp is in the cart. YES", None),
        ("Yes, but the lamp is still missing.", None),
        ("The page says 'no results', which is what was asked.", None),
        ("No. The page shows yes-buttons only.", False),
        ("**NO** - the order is not placed.", False),
        ("The answer is YES because the order is placed.", True),
        ("YES or NO? I cannot say.", None),
        ("There is no way to say.", None),
        ("No idea", None),
        ("It is non-essential.", True),
        ('{"reason": "the lamp is bought", "done": true}', True),
        ('```json\n{"answer": "NO"}\n```', False),
        ('{"done": true, "paid": false}', None),
        ("[]", None),
        ("", None),
        ("NO (not YES)", False),
        ("I would not say YES.", None),
        ("I don't think the answer is yes.", None),
        ("NO. The agent has not answered yes", False),
        ('NO, because the question has no "yes"', False),
        ("**NO** - nothing is bought. Would buying be right? Yes.", False),
        ('YES. Size is "no"', True),
        ("YES. The drawer is not open, so: NO", False),
        ("YES, unless the order failed.", None),
        ("YES. Is everything paid? NO", None),
        ("Answer: NO, although the page says YES", False),
        ("Answer: YES\nThe page shows the order.", True),
        ("NO at first sight. Therefore: YES", None),
        ('The page shows "yes"', None),
        ("Whether it is done: YES or NO", None),
    ],
)
def test_the_conclusion_of_a_reply_counts(reply, read):
    assert read_verdict(reply) is read


def test_a_whole_task_is_never_non_essential():
    assert read_verdict("NON-ESSENTIAL", may_skip=False) is None
    assert read_verdict("YES", may_skip=False) is True


def test_an_alignment_keeps_the_words_around_its_verdict():
    assert read_alignment("NO. The action is to open the wrong drawer.") == (
        False,
        "The action is to open the wrong drawer.",
    )
    assert read_alignment('{"description": "The action is to search.", "aligned": "YES"}') == (
        True,
        "The action is to search.",
    )
    assert read_alignment("Yes, it opened, but it is the wrong drawer.") is None


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, I can't help with that.",
        "Here is the revised plan:",
        '{"error": "no plan"}',
        '{"steps": []}',
        '[{"step": "look", "why": "it is dark"}]',
        "1. I'm sorry, I cannot help with that.",
        "Step 1: I'm sorry, I cannot help with that.",
        "These are the flaws:\n1. It never looks.\n2. It takes too much.",
        "**Problems of the plan:**\n- It never looks.\n- It takes too much.",
        "",
    ],
)
def test_what_is_not_numbered_is_not_a_plan(reply):
    assert read_plan(reply) is None


def test_only_the_steps_of_a_plan_are_kept():
    reply = (
        "Here is the revised plan:\n\n**1.** look <from E1>\n   - in every drawer <from R2>\n2. take it\n\nGood luck!"
    )
    assert [(line.text, line.marks) for line in read_plan(reply)] == [
        ("**1.** look", ("E1",)),
        ("   - in every drawer", ("R2",)),
        ("2. take it", ()),
    ]
    assert [line.text for line in read_plan('{"plan": ["look", "take it"]}')] == ["1. look", "2. take it"]


@pytest.mark.parametrize(
    "reply",
    [
        "Step 1: look\nStep 2: take it",
        "- look\n- take it",
        "List\n* look\n* take it",
        '{"1": "look", "2": "take it"}',
        '{"step 1": "look", "step 2": "take it"}',
        '[{"step": "look"}, {"step": "take it"}]',
        '{"plan": [{"number": 1, "step": "look"}, {"number": 2, "step": "take it"}]}',
        "Flaws:\n1. It never looks.\n2. It takes all.\n\nRevised plan without these flaws:\n1. look\n2. take it",
        "1. look\n\n2. take it\nMistakes that it avoids:\n1. looking twice",
    ],
)
def test_a_list_in_any_usual_form_is_a_plan(reply):
    assert read_list(reply) == [(1, "look"), (2, "take it")]
    assert [line.text.split(maxsplit=1)[-1].removeprefix("1: ").removeprefix("2: ") for line in read_plan(reply)] == [
        "look",
        "take it",
    ]


def test_the_marks_of_a_json_plan_are_kept_apart():
    assert [(line.text, line.marks) for line in read_plan('["look <from E1, R2>", "take it"]')] == [
        ("1. look", ("E1", "R2")),
        ("2. take it", ()),
    ]


def test_lists_and_actions_are_read_from_json():
    assert read_list('```json\n["find it", "take it"]\n```') == [(1, "find it"), (2, "take it")]
    assert read_action('{"thought": "search first", "action": "search[lamp]"}') == "search[lamp]"
    assert read_action("Action: search[lamp]") == "search[lamp]"
