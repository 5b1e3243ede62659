"""An offline model for planners: it acts on the plan's text, and it remarks on what it reads in a trial.

It knows how each task is done, and errs as its table says: an action of a kind goes wrong with some probability unless
the plan says how it is done, and more often where the plan says the opposite. Asked anything about a trial, it speaks
of some of the actions in it, by the same rule whatever the question, and is mostly right. Asked for a plan, it counts
the sentences that it knows in what came of the trials, and keeps of a hint and its opposite the one that stands there
more often, else what the plan said. Nowhere does it know how many trials there are, or which question a text answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random

from console.llm.messages import Reply

ERRORS = {
    "open": (0.45, "Open whatever is closed before you reach into it.", "Never open anything, only reach in."),
    "take": (0.35, "Take a thing by its name and its number.", "Take a thing by its name alone."),
    "heat": (0.40, "Heat things with the microwave.", "Heat things with the stoveburner."),
    "move": (0.35, "Put a thing down with move THING to PLACE.", "Put a thing down with drop THING."),
}
"""By the first word of an action: how often it goes wrong without a hint, the right hint, the opposite one."""
SLIP, MISLED = 0.02, 0.85
"""How often an action goes wrong although the plan says how it is done, and where the plan says the opposite."""
SPEAKS, RIGHT = 0.5, 0.75
"""How often it speaks of a kind of action that was in the trial, and is right then."""
NOTHING = "There is nothing to say."
_FENCED = re.compile(r"<<<action \w+\n(.*?)\naction \w+>>>", re.DOTALL)


@dataclass(slots=True)
class PlannerModel:
    """The model; `ways` are the actions that do each task, by the words that its trial begins with."""

    seed: int
    ways: dict[str, list[str]] = field(default_factory=dict)
    calls: int = 0

    async def complete(self, messages, *, seed=0, **_):
        """The reply in the form of the model client."""
        self.calls += 1
        return Reply((self._text(messages, seed),), (None,), "offline")

    def _text(self, messages, seed):
        asked = messages[-1]["content"]
        draw = Random(f"{self.seed} {seed} {[message['content'] for message in messages]}")
        if "Rewrite the first action" in asked:
            return _FENCED.search(asked)[1]
        if "Write the next plan" in asked:
            return written(asked)
        if "Now the action" in asked:
            return self._action(messages, draw)
        if "write one thought" in asked:
            return "I go by the plan."
        return remark(messages, draw)

    def _action(self, messages, draw):
        way = self.ways[messages[1]["content"].strip()]
        done = sum(message["role"] == "assistant" for message in messages) // 2
        action = way[min(done, len(way) - 1)]
        verb, plan = action.split()[0], messages[0]["content"]
        return spoilt(action) if draw.random() < chance(verb, plan) else action


def chance(verb, plan):
    """How often an action of that verb goes wrong by a plan of that text."""
    if verb not in ERRORS:
        return 0.0
    usual, hint, opposite = ERRORS[verb]
    if opposite in plan:
        return MISLED
    return SLIP if hint in plan else usual


def spoilt(action):
    """The action as somebody does it who gets it wrong: the world answers that nothing happens."""
    verb = action.split()[0]
    if verb == "open":
        return "examine the inside"
    if verb == "take":
        return re.sub(r" \d+ from", " from", action)
    return action.replace("microwave", "stoveburner") if verb == "heat" else f"drop {action.split(' ', 1)[1]}"


_KINDS = {"examine the inside": "open", "drop": "move"} | {verb: verb for verb in ERRORS}
"""Kinds of action by how they begin, as they are spoilt and as they should be."""


def remark(messages, draw):
    """What it says of the trial in the messages."""
    told = [message["content"] for message in messages if message["role"] == "assistant"]
    kinds = [kind for begins, kind in _KINDS.items() if any(text.startswith(begins) for text in told)]
    said = [ERRORS[kind][1 if draw.random() < RIGHT else 2] for kind in dict.fromkeys(kinds) if draw.random() < SPEAKS]
    return " ".join(said) or NOTHING


def written(prompt):
    """The plan that a prompt comes to."""
    before, _, came_of_it = prompt.partition("What came of it")
    kept = []
    for _, hint, opposite in ERRORS.values():
        for_it, against = came_of_it.count(hint), came_of_it.count(opposite)
        if for_it != against:
            kept.append(hint if for_it > against else opposite)
        else:
            kept += [known for known in (hint, opposite) if known in before]
    return "\n".join(f"{number}. {hint}" for number, hint in enumerate(kept, start=1)) or NOTHING
