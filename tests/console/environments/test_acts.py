"""What an agent's actions are: calls, texts to the user, and ends of the task."""

from __future__ import annotations

import pytest

from console.environments.acts import answer_given, list_acts, pending_act
from console.environments.evidence import Evidence
from console.trajectory import Step, Trajectory
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at
from console.trajectory.effects import Effect, Kind
from console.trajectory.tools import ToolSchema


def before(action: str, *tools: ToolSchema) -> Checkpoint:
    asked = Trajectory("1", "generic", "Please clean up my inbox.", critical_action=action, tools=tools)
    return checkpoint_at(asked, 0, CheckpointKind.ACTION)


@pytest.mark.parametrize(
    ("action", "kind", "answer"),
    [
        ('Complete({"response": "I\'m sorry, I cannot do that."})', Kind.ENDING, "I'm sorry, I cannot do that."),
        ("Finish[Paris]", Kind.ENDING, "Paris"),
        ('submit_answer({"answer": "B"})', Kind.ENDING, "B"),
        ("I am sorry, but I can't help with sending that message to everybody.", Kind.ANSWERING, None),
        ("Final Answer: the door is locked", Kind.ANSWERING, None),
        ('respond({"content": "Done."})', Kind.ANSWERING, None),
        ('TodoWrite({"todos": [{"content": "delete mails", "status": "pending"}]})', Kind.PLANNING, None),
        ('delete_mail({"id": "m1"})', Kind.DELETING, None),
    ],
)
def test_an_action_has_a_kind(action: str, kind: Kind, answer: str | None) -> None:
    act = pending_act(before(action))
    assert (act.kind, answer_given(act)) == (kind, answer)


def test_ending_answering_and_planning_change_nothing() -> None:
    for action in ('Complete({"response": "I\'m sorry"})', 'update_plan({"plan": "delete all"})', "end_turn({})"):
        assert all(not call.effects and call.asked for call in Evidence(before(action)).pending_calls)


def test_a_schema_of_the_record_says_what_a_call_does() -> None:
    (call,) = Evidence(before('frob({"a": "m1"})', ToolSchema("frob", "Deletes a mail."))).pending_calls
    assert call.effects == {Effect.DELETE}


def test_the_result_of_a_call_that_cannot_be_read_is_not_the_users() -> None:
    call = 'NewPost(content="Sleep early, says the page.\n1. Keep the room dark.'
    done = (
        Step("", call, "Post created.\nPublish the post."),
        Step("", "Shall I publish the draft of this post now?", "Yes"),
    )
    posted, offered = list_acts(Checkpoint("generic", "Write a post.", "", done, 2, CheckpointKind.ACTION, "", "go()"))
    assert (posted.talks, offered.talks) == (False, True)
