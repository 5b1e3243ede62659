"""The oracle: right about what an action would lead to, helpful in words, silent about the target."""

from dataclasses import replace

import pytest

from console.environments import ENVIRONMENTS
from console.environments.environment import TaskSpec
from console.errors import BadInput
from console.review.simulated import REVIEWERS, Noise, get_reviewer
from console.review.simulated.feedback_text import list_secrets, reveals_target
from console.settings import settings
from console.trajectory import Label, Outcome
from console.trajectory.checkpoints import CheckpointKind
from tests.sweeps import sweep

NAMES = ("webshop", "hotpotqa", "alfworld")
ORACLE = REVIEWERS["oracle"]


def judged(case):
    return ORACLE.judge(case, Noise())


@pytest.mark.parametrize("name", ["webshop", "hotpotqa"])
def test_its_label_is_what_the_action_led_to(name, cases):
    for outcome, case in cases(name, 3, 50):
        if case.checkpoint.kind is CheckpointKind.ACTION:
            assert (judged(case).label is Label.ALIGNED) == (outcome is Outcome.SUCCEEDED)


def test_at_the_end_of_a_chore_its_label_is_whether_it_is_done(cases):
    ends = [(outcome, case) for outcome, case in cases("alfworld", 3, 50) if case.checkpoint.kind is CheckpointKind.END]
    assert len(ends) > 20
    for outcome, case in ends:
        assert (judged(case).label is Label.ALIGNED) == (outcome is Outcome.SUCCEEDED)


@pytest.mark.at_length
def test_midway_a_wrong_thing_or_treatment_is_misaligned_and_the_right_one_is_not(cases):
    midway = [case for _, case in cases("alfworld", 1, 90) if case.checkpoint.kind is CheckpointKind.ACTION]
    labels = {judged(case).label for case in midway}
    assert labels == {Label.ALIGNED, Label.MISALIGNED}
    for case in midway:
        right = case.task.gold["thing"] in case.checkpoint.action.split()[1]
        assert right or judged(case).label is Label.MISALIGNED


@sweep("name", NAMES, kept=1)
def test_a_halted_trial_gets_words_and_no_label(name, cases):
    halted = [case for outcome, case in cases(name, 0, 50) if outcome is Outcome.HALTED]
    assert halted
    assert all(judged(case).label is None and judged(case).words for case in halted)


@sweep("name", NAMES, kept=1)
def test_its_words_never_tell_the_target(name, cases):
    told = 0
    for seed in range(4):
        for _, case in cases(name, seed, 50):
            for other in range(3):
                words = judged(replace(case, seed=other, trial=other)).words
                told += bool(words)
                lacking = [secret for secret in list_secrets(case.task) if secret not in case.task.instruction.lower()]
                assert lacking
                assert not reveals_target(words, case.task), words
    assert told > 170


def test_the_target_is_found_where_it_is_told(cases):
    _, case = cases("webshop", 0, 50)[0]
    assert reveals_target(f"Just buy {case.task.gold['asin']}.", case.task)
    assert reveals_target(f"It is called {case.task.gold['name']}", case.task)
    assert not reveals_target("It is too expensive; stay below the limit.", case.task)


def test_wordings_that_tell_the_target_are_not_used(cases, tmp_path):
    _, case = next(found for found in cases("hotpotqa", 0, 50) if judged(found[1]).words)
    folder = tmp_path / "hotpotqa"
    folder.mkdir()
    for name in ("general", "further", "page", "half", "astray", "namesake", "both", "misread", "halted"):
        (folder / f"{name}.txt").write_text(f"The answer is {case.task.gold['answer']}.\n", "utf-8")
    with pytest.raises(BadInput, match="reveal the target"):
        judged(replace(case, wordings=tmp_path))


def test_the_wordings_of_another_folder_take_the_place_of_the_own(cases, tmp_path):
    _, case = next(found for found in cases("webshop", 0, 50) if found[0] is Outcome.HALTED)
    folder = tmp_path / "webshop"
    folder.mkdir()
    (folder / "halted.txt").write_text("Get on with it.\n", "utf-8")
    assert judged(replace(case, wordings=tmp_path)).words == "Get on with it."


def test_a_folder_of_prompts_of_the_user_s_own_is_heard(cases, tmp_path, monkeypatch):
    _, case = next(found for found in cases("webshop", 0, 50) if found[0] is Outcome.HALTED)
    folder = tmp_path / "feedback" / "webshop"
    folder.mkdir(parents=True)
    (folder / "halted.txt").write_text("Hurry up.\n", "utf-8")
    monkeypatch.setenv("INFERACT_PROMPTS_DIR", str(tmp_path))
    settings.cache_clear()
    assert judged(case).words == "Hurry up."


@pytest.mark.parametrize("text", [None, "  \n\n"])
def test_missing_or_empty_wordings_are_named(cases, tmp_path, text):
    _, case = next(found for found in cases("webshop", 0, 50) if found[0] is Outcome.HALTED)
    if text is not None:
        (tmp_path / "webshop").mkdir()
        (tmp_path / "webshop" / "halted.txt").write_text(text, "utf-8")
    with pytest.raises(BadInput, match=r"halted\.txt"):
        judged(replace(case, wordings=tmp_path))


def test_the_same_case_gets_the_same_words(cases):
    for name in NAMES:
        assert all(judged(case) == judged(case) for _, case in cases(name, 2, 15))


def test_without_an_embedded_edition_it_says_so(cases):
    _, case = cases("webshop", 0, 50)[0]
    elsewhere = replace(case, task=TaskSpec("t", "tau-bench", "refund me"))
    with pytest.raises(BadInput, match="tau-bench"):
        judged(elsewhere)


def test_an_unknown_reviewer_is_named_with_those_there_are():
    with pytest.raises(BadInput, match="oracle, noisy"):
        get_reviewer("psychic")


def test_the_kind_of_a_question_is_no_part_of_its_answer():
    asked = ENVIRONMENTS["hotpotqa"].tasks(0, 40)
    for words in ("It is hard to see how you got there.", "Your comparison is wrong.", "The bridge is missing."):
        assert not [task.task_id for task in asked if reveals_target(words, task)]
    for task in asked:
        said = f"The answer is {task.gold['answer']}."
        assert reveals_target(said, task) or task.gold["answer"].lower() in task.instruction.lower()
