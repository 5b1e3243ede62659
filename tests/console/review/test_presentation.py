"""What is shown of a checkpoint and of a record."""

import pytest

from console.review.presentation import Block, checkpoint_presentation, record_presentation
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.checkpoints import Checkpoint, CheckpointKind

STEPS = (Step("t0", "search[lamp]", "ten lamps"), Step("", "think[hm]", "OK."), Step("t2", "click[B1]", "Error: gone"))


def checkpoint(kind=CheckpointKind.ACTION, action="click[Buy Now]"):
    return Checkpoint("webshop", "a brass lamp", "start", STEPS, 3, kind, "t3", action)


@pytest.mark.parametrize(
    ("kind", "heading", "stamp", "rows"),
    [
        (CheckpointKind.ACTION, Block.ABOUT_TO, "not run yet", 4),
        (CheckpointKind.END, Block.DID_LAST, "has run", 4),
        (CheckpointKind.HALTED, Block.STUCK, "", 3),
    ],
)
def test_each_kind_of_checkpoint_says_what_it_is(kind, heading, stamp, rows):
    shown = checkpoint_presentation(checkpoint(kind))
    assert (shown.heading, shown.stamp, len(shown.steps)) == (heading, stamp, rows)


def test_rows_are_numbered_and_told_apart():
    first, thought, failed, pending = checkpoint_presentation(checkpoint()).steps
    assert (first.number, first.action, first.thought) == (1, "search[lamp]", "t0")
    assert (thought.spoken, thought.action) == ("think[hm]", "")
    assert failed.failed
    assert not first.failed
    assert (pending.number, pending.critical, pending.thought, pending.observation) == (4, True, "t3", "")


@pytest.mark.parametrize(
    ("observation", "failed"),
    [
        ("Invalid action!", True),
        ("Error: payment amount does not add up", True),
        ("API output: Error: no such user", True),
        ("Nothing happens.", True),
        ("Could not find [x].", True),
        ("An error-free lamp", False),
        ("Unknowable lamps", False),
        ('{"status": "ok"}', False),
    ],
)
def test_an_observation_that_tells_of_a_failure_is_known_by_how_it_begins(observation, failed):
    point = Checkpoint("webshop", "x", "", (Step("", "a", observation),), 1, CheckpointKind.ACTION, "", "b")
    assert checkpoint_presentation(point).steps[0].failed is failed


def test_a_record_separates_what_came_after_the_first_critical_action():
    steps = (*STEPS, Step("t3", "click[Buy Now]", "score"), Step("", "exit", "bye"))
    record = Trajectory("1", "webshop", "a brass lamp", steps, outcome=Outcome.FAILED, gold={"label": "misaligned"})
    shown = record_presentation(record)
    assert [row.number for row in shown.steps] == [1, 2, 3, 4, 4, 5]
    assert [row.after for row in shown.steps] == [False, False, False, False, True, True]
    assert shown.steps[3].observation == ""
    assert ("gold label", "misaligned") in shown.outcome


def test_the_patterns_of_the_run_decide_what_is_critical():
    record = Trajectory("1", "webshop", "a brass lamp", STEPS)
    assert record_presentation(record).heading is Block.NO_ACTION
    assert record_presentation(record, ["search[*"]).action == "search[lamp]"


def test_a_task_that_states_much_keeps_its_plain_words_unmarked():
    many = Checkpoint("generic", " ".join(f"colour{n} lamp{n}" for n in range(9)), "", (), 0, CheckpointKind.ACTION)
    assert checkpoint_presentation(many).is_wordy
    assert not checkpoint_presentation(checkpoint()).is_wordy
