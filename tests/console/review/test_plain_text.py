"""The same presentation in a terminal."""

import re

from hypothesis import given
from hypothesis import strategies as st

from console.review.plain_text import escape_hidden, format_presentation, format_record
from console.review.presentation import Flag, checkpoint_presentation
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.checkpoints import Checkpoint, CheckpointKind

LONG = "page one " * 80
STEPS = (Step("hm", "search[shade]", LONG), Step("", "click[B01]", "Invalid action!"))
CHECKPOINT = Checkpoint(
    "webshop", "a white shade, 66 x 66 inches", "", STEPS, 2, CheckpointKind.ACTION, "", "click[Buy Now]"
)


def as_text(checkpoint, *, full=False, **beside):
    """A checkpoint for the terminal, with a flag or belief beside it."""
    return format_presentation(checkpoint_presentation(checkpoint, **beside), full=full)


def test_the_order_is_that_of_the_page():
    text = as_text(CHECKPOINT, flag=Flag("rules", 0.8, 0.5, ("No size.",)), belief="buy a shade")
    order = [
        "THE USER ASKED",
        "THE AGENT IS ABOUT TO",
        "click[Buy Now]  [NOT RUN YET]",
        "INFERRED TASK",
        "FLAGGED BY",
        "rules  score 0.80, above the threshold 0.50",
        "No size.",
        "STEPS",
        "search[shade]",
        "error: Invalid action!",
    ]
    positions = [text.index(words) for words in order]
    assert positions == sorted(positions)
    assert "not found: white · 66 x 66 inches" in text


def test_a_blind_checkpoint_has_no_trace_of_the_detector():
    text = as_text(CHECKPOINT)
    assert "FLAGGED" not in text
    assert "BELIEVE" not in text


def test_long_observations_are_cut_unless_all_is_asked_for():
    assert "…" in as_text(CHECKPOINT)
    assert " ".join(as_text(CHECKPOINT, full=True).split()).count("page one") > 80


def test_a_record_shows_what_came_after_the_outcome_and_the_gold():
    record = Trajectory(
        "t1",
        "webshop",
        "a white shade",
        (*STEPS, Step("", "click[Buy Now]", "Your score: 0.5")),
        outcome=Outcome.FAILED,
        gold={"label": "misaligned"},
    )
    text = format_record(record)
    assert text.index("AFTER THE CRITICAL ACTION") < text.index("Your score: 0.5")
    assert "outcome: failed" in text
    assert "gold label: misaligned" in text


@given(st.text())
def test_no_text_can_steer_a_terminal(text):
    step = Step(text, text, text)
    shown = as_text(Checkpoint("generic", text, text, (step,), 1, CheckpointKind.ACTION, text, text), full=True)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)
    shown.encode("utf-8")


def test_hidden_characters_are_written_out():
    assert escape_hidden("a\u202eb\x1b[2J") == "a<U+202E>b<U+001B>[2J"
