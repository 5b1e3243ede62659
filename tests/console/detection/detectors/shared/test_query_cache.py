"""What a model is shown of a checkpoint."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from console.detection.detectors.shared.query_cache import build_full_view, build_masked_view
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind

NOTHING_BEFORE = Checkpoint("generic", "do it", "", (), 0, CheckpointKind.ACTION, "", "pay[1]")


def test_the_whole_record_has_thoughts_observations_and_the_action_that_waits(shop):
    view = build_full_view(shop)
    assert view.steps == 3
    assert view.text.endswith("Step 3\nThought: I buy.\nAction: click[Buy Now]")
    assert "Thought: I look for it.\nAction: search[white blackout shade]" in view.text
    assert "Observation: Roller shade\n  color [white][grey]\n  Price: $24.99" in view.text


def test_the_chain_of_a_shop_has_no_thought_no_search_words_and_no_request(shop):
    view = build_masked_view(shop)
    assert view.steps == 3
    assert "Action: search\n" in view.text
    assert "Roller shade" in view.text
    for hidden in ("Thought", "I look", "blackout", "66 x 66"):
        assert hidden not in view.text


def test_thoughts_as_actions_leave_the_chain_with_their_answer(chore):
    view = build_masked_view(chore)
    assert view.steps == 2
    assert "think" not in view.text
    assert "OK." not in view.text
    assert "A room." not in view.text
    assert "think: a mug" in build_full_view(chore).text
    assert "think: a mug" in build_masked_view(chore, with_thoughts=True).text


def test_what_a_user_says_in_between_is_hidden_from_the_inference():
    asked = Step("", 'respond({"content": "Which order?"})', "The red one, I want my money back.")
    looked = Step("", 'get_order({"id": 4})', "red, paid")
    at = replace(NOTHING_BEFORE, environment="tau-bench", steps=(asked, looked), index=2)
    assert "money back" not in build_masked_view(at).text
    assert "red, paid" in build_masked_view(at).text
    assert "money back" in build_full_view(at).text


@given(st.text(), st.text(), st.text())
def test_only_our_own_lines_begin_with_a_step(thought, action, observation):
    at = replace(NOTHING_BEFORE, steps=(Step(thought, action or "x", observation),), index=1)
    for view in (build_full_view(at), build_masked_view(at)):
        ours = [line for line in view.text.splitlines() if line.startswith("Step ")]
        assert ours == [f"Step {number}" for number in range(1, view.steps + 1)]
