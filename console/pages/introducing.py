"""What a participant reads before a part of the study: what is there to work with, and no word on why it changes."""

from __future__ import annotations

from collections.abc import Mapping

from console.studies.design import Design, varied

_SAID: Mapping[tuple[str, str], str] = {
    ("feedback", "nl"): "You can tell the agent in your own words what is wrong; it reads them before it tries again.",
    ("feedback", "binary"): "You approve or reject. There is no field for words in this part.",
    ("score", "shown"): "Each item shows how strongly an automatic check doubts it.",
    ("score", "hidden"): "Items show no score in this part.",
    ("explanation", "shown"): "Each item says why it was picked out.",
    ("explanation", "hidden"): "Items do not say why they were picked out.",
    ("brief", "target"): "You are told what the user has in mind. Do not pass it on to the agent.",
    ("brief", "none"): "You know about the task what the user wrote, and no more.",
    ("highlights", "shown"): "Words of the task are marked where they occur in the steps.",
    ("highlights", "hidden"): "Nothing is marked in the texts.",
    ("detector_name", "shown"): "Each item names the check that picked it out.",
    ("earlier", "shown"): "From the second round on you also see what the agent did before.",
    ("earlier", "hidden"): "What the agent did in earlier rounds is not shown.",
}
SAME = "The tasks are new; everything else works as before."
OTHERS = "The tasks are new."


def points(design: Design, levels: Mapping[str, str], *, first: bool) -> list[str]:
    """What holds in the part with these levels, a sentence each: only what differs between parts, and the budget."""
    said = [words for name in varied(design) if (words := _SAID.get((name, levels[name])))]
    if not first:
        said.insert(0, OTHERS if said else SAME)
    return [*said, *_rounds(design.trials), *_reviews(design.budget)]


def _rounds(count: int) -> list[str]:
    many = f"There are {count} rounds. After each one the agents try again what did not succeed."
    return [many] if count > 1 else []


def _reviews(budget: str | None) -> list[str]:
    if budget is None:
        return []
    if not budget.isdecimal():
        return ["Not every item can be reviewed; the line above an item says how many reviews are left."]
    items = "1 item" if int(budget) == 1 else f"{budget} items"
    return [f"You can review at most {items} in a round; the line above an item says how many are left."]
