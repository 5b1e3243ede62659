"""The shared real logs, against facts that two independent programs agreed on."""

import re
from collections import Counter
from statistics import median

import orjson
import pytest

from console.environments import ENVIRONMENTS
from console.errors import UnreadableFile
from console.runs.importers import read_log
from console.runs.importers.records import Found
from console.trajectory import from_json
from console.trajectory.calls import read_action
from console.trajectory.checkpoints import is_critical
from tests.sweeps import sweep

TAU = [
    "tau-bench/gpt-4o-airline.even.json",
    "tau-bench/grok-4-1-fast-reasoning-retail.even.json",
    "tau-bench/grok-4-fast-non-reasoning-retail.even.json",
    "tau-bench/react-grok-4-fast-reasoning-airline.even.json",
]
REFLEXION = [
    "reflexion/reflexion/100_questions_5_trials.txt",
    "reflexion/reflexion/50_sample_react_reflect_correct.txt",
]
WEBSHOP = "webshop/react_webshop_run_000-249.txt"
ALFWORLD = "alfworld/expert_traj.jsonl"
FORMATS = dict.fromkeys(TAU, "tau-bench") | dict.fromkeys(REFLEXION, "reflexion-react")
FORMATS |= {WEBSHOP: "webshop-react", ALFWORLD: "alfworld-expert"}
ENDS = {"succeeded": "finish_correct", "failed": "finish_incorrect", "halted": "no_finish"}
LETTERS = {"succeeded": "C", "failed": "I", "halted": "H"}


@pytest.fixture
def facts(shared_data):
    return orjson.loads(shared_data("expected.json").read_bytes())["files"]


@pytest.fixture
def rows(shared_data):
    """The row of each question, by its stripped text."""
    lines = shared_data("hotpotqa/questions_100.jsonl").read_bytes().splitlines()
    return {record["question"].strip(): record["row"] for record in map(orjson.loads, lines)}


def critical_steps(trajectory):
    world = ENVIRONMENTS[trajectory.environment]
    return [
        step
        for step in trajectory.steps
        if is_critical(step.action, world.critical)
        and not (world.not_executed and step.observation.startswith(world.not_executed))
    ]


def letters(text):
    return re.sub(r"\W+", "", text).lower()


def steps_summary(trajectories):
    counts = [len(trajectory.steps) for trajectory in trajectories if trajectory.steps]
    return {"min": min(counts), "median": median(counts), "max": max(counts), "total": sum(counts)}


@pytest.mark.parametrize("name", FORMATS)
def test_every_log_is_recognised_and_read_whole(shared_data, name):
    path = shared_data(name)
    format_name, entries = read_log(path)
    entries = list(entries)
    assert format_name == FORMATS[name]
    assert all(isinstance(entry, Found) for entry in entries)
    lines = [entry.line for entry in entries]
    assert lines == sorted(set(lines))
    for entry in entries:
        trajectory = entry.trajectory
        assert trajectory.source["file"] == path.name
        assert trajectory.source["line"] == entry.line
        assert from_json(trajectory.to_json()) == trajectory
        assert trajectory.instruction or not trajectory.steps


@sweep("name", FORMATS)
def test_no_outcome_stands_before_the_critical_action(shared_data, trajectories, name):
    told = re.compile(r"Answer is (IN)?CORRECT|Your score \(min|Correct answer:")
    for trajectory in trajectories(shared_data(name)):
        assert not told.search(trajectory.instruction + trajectory.opening)
        assert not told.search("\n".join(step.thought + step.action for step in trajectory.steps))
        assert not told.search("\n".join(step.observation for step in trajectory.steps[:-1]))


@pytest.mark.parametrize("name", REFLEXION)
def test_reflexion_index(shared_data, trajectories, facts, rows, name):
    found = trajectories(shared_data(name))
    index = []
    for t in found:
        section = {"succeeded": "correct", "failed": "incorrect", "halted": "halted"}[t.outcome]
        index.append([t.trial, section, rows[t.instruction], len(t.steps), ENDS[t.outcome], len(t.memory)])
    assert index == [[(row[0] or 1) - 1, *row[1:]] for row in facts[name]["index"]]
    assert steps_summary(found) == facts[name]["steps"]
    assert len({t.task_id for t in found}) == facts[name]["n_distinct_questions"]
    assert all(t.gold["answer"] for t in found)


