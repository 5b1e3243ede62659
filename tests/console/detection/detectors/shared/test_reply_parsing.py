"""What replies of real models say, and what they leave open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.detection.detectors.shared import reply_parsing


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Verdict: Correct\nReason: as asked.", False),
        ("Verdict: Incorrect\nReason: too small.", True),
        ("**Verdict:** Incorrect", True),
        ("- **Verdict**: `Correct`", False),
        ("status: completed\nFINAL VERDICT: INCORRECT", True),
        ("I first thought the verdict would be Correct.\nVerdict: Incorrect", True),
        ("Verdict: Correct\nVerdict: Incorrect", None),
        ("It is correct.", None),
        ("Verdict: Correctness cannot be told", None),
        ("Verdict: not sure", None),
        ("Die Antwort lautet: vermutlich richtig.", None),
        ("I'm sorry, but I can't help with that.", None),
        ("", None),
    ],
)
def test_a_verdict_counts_only_where_it_is_plain(text, said):
    assert reply_parsing.is_misaligned(text) is said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A", "A"),
        ("B.", "B"),
        (" (B) false", "B"),
        ("**A**", "A"),
        ("**B. False**", "B"),
        ("`A`", "A"),
        ("A. True, since B. False would need another size", "A"),
        ("Answer: B", "B"),
        ("The answer is **A**.", "A"),
        ("A. true\nB. false\nAnswer: B", "B"),
        ("At first I thought B. False, yet it is not.\nA. True", "A"),
        ("A careful look at the page shows the wrong size.\nB. False", "B"),
        ("A. true\nB. false", None),
        ("A or B", None),
        ("A careful look leaves it open.", None),
        ("b", None),
        ("Because of the size", None),
        ("Die Antwort lautet: vermutlich richtig.", None),
        ("", None),
    ],
)
def test_a_letter_counts_only_where_it_answers(text, said):
    found = reply_parsing.read_letter(text)
    assert (found and found.letter) == said
    assert found is None or text[found.at] == said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Step 1: 0.9\nStep 2: 0.5\nJustification: because.", (0.9, 0.5)),
        ("Step 1:0.9\nStep 2:.5", (0.9, 0.5)),
        ("**Step 1:** 0.9\n**Step 2:** 1.0.", (0.9, 1.0)),
        ("Step 2-Probability: 0.5\nStep 1-Probability: 0.9", (0.9, 0.5)),
        ("Step 1: 90%\nStep 2: 50 %", (0.9, 0.5)),
        ("Step 1: 0.9", None),
        ("Step 1: 0.9\nStep 2: 0.5\nStep 3: 0.5", None),
        ("Step 1: 0.9\nStep 1: 0.8\nStep 2: 0.5", None),
        ("Step 1: 0.9\nStep 2: 1.5", None),
        ("Step 1: 9/10\nStep 2: 5/10", None),
        ("Step 1: high\nStep 2: low", None),
        ("", None),
    ],
)
def test_probabilities_are_one_for_each_step_or_none(text, told):
    assert reply_parsing.read_probabilities(text, 2) == told


def test_a_label_gives_the_rest_of_its_line_without_formatting():
    text = "**Task: buy a plain lamp**\nand more\n**Reason:** the page *shows* it"
    assert reply_parsing.read_label(text, "Task") == "buy a plain lamp"
    assert reply_parsing.read_label(text, "Reason") == "the page *shows* it"
    assert reply_parsing.read_label(text, "Verdict") == ""
    assert reply_parsing.read_justification("Step 1: 1\nJustification: one\n two.") == "one two."


@given(st.text())
def test_whatever_a_reply_is_reading_it_never_fails(text):
    assert reply_parsing.is_misaligned(text) in (True, False, None)
    assert reply_parsing.read_letter(text) is None or reply_parsing.read_letter(text).letter in "AB"
    assert reply_parsing.read_probabilities(text, 2) is None or len(reply_parsing.read_probabilities(text, 2)) == 2
    assert isinstance(reply_parsing.read_label(text, "Task"), str)
