"""Nothing that came after a critical action, and no result, reaches a detector: real logs with canaries put in."""

import json
import random
import re
from dataclasses import replace

import pytest

from console.detection.detectors import DETECTORS
from console.environments import ENVIRONMENTS
from console.runs.importers import read_log
from console.runs.importers.records import Found
from console.trajectory import Outcome, Step, from_json
from console.trajectory.checkpoints import checkpoints
from tests.sweeps import sweep

LOGS = [
    "reflexion/reflexion/100_questions_5_trials.txt",
    "reflexion/reflexion/50_sample_react_reflect_correct.txt",
    "webshop/react_webshop_run_000-249.txt",
    "alfworld/expert_traj.jsonl",
    "tau-bench/gpt-4o-airline.even.json",
    *(
        pytest.param(f"tau-bench/{name}-retail.even.json", marks=pytest.mark.at_length)
        for name in ("grok-4-1-fast-reasoning", "grok-4-fast-non-reasoning")
    ),
    "tau-bench/react-grok-4-fast-reasoning-airline.even.json",
]
TELLING = ("Answer is CORRECT", "Answer is INCORRECT", "Your score", "Correct answer:")
OFFLINE = ("rules", "random", "full-validation")


def trajectories(path):
    return [entry.trajectory for entry in read_log(path)[1] if isinstance(entry, Found)]


def found_in(trajectory):
    facts = ENVIRONMENTS[trajectory.environment]
    return checkpoints(trajectory, facts.critical, ends=facts.ends)


def judged(checkpoint):
    return [DETECTORS[name].judge(checkpoint, 7) for name in OFFLINE]


def with_canaries(trajectory, index, draw):
    """The record with everything replaced that a detector must not see at the checkpoint of that step."""
    canary = f"canary{draw.getrandbits(64):016x}"
    kept, action = trajectory.steps[:index], trajectory.steps[index]
    after = [Step(canary, canary, canary, {"reward": canary}) for _ in trajectory.steps[index + 1 :]]
    return canary, replace(
        trajectory,
        steps=(*kept, Step(action.thought, action.action, canary, {"score": canary}), *after),
        critical_action=action.action,
        outcome=draw.choice([Outcome.SUCCEEDED, Outcome.FAILED]),
        gold={"label": draw.choice(["aligned", "misaligned"]), "answer": canary, "score": draw.random()},
        source={"file": canary, "section": canary},
        extra={"reward": canary},
        memory=(canary,),
    )


@pytest.mark.parametrize("most", [8, pytest.param(None, marks=pytest.mark.at_length)])
@sweep("name", LOGS, kept=2)
def test_what_came_after_changes_neither_the_input_nor_the_verdict(shared_data, name, most):
    draw = random.Random(name)
    seen, known = 0, trajectories(shared_data(name))
    for trajectory in draw.sample(known, min(most or len(known), len(known))):
        for at in found_in(trajectory):
            canary, altered = with_canaries(trajectory, at.index, draw)
            again = next(c for c in found_in(from_json(altered.to_json())) if c.index == at.index)
            assert again == at
            assert judged(again) == judged(at)
            assert canary not in repr(again)
            assert canary not in repr(judged(again))
            seen += 1
    assert seen > 0


@sweep("name", LOGS, kept=2)
def test_no_checkpoint_tells_the_result(shared_data, name):
    for trajectory in trajectories(shared_data(name)):
        for at in found_in(trajectory):
            assert not [words for words in TELLING if words in repr(at)]


@pytest.mark.parametrize(
    ("name", "result", "other"),
    [
        (LOGS[0], r"Answer is (?:IN)?CORRECT|(?<=Correct answer: ).*", "canary"),
        (LOGS[2], r"(?<=Your score \(min 0\.0, max 1\.0\): )[\d.]+", "0.123"),
    ],
)
def test_another_result_in_the_file_gives_the_same_checkpoints(shared_data, tmp_path, name, result, other):
    text = shared_data(name).read_text(encoding="utf-8")
    (tmp_path / "log.txt").write_text(re.sub(result, other, text), encoding="utf-8")
    before = [at for one in trajectories(shared_data(name)) for at in found_in(one)]
    after = [at for one in trajectories(tmp_path / "log.txt") for at in found_in(one)]
    assert after == before


@pytest.mark.at_length
def test_another_reward_and_other_messages_after_the_call_give_the_same_first_checkpoint(shared_data, tmp_path):
    records = json.loads(shared_data(LOGS[4]).read_text(encoding="utf-8"))
    stops = ENVIRONMENTS["tau-bench"].critical
    draw = random.Random(3)
    for record in records:
        names = [(m.get("tool_calls") or [{}])[0].get("function", {}).get("name") for m in record["traj"]]
        first = next((i for i, name in enumerate(names) if name in stops), len(names))
        for message in record["traj"][first + 1 :]:
            message["content"] = f"canary{draw.getrandbits(64):016x}"
        record["reward"] = 1.0 - record["reward"]
        record["info"]["reward_info"] = {"reward": draw.random(), "canary": "canary"}
        record["info"]["task"] |= {"actions": [{"name": "canary", "kwargs": {}}], "outputs": ["canary"]}
    (tmp_path / "log.json").write_text(json.dumps(records), encoding="utf-8")
    for one, other in zip(trajectories(shared_data(LOGS[4])), trajectories(tmp_path / "log.json"), strict=True):
        before, after = found_in(one)[:1], found_in(other)[:1]
        assert before == after
        assert [judged(at) for at in before] == [judged(at) for at in after]
        assert "canary" not in repr(after)
