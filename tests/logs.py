"""Small invented logs that tests import: a shop, in the console's own format."""

from __future__ import annotations

from pathlib import Path

from console.trajectory import Label, Outcome, Step, Trajectory

COLOURS = ("green", "blue", "red", "grey", "white", "black")


def purchase(number: int, *, wrong: bool, trial: int = 0) -> Trajectory:
    """A purchase of a kettle; a wrong one is dearer than the user's limit and of another colour."""
    wanted, other = COLOURS[number % 6], COLOURS[(number + 1) % 6]
    price, shown = (89.5, other) if wrong else (24.5, wanted)
    page = f"[Back to Search]\ncolor [{wanted}][{other}]\nKettle {number} {shown}\nPrice: ${price}\n[Buy Now]"
    return Trajectory(
        task_id=f"kettle-{number}",
        trial=trial,
        environment="webshop",
        instruction=f"i want a {wanted} kettle number {number}, and price lower than 30.00 dollars",
        steps=(
            Step(
                "The shop has to be searched.",
                f"search[{wanted} kettle {number}]",
                f"[B00{number:05}]\nKettle\n${price}",
            ),
            Step("This one will do.", f"click[B00{number:05}]", page),
            Step("The colour is to be chosen.", f"click[{shown}]", f"You have clicked {shown}."),
            Step("All is chosen.", "click[Buy Now]", f"Your score (min 0.0, max 1.0): {0.25 if wrong else 1.0}"),
        ),
        critical_action="click[Buy Now]",
        outcome=Outcome.FAILED if wrong else Outcome.SUCCEEDED,
        gold={"label": str(Label.MISALIGNED if wrong else Label.ALIGNED), "score": 0.25 if wrong else 1.0},
        source={"file": "kettles"},
    )


def stuck(number: int) -> Trajectory:
    """A trial that went in circles and never bought anything."""
    return Trajectory(
        task_id=f"kettle-{number}",
        environment="webshop",
        instruction=f"i want a kettle number {number}",
        steps=tuple(Step("", "click[Next >]", "Invalid action!") for _ in range(5)),
        outcome=Outcome.HALTED,
    )


def write_log(path: Path, *records: Trajectory) -> Path:
    """The records as canonical JSONL."""
    path.write_text("".join(record.to_json() + "\n" for record in records))
    return path