@pytest.mark.parametrize("name", REFLEXION)
def test_reflexion_actions_and_sections(shared_data, trajectories, facts, name):
    found = trajectories(shared_data(name))
    verbs = Counter(re.match(r"\w+", step.action)[0] for t in found for step in t.steps)
    assert dict(verbs) == facts[name]["actions"]
    ends = Counter(ENDS[t.outcome] for t in found)
    assert dict(ends) == facts[name]["ends"]
    labels = Counter(t.label for t in found)
    listed = facts[name]["listed"]
    assert [labels["aligned"], labels["misaligned"], labels[None]] == list(listed.values())
    assert sum("\n" in s.observation for t in found for s in t.steps) == facts[name]["multiline_observations"]
    for t in found:
        finished = t.outcome != "halted"
        assert len(critical_steps(t)) == finished
        assert (t.critical_action or "").startswith("Finish[") == finished


def test_reflexion_carries_solved_questions_over(shared_data, trajectories, facts):
    name = REFLEXION[0]
    found = trajectories(shared_data(name))
    for row in facts[name]["fresh_by_trial"]:
        of_trial = [t for t in found if t.trial == row["trial"] - 1]
        fresh = Counter(ENDS[t.outcome] for t in of_trial if not t.carried_over)
        assert sum(t.carried_over for t in of_trial) == row["identical_to_previous_trial"]
        assert dict(fresh) == row["fresh_ends"]
    assert [sum(t.carried_over for t in found if t.trial == trial) for trial in range(5)] == [0, 34, 47, 53, 61]
    assert Counter(ENDS[t.outcome] for t in found if not t.carried_over) == facts[name]["fresh_ends_total"]


def test_reflexion_outcomes_of_a_question_over_its_trials(shared_data, trajectories, facts, rows):
    name = REFLEXION[0]
    chains = {row: ["-"] * 5 for row in facts[name]["outcome_chain_by_row"]}
    for t in trajectories(shared_data(name)):
        chains[str(rows[t.instruction])][t.trial] = LETTERS[t.outcome]
    assert {row: "".join(chain) for row, chain in chains.items()} == facts[name]["outcome_chain_by_row"]


def test_webshop_index(shared_data, trajectories, facts):
    found = trajectories(shared_data(WEBSHOP))
    index = [
        [t.source["episode"], len(t.steps), sum(s.action == "click[Buy Now]" for s in t.steps), t.gold.get("score")]
        for t in found
    ]
    assert index == facts[WEBSHOP]["index"]
    assert steps_summary(found) == facts[WEBSHOP]["steps_without_reset"]
    assert Counter(t.outcome for t in found) == {"succeeded": 87, "failed": 145, "finished": 3, "halted": 15}
    assert Counter(t.label for t in found) == {"aligned": 87, "misaligned": 145, None: 18}
    unscored = [t.source["episode"] for t in found if t.outcome == "finished"]
    assert unscored == facts[WEBSHOP]["episodes_buy_now_without_score"]


def test_webshop_actions_and_instructions(shared_data, trajectories, facts):
    found = trajectories(shared_data(WEBSHOP))
    verbs = Counter(step.action.partition("[")[0] for t in found for step in t.steps)
    assert dict(verbs) == {k: v for k, v in facts[WEBSHOP]["actions_by_verb"].items() if k != "reset"}
    invalid = [s for t in found for s in t.steps if s.observation.startswith("Invalid action!")]
    assert len(invalid) == facts[WEBSHOP]["invalid_action_observations"]
    assert sum(len(critical_steps(t)) for t in found) == facts[WEBSHOP]["episodes_with_buy_now"]
    goals = orjson.loads(shared_data("webshop/human_goals_0000-1999.json").read_bytes())
    for t, goal in zip(found, goals, strict=False):
        assert letters(t.instruction).startswith(letters(goal))
        assert t.task_id == f"fixed_{t.source['episode']}"
    assert sum("price lower than" in t.instruction for t in found) == facts[WEBSHOP]["instructions_with_price"]


