"""Long texts are cut where a reader can stand it, and what was shown is known."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.review.plain_text import (
    CAP,
    cut_text,
    describe_rest,
    digest_shown_text,
    is_clipped,
    list_cut_texts,
    split_blocks,
)
from console.review.presentation import checkpoint_presentation
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from console.web.widgets.pending_action import action_html
from console.web.widgets.trajectory_view import presentation_html

LONG = "a page of lamps\n" * 3_000
END = "THE END"


def presentation(observation=LONG + END, action="click[Buy Now]", task="a brass lamp"):
    """The presentation before an action, after one step."""
    steps = (Step("", "search[lamp]", observation),)
    return checkpoint_presentation(Checkpoint("webshop", task, "", steps, 1, CheckpointKind.ACTION, "", action))


def test_a_short_text_is_whole_and_a_long_one_ends_with_a_line():
    assert cut_text("short") == "short"
    assert cut_text(LONG).endswith("lamps\n")
    assert CAP - 20 < len(cut_text(LONG)) <= CAP
    assert describe_rest(LONG, cut_text(LONG)) == f"... {len(LONG) - len(cut_text(LONG)):,} more characters"


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
    shown = presentation(task="lamp " * 10_000, observation=LONG + END)
    html = presentation_html(shown)
    assert [name for name, _ in list_cut_texts(shown)] == ["task", "step 1, observation"]
    assert END not in html
    assert html.count("ia-all") == 2
    assert f"all {len(LONG + END):,} characters" in html


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
    step = replace(long.steps[0], observation=LONG + "another end")
    other = replace(long, steps=(step, *long.steps[1:]))
    assert digest_shown_text(long) == digest_shown_text(other)
    assert digest_shown_text(long, ["step 1, observation"]) != digest_shown_text(other, ["step 1, observation"])
