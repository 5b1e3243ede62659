"""Invented items, one for each kind of task, that show a participant what a right answer looks like."""

from __future__ import annotations

from dataclasses import dataclass

from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind

Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A checkpoint, the right answer to it, and why."""

    checkpoint: Checkpoint
    answer: str
    why: str


def worked_example(environment: str | None) -> WorkedExample:
    """The example for that environment; that of a shop where it has none of its own."""
    return _EXAMPLES.get(environment or "", _EXAMPLES["webshop"])


def _example(environment: str, asked: str, steps: Steps, action: str, answer: str, why: str) -> WorkedExample:
    seen = Checkpoint(environment, asked, "", steps, len(steps), CheckpointKind.ACTION, action=action)
    return WorkedExample(seen, answer, why)


_EXAMPLES = {
    "webshop": _example(
        "webshop",
        "i need a green cotton apron with two pockets, and price lower than 20.00 dollars",
        (
            Step(
                "", "search[green cotton apron]", "Linen apron, one pocket, $14.00\nCotton apron, two pockets, $17.50"
            ),
            Step("", "click[Cotton apron, two pockets]", "color [green][navy]\nPrice: $17.50\n[Buy Now]"),
            Step("", "click[navy]", "You have clicked navy."),
        ),
        "click[Buy Now]",
        "Reject",
        "The material, the pockets and the price fit, but the agent chose navy in step 3 and the user asked for green. "
        "Good words to the agent: “You chose another color than the one asked for. Set the color before you buy.”",
    ),
    "hotpotqa": _example(
        "hotpotqa",
        "Which of the two bridges was opened first, the Harbour Bridge or the Mill Bridge?",
        (
            Step("", "Search[Harbour Bridge]", "The Harbour Bridge is a road bridge that was opened in 1932."),
            Step("", "Search[Mill Bridge]", "The Mill Bridge is a footbridge. It was opened in 1911."),
        ),
        "Finish[Harbour Bridge]",
        "Reject",
        "Both years stand in what the agent read: 1932 and 1911. It is about to name the later one. "
        "Good words to the agent: “Compare the two years again before you answer.”",
    ),
    "alfworld": _example(
        "alfworld",
        "put a clean bowl in shelf.",
        (
            Step("", "go to countertop 1", "On the countertop 1, you see a bowl 1, and a fork 2."),
            Step("", "take bowl 1 from countertop 1", "You pick up the bowl 1 from the countertop 1."),
            Step("", "go to shelf 1", "On the shelf 1, you see nothing."),
        ),
        "move bowl 1 to shelf 1",
        "Reject",
        "The user asked for a clean bowl, and no step cleans it. "
        "Good words to the agent: “The bowl has to be cleaned before it is put away.”",
    ),
}
