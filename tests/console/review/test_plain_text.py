"""The same presentation in a terminal, and how long texts are cut."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.review.plain_text import (
    CAP,
    cut_text,
    describe_rest,
    digest_shown_text,
    escape_hidden,
    format_presentation,
    format_record,
    is_clipped,
    list_cut_texts,
    split_blocks,
)
from console.review.presentation import Flag, checkpoint_presentation
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from console.web.widgets.pending_action import action_html
from console.web.widgets.trajectory_view import presentation_html

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


LONG_PAGE = "a page of lamps\n" * 3_000
END = "THE END"


def presentation(observation=LONG_PAGE + END, action="click[Buy Now]", task="a brass lamp"):
    """The presentation before an action, after one step."""
    steps = (Step("", "search[lamp]", observation),)
    return checkpoint_presentation(Checkpoint("webshop", task, "", steps, 1, CheckpointKind.ACTION, "", action))


def test_a_short_text_is_whole_and_a_long_one_ends_with_a_line():
    assert cut_text("short") == "short"
    assert cut_text(LONG_PAGE).endswith("lamps\n")
    assert CAP - 20 < len(cut_text(LONG_PAGE)) <= CAP
    assert (
        describe_rest(LONG_PAGE, cut_text(LONG_PAGE))
        == f"... {len(LONG_PAGE) - len(cut_text(LONG_PAGE)):,} more characters"
    )


@pytest.mark.parametrize("second", ["\udc00", "\u0301", "\u200d"])
def test_no_character_is_cut_in_two(second):
    text = "x" * (CAP - 1) + "e" + second + "x" * 10
    assert cut_text(text) == "x" * (CAP - 1)


@given(text=st.text(), size=st.integers(1, 9))
def test_blocks_are_the_text(text, size):
    found = list(split_blocks(text, size))
    assert "".join(found) == text
    assert all(0 < len(block) <= size for block in found)


def test_every_long_text_is_cut_on_the_page_and_says_so():
    shown = presentation(task="lamp " * 10_000, observation=LONG_PAGE + END)
    html = presentation_html(shown)
    assert [name for name, _ in list_cut_texts(shown)] == ["task", "step 1, observation"]
    assert END not in html
    assert html.count("ia-all") == 2
    assert f"all {len(LONG_PAGE + END):,} characters" in html


def test_a_pending_action_is_never_cut_in_silence():
    action = 'pay({"to":"' + "ab " * 20_000 + '","why":"' + END + '"})'
    assert is_clipped(action)
    assert END in action_html(action, "")
    part = action_html(action, "", whole=False)
    assert END not in part
    assert f"of {len(action):,} characters" in part


def test_the_digest_of_what_was_seen_tells_part_from_all():
    short, long = presentation("short"), presentation()
    assert digest_shown_text(short).startswith("all:")
    assert digest_shown_text(short) != digest_shown_text(presentation("other"))
    assert digest_shown_text(long).startswith("part:")
    opened = digest_shown_text(long, ["step 1, observation"])
    assert opened.startswith("all:")
    assert opened != digest_shown_text(long)
    assert digest_shown_text(short, action_whole=False).startswith("part:")


def test_the_end_of_a_text_that_was_not_shown_is_no_part_of_the_digest():
    long = presentation()
    step = replace(long.steps[0], observation=LONG_PAGE + "another end")
    other = replace(long, steps=(step, *long.steps[1:]))
    assert digest_shown_text(long) == digest_shown_text(other)
    assert digest_shown_text(long, ["step 1, observation"]) != digest_shown_text(other, ["step 1, observation"])