@sweep("name", TAU, kept=2)
def test_tau_bench_index(shared_data, trajectories, facts, name):
    found = trajectories(shared_data(name))
    messages = {(r["task_id"], r["trial"]): len(r["traj"]) for r in orjson.loads(shared_data(name).read_bytes())}
    index = []
    for t in found:
        writes = critical_steps(t)
        key = (int(t.task_id), t.trial)
        failed = sum(step.observation.startswith("Error") for step in writes)
        index.append([*key, int(t.gold["reward"]), len(t.steps), messages[key], len(writes), failed])
    assert index == facts[name]["index"]
    assert steps_summary(found) == facts[name]["steps"]


@sweep("name", TAU, kept=2)
def test_tau_bench_calls_and_labels(shared_data, trajectories, facts, name):
    found = trajectories(shared_data(name))
    names = Counter(
        call.name for t in found for s in t.steps for call in read_action(s.action) if call.name != "respond"
    )
    assert dict(names) == facts[name]["tool_calls_by_name"]
    rewards = Counter(t.label for t in found if t.steps)
    empty = facts[name]["empty_error_trajectories"]
    assert rewards["aligned"] == facts[name]["reward_counts"]["1"]
    assert rewards["misaligned"] == facts[name]["reward_counts"]["0"] - len(empty)
    crashed = [t for t in found if not t.steps]
    assert [[int(t.task_id), t.trial] for t in crashed] == empty
    assert all(t.outcome == "error" and t.label is None for t in crashed)
    assert sum(t.critical_action is not None for t in found) == facts[name]["trajectories_with_critical_call"]


@sweep("name", TAU, kept=2)
def test_tau_bench_calls_that_equal_a_gold_action(shared_data, trajectories, facts, name):
    equal = Counter()
    for t in trajectories(shared_data(name)):
        for step in critical_steps(t):
            (call,) = read_action(step.action)
            equal[call.name] += {"name": call.name, "kwargs": call.arguments} in t.gold["actions"]
    assert dict(+equal) == facts[name]["critical_calls_equal_to_a_gold_action_by_name"]


def test_alfworld_index(shared_data, trajectories, facts):
    found = trajectories(shared_data(ALFWORLD))
    index = [[t.source["env_name"], t.task_id.partition("-")[0], len(t.steps), len(critical_steps(t))] for t in found]
    assert index == facts[ALFWORLD]["index"]
    assert steps_summary(found) == facts[ALFWORLD]["steps"]
    assert sum(t.critical_action is not None for t in found) == facts[ALFWORLD]["trajectories_with_clean_heat_cool"]
    assert {(t.outcome, t.label) for t in found} == {("finished", None)}
    assert len({t.task_id for t in found}) == 134


def test_alfworld_takes_the_task_from_the_file_beside_it(shared_data, trajectories):
    goals = orjson.loads(shared_data("alfworld/alfworld_tasks_suffix.json").read_bytes())
    said = {entry["goal"].partition("Your task is to: ")[2].partition("___")[0].strip() for entry in goals}
    found = trajectories(shared_data(ALFWORLD))
    assert {t.instruction for t in found} == said
    assert all(t.opening.startswith("You are in the middle of a room.") for t in found)


@sweep(
    ("name", "sentence"),
    [
        ("alfworld/alfworld_tasks_suffix.json", "ALFWorld task sentences without any actions"),
        ("hotpotqa/questions_100.jsonl", "HotPotQA questions"),
        ("reflexion/alfworld_reflexion_run_logs/env_results_trial_0.json", "but no actions"),
        ("reflexion/webshop_reflexion_run_logs_1/env_results_trial_3.json", "but no actions"),
        ("tau-bench/grok-4-1-fast-reasoning-retail.error_classes.even.jsonl", "without their steps"),
        ("webshop/human_goals_0000-1999.json", "a list of texts"),
        ("webshop/webshop.fixed100.json", "WebShop tasks with their gold items"),
        ("README.md", "no known log format"),
        ("expected.json", "no known log format"),
    ],
    kept=4,
)
def test_companions_are_refused_in_one_sentence(shared_data, entries, name, sentence):
    with pytest.raises(UnreadableFile, match=sentence) as refused:
        entries(shared_data(name))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", FORMATS)
@sweep("share", [0.31, 0.5, 0.83], kept=1)
def test_a_real_log_cut_anywhere_is_refused(shared_data, write, entries, name, share):
    content = shared_data(name).read_bytes()
    path = write(f"cut{share}.log", content[: int(len(content) * share)])
    with pytest.raises(UnreadableFile):
        entries(path)
