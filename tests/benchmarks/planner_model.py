"""A scripted learner that takes the model's place in AutoPlan: it knows what it is shown, and nothing else.

It is told where things are (`ways`), not how they are treated: it chooses the appliance, and whether to open a closed
place first, by its plan, and by chance where the plan is silent. Asked for a trial's flaw, it names the choices after
which it read "Nothing happens."; asked for the revision, the choices that had an effect. Where the world gives reasons,
it blames no appliance for a missing thing, and revises to the appliance that a reason names. Without observations it
guesses among the choices of the trial. The next plan comes from contrasts: a choice counts for each trial that was done
and keeps it, and against for each that was not done and blames it, beside one vote of the plan so far.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from console.llm.messages import Reply

TRIES = 2
"""Appliances that it tries in one trial."""
VAIN = "Nothing happens."
NOTHING = "There is nothing to say."
OPEN, REACH = "Open a closed place before reaching into it.", "Reach into a closed place without opening it."
HIDDEN = "(not shown)"
_FENCED = re.compile(r"<<<action \w+\n(.*?)\naction \w+>>>", re.DOTALL)
_SEEN = re.compile(r"Observation: (.*?)(?:\n\n|$)", re.DOTALL)
_ROOM = re.compile(r"\b(?:an?|and an?) ([a-z]+) \d+")
_TRIAL = re.compile(r"^\[E\d+\].*?(?=^\[E\d+\]|\Z)", re.DOTALL | re.MULTILINE)
_NEEDED, _NOT_CARRIED = re.compile(r"To heat something takes an? (\w+), not"), "You do not carry"
_HEAT = re.compile(r"Heat things with the \w+\.")


def rule(kind):
    """The sentence that says to heat with an appliance."""
    return f"Heat things with the {kind}."


def rules_in(text):
    """The rules in a text."""
    return [*_HEAT.findall(text), *(one for one in (OPEN, REACH) if one in text)]


@dataclass(slots=True)
class Learner:
    """The learner; `ways` are the actions that do each task, by the words that its trial begins with.

    `control` spoils what it is shown of ended trials: `hidden` observations, `inverted` outcomes, or `swapped` flaws
    and revisions.
    """

    seed: int
    control: str = ""
    ways: dict[str, list[str]] = field(default_factory=dict)

    async def complete(self, messages, *_, **__):
        """The reply in the form of the model client."""
        return Reply((self._text(messages),), (None,), "offline")

    def _text(self, messages):
        asked = messages[-1]["content"]
        if "Rewrite the first action" in asked:
            return _FENCED.search(asked)[1]
        if "Write the next plan" in asked:
            return written(spoilt(asked, self.control))
        if "Now the action" in asked:
            return next_action(self.ways[messages[1]["content"].strip()], self._choices(messages), seen_in(messages))
        if "write one thought" in asked:
            return "I go by the plan."
        if "Sum up" in asked:
            return NOTHING
        return self._remark(messages, blames="Name the flaw" in asked)

    def _choices(self, messages):
        """(the appliances in the order to try, whether it opens) of a trial, the same at each of its steps."""
        plan, task = messages[0]["content"], messages[1]["content"]
        draw = Random(f"{self.seed} {plan} {task}")
        kinds = sorted(set(_ROOM.findall(task)))
        draw.shuffle(kinds)
        planned = [kind for kind in kinds if rule(kind) in plan]
        opens = OPEN in plan if rules_in(plan) and (OPEN in plan or REACH in plan) else draw.random() < 0.5
        return [*planned, *(kind for kind in kinds if kind not in planned)][:TRIES], opens

    def _remark(self, messages, *, blames):
        """What it says of the trial: the choices without an effect, or those with one."""
        hidden = self.control == "hidden"
        told = [(said, HIDDEN if hidden else seen) for said, seen in turns(messages)]
        found = []
        for said, seen in told:
            choice = chosen(said, told)
            if (needed := _NEEDED.search(seen)) and not blames:
                found.append(rule(needed[1]))
            elif choice and _NOT_CARRIED not in seen and (seen == HIDDEN or (VAIN in seen) is blames):
                found.append(choice)
        if hidden and found:
            found = [Random(f"{self.seed} {told} {blames}").choice(found)]
        return " ".join(dict.fromkeys(found)) or NOTHING


def turns(messages):
    """(action, observation) of each step of a trial, the last observation included."""
    said = [one["content"] for one in messages if one["role"] == "assistant"][1::2]
    return list(zip(said, seen_in(messages), strict=False))


def seen_in(messages):
    """The observations in a conversation."""
    texts = (one["content"] for one in messages if one["role"] == "user" and one["content"].startswith("Observation: "))
    return [_SEEN.match(text)[1] for text in texts]


def chosen(action, told):
    """The rule by which an action was chosen, or "" if it had no choice."""
    if action.startswith("heat "):
        return rule(action.rpartition(" with ")[2].rpartition(" ")[0])
    if action.startswith("open "):
        return OPEN
    if not action.startswith("take "):
        return ""
    place = action.rpartition(" from ")[2]
    return "" if f"open {place}" in [said for said, _ in told] else REACH


def next_action(way, choices, seen):
    """The next action of a trial after these observations: the way, by the learner's own choices."""
    appliances, opens = choices
    own = [action for action in way if opens or not action.startswith("open ")]
    at = next(number for number, action in enumerate(own) if action.startswith("heat "))
    acts = own[: at - 1]
    for kind in appliances:
        acts += [f"go to {kind} 1", f"{own[at].rpartition(' with ')[0]} with {kind} 1"]
        if len(seen) < len(acts) or VAIN not in seen[len(acts) - 1]:
            break
    acts += own[at + 1 :]
    return acts[len(seen)] if len(seen) < len(acts) else "look" if len(seen) % 2 else "inventory"


def spoilt(asked, control):
    """What an update is shown under a control."""
    if control == "inverted":
        other = {"done": "not done", "not done": "done"}
        return re.sub(
            r"^Result: (not done|done)$", lambda found: f"Result: {other[found[1]]}", asked, flags=re.MULTILINE
        )
    if control == "swapped":
        other = {"Flaw": "Revision", "Revision": "Flaw"}
        return re.sub(r"^(Flaw|Revision):", lambda found: f"{other[found[1]]}:", asked, flags=re.MULTILINE)
    return asked


def written(asked):
    """The next plan: the rules with more votes for than against, and the best alone of those that exclude others."""
    before, _, _ = asked.partition("What came of it")
    votes = Counter(rules_in(before))
    for trial in _TRIAL.findall(asked):
        flaw, revision = (re.search(rf"^{name}: (.*)$", trial, re.MULTILINE) for name in ("Flaw", "Revision"))
        if "\nResult: done" in trial:
            votes.update(set(rules_in(revision[1])) if revision else ())
        else:
            votes.subtract(set(rules_in(flaw[1])) if flaw else ())
    ranked = [one for one, count in sorted(votes.items(), key=lambda pair: (-pair[1], pair[0])) if count > 0]
    heat = [one for one in ranked if one.startswith("Heat")][:1]
    doors = [one for one in ranked if one in (OPEN, REACH)][:1]
    kept = heat + doors
    return "\n".join(f"{number}. {one}" for number, one in enumerate(kept, start=1)) or f"1. {NOTHING}"
