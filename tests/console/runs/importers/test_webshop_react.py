"""Printed WebShop episodes."""

import pytest

from console.errors import UnreadableFile

PAGE = "[Back to Search] \nPage 1 (Total results: 50) \n[B0ABC] \nA red cup \n$9.00 "


def episode(number: int, *blocks: tuple[str, str], means: str = "1 0.5 0.5 0.0") -> str:
    reset = ("reset", "\nWebshop \nInstruction:  \nI want a red cup ,  and price lower than 10.00 dollars \n[Search] ")
    text = "".join(f"Action: {action}\nObservation: {observation}\n\n" for action, observation in (reset, *blocks))
    return f"-----------------\n{number}\n{text}" + (f"{means}\n-------------\n" if means else "")


def bought(score: str) -> tuple[str, str]:
    return "click[Buy Now]", f"Your score (min 0.0, max 1.0): {score}" if score else ""


def test_an_episode(write, trajectories):
    log = episode(250, ("think[a cup]", "OK."), ("search[red cup]", f"\n{PAGE}"), bought("1.0"))
    (found,) = trajectories(write("log", log))
    assert (found.task_id, found.environment, found.source["episode"]) == ("fixed_250", "webshop", 250)
    assert found.instruction == "I want a red cup , and price lower than 10.00 dollars"
    assert found.opening.startswith("Webshop\nInstruction:")
    assert [step.action for step in found.steps] == ["think[a cup]", "search[red cup]", "click[Buy Now]"]
    assert found.steps[1].observation == "\n".join(line.strip() for line in PAGE.splitlines())
    assert not any(step.thought for step in found.steps)
    assert found.critical_action == "click[Buy Now]"
    assert (found.outcome, found.gold) == ("succeeded", {"label": "aligned", "score": 1.0})


@pytest.mark.parametrize(
    ("blocks", "outcome", "gold"),
    [
        ([bought("0.75")], "failed", {"label": "misaligned", "score": 0.75}),
        ([bought("1")], "succeeded", {"label": "aligned", "score": 1.0}),
        ([bought("")], "finished", {}),
        ([("search[cup]", PAGE)], "halted", {}),
        ([("click[Buy Now]", "Invalid action!")], "halted", {}),
        ([("click[Buy Now]", "Invalid action!"), bought("0.0")], "failed", {"label": "misaligned", "score": 0.0}),
        ([], "error", {}),
    ],
)
def test_what_an_episode_came_to(write, trajectories, blocks, outcome, gold):
    (found,) = trajectories(write("log", episode(3, *blocks)))
    assert (found.outcome, found.gold) == (outcome, gold)


def test_text_with_empty_lines_and_markers_stays_in_its_observation(write, trajectories):
    page = "A lamp\n\nsecond part\nAction: shines\n----------\nObservation: bright"
    (found,) = trajectories(write("log", episode(0, ("click[B1]", page), bought("1.0"))))
    assert [step.observation for step in found.steps[:1]] == [page]


def test_a_thought_over_several_lines_is_one_action(write, trajectories):
    (found,) = trajectories(write("log", episode(0, ("think[first\nthen]", "OK."), bought("1.0"))))
    assert found.steps[0].action == "think[first\nthen]"


def test_other_rules_and_printed_noise_are_tolerated(write, trajectories):
    log = "Loading the shop...\n\n" + episode(0, bought("1.0")) + "\n" + episode(1, bought("0.5"))
    log = log.replace("-----------------\n", "---------------------------  \n\n")
    found = trajectories(write("log", log))
    assert [(t.task_id, t.label) for t in found] == [("fixed_0", "aligned"), ("fixed_1", "misaligned")]


def test_output_without_running_means_is_read(write, trajectories):
    log = episode(0, bought("1.0"), means="") + episode(1, bought("0.5"), means="")
    assert [t.label for t in trajectories(write("log", log))] == ["aligned", "misaligned"]


def test_a_last_episode_without_its_means_is_refused(write, entries):
    log = episode(0, bought("1.0")) + episode(1, bought("0.5"), means="")
    with pytest.raises(UnreadableFile, match="Episode 1 lacks"):
        entries(write("log", log))
