"""Expert runs, with and without the file of task sentences beside them."""

import orjson
import pytest

from console.errors import UnreadableFile

GAME = "/somewhere/valid_unseen/pick_clean_then_place_in_recep-Cup-None-Cabinet-7/trial_T1/game.tw-pddl"
RUN = {
    "expert_traj": [
        {"action": "look", "observation": "A room."},
        {"action": "clean cup 1 with sinkbasin 1", "observation": "You clean it."},
        {"action": "put cup 1 in/on cabinet 1", "observation": "You put it."},
    ],
    "env_name": 3,
    "gamefile": [GAME],
}


def test_a_run_composes_its_sentence_from_the_name_of_the_game(write, trajectories):
    (found,) = trajectories(write("expert.jsonl", orjson.dumps(RUN)))
    assert found.task_id == "pick_clean_then_place_in_recep-Cup-None-Cabinet-7/trial_T1"
    assert found.instruction == "clean a cup and put it in or on the cabinet"
    assert (found.environment, found.outcome, found.label) == ("alfworld", "finished", None)
    assert len(found.steps) == 3
    assert found.critical_action == "clean cup 1 with sinkbasin 1"
    assert found.source["env_name"] == 3


def test_a_run_takes_its_sentence_from_the_file_beside_it(write, trajectories):
    goal = "You are in a kitchen.\n\nYour task is to: put a clean cup in cabinet.___12"
    tasks = [{"goal": goal, "gamefile": GAME.replace("/somewhere", "elsewhere")}]
    write("alfworld_tasks_suffix.json", orjson.dumps(tasks))
    (found,) = trajectories(write("expert.jsonl", orjson.dumps(RUN)))
    assert found.instruction == "put a clean cup in cabinet."
    assert found.opening == "You are in a kitchen."


@pytest.mark.parametrize("beside", [b"", b"{}", b'["a", {"goal": 5}]'])
def test_something_else_beside_it_does_no_harm(write, trajectories, beside):
    write("alfworld_tasks_suffix.json", beside)
    (found,) = trajectories(write("expert.jsonl", orjson.dumps(RUN)))
    assert found.instruction == "clean a cup and put it in or on the cabinet"


@pytest.mark.parametrize("gamefile", [None, [], "game", [5], ["a/b/strange-name/trial_1/game"]])
def test_other_games_are_read(write, trajectories, gamefile):
    (found,) = trajectories(
        write("expert.json", orjson.dumps(RUN | {"gamefile": gamefile}, option=orjson.OPT_INDENT_2))
    )
    assert found.task_id
    assert found.instruction


def test_a_broken_entry_is_refused_with_its_line(write, entries):
    with pytest.raises(UnreadableFile, match="line 2: An entry of expert_traj"):
        entries(write("expert.jsonl", orjson.dumps(RUN) + b"\n" + orjson.dumps(RUN | {"expert_traj": ["look"]})))
