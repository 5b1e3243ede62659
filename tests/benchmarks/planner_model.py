"""An offline model for planners: it acts on the plan's text, and it remarks on what it reads in a trial.

It knows how each task is done, and errs as its table says: an action of a kind goes wrong with some probability unless
the plan says how it is done, and more often where the plan says the opposite. Asked anything about a trial, it makes
one remark, by the same rule whatever the question: right, wrong, or beside the point. Asked for a plan, it counts the
sentences of the whole prompt that it knows, and keeps on each subject the one that stands there most often. That is
all: nowhere does it know how many trials there are, or which question a text answers.
"""

from __future__ import annotations

import re
from collections import Counter
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
BESIDE = ("Look around before you do anything.", "Be quick.", "Name what you see.")
RIGHT, WRONG = 0.55, 0.30
"""How often a remark on a failed trial is the right hint, or an opposite one; else it is beside the point."""
_LINES = 7
_SUBJECT = {hint: verb for verb, (_, *hints) in ERRORS.items() for hint in hints} | {hint: hint for hint in BESIDE}
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


_WENT_WRONG = {"examine the inside": "open", "take": "take", "heat": "heat", "drop": "move"}


def remark(messages, draw):
    """One remark on the trial in the messages."""
    last = None
    for message, after in zip(messages, messages[1:], strict=False):
        if message["role"] == "assistant" and "Nothing happens." in after["content"]:
            last = next((verb for told, verb in _WENT_WRONG.items() if message["content"].startswith(told)), last)
            if last:
                break
    luck = draw.random()
    if last is None or luck >= RIGHT + WRONG:
        return draw.choice(BESIDE)
    return ERRORS[last][1] if luck < RIGHT else ERRORS[draw.choice(sorted(ERRORS))][2]


def written(prompt):
    """The plan that the sentences of a prompt come to."""
    votes = Counter({hint: prompt.count(hint) for hint in _SUBJECT if hint in prompt})
    best = {}
    for hint, _ in votes.most_common():
        best.setdefault(_SUBJECT[hint], hint)
    return "\n".join(f"{number}. {hint}" for number, hint in enumerate(list(best.values())[:_LINES], start=1))
