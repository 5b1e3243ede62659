"""The scripted reader takes advice, and copes with questions that are not of its world."""

from console.environments import ENVIRONMENTS
from console.environments.hotpotqa import tasks_from_file
from tests.later import Later

TASKS = Later(ENVIRONMENTS["hotpotqa"].tasks, 0, 60)


def test_told_to_read_further_it_looks_up(play):
    hard = [task for task in TASKS if task.gold["level"] == "hard"]
    untold = [any(action.startswith("Lookup") for action in play(task).actions) for task in hard]
    further = ("The rest of the page has it.",)
    told = [any(action.startswith("Lookup") for action in play(task, further).actions) for task in hard]
    assert sum(untold) < sum(told)


def test_an_answer_that_was_refused_is_not_given_again(play):
    for task in TASKS[:25]:
        answer = play(task).actions[-1]
        if answer.startswith("Finish[") and "unknown" not in answer:
            assert play(task, (f'My answer "{answer[7:-1]}" was refused.',)).actions[-1] != answer


def test_official_questions_end_within_the_cap(play, shared_data):
    trials = [play(task) for task in tasks_from_file(shared_data("hotpotqa/questions_100.jsonl"))[:40]]
    assert all(len(trial.steps) <= 6 for trial in trials)
    assert any(trial.outcome == "succeeded" for trial in trials)
