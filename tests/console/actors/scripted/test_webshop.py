"""The scripted shopper takes advice."""

import pytest

from console.environments import ENVIRONMENTS
from tests.later import Later

TASKS = Later(ENVIRONMENTS["webshop"].tasks, 0, 40)


def bought(trial):
    """The product that was open at the end."""
    opened = [action[6:-1] for action in trial.actions if action.startswith("click[B0")]
    return opened[-1]


@pytest.mark.parametrize("words", ["Anything other than {}.", "{} was refused, leave it alone.", "Not {} again!"])
def test_a_product_that_was_refused_is_left_alone(play, words):
    for task in TASKS[:12]:
        first = bought(play(task))
        assert bought(play(task, (words.format(first),))) != first


def test_an_option_that_is_named_is_chosen(play):
    overlooked = 0
    for task in TASKS:
        for value in task.gold["options"].values():
            if f"click[{value}]" not in play(task).actions:
                overlooked += 1
                again = play(task, (f"You forgot that I wanted {value}.",))
                offered = any(f"[{value}]" in step.observation for step in again.steps[2:])
                assert f"click[{value}]" in again.actions or not offered
    assert overlooked > 3


def test_a_person_may_change_their_mind_about_an_option(play):
    task = next(task for task in TASKS if "color" in task.gold["options"])
    first = next(step.observation for step in play(task).steps if "[Buy Now]" in step.observation)
    line = next(line for line in first.splitlines() if line.startswith("color "))
    other = next(v for v in line.partition("[")[2].rstrip(" ]").split("][") if v != task.gold["options"]["color"])
    told = f"Not {task.gold['options']['color']} any more; choose the color {other}."
    assert f"click[{other}]" in play(task, (told,)).actions


def test_who_complains_about_the_price_gets_something_within_the_limit(play):
    for task in TASKS:
        trial = play(task, ("That costs too much.",))
        page = next((s.observation for s in reversed(trial.steps) if "Price: $" in s.observation), "")
        limit = task.gold["price_limit"]
        if limit and trial.critical:
            assert float(page.partition("Price: $")[2].split()[0]) <= limit


def test_it_reads_the_features_when_told_to(play):
    told = [play(task, ("Read the features first.",)).actions for task in TASKS[:10]]
    assert all("click[Features]" in actions for actions in told)
