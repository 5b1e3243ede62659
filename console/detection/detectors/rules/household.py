"""Checks of actions on numbered objects (`clean mug 1 with sinkbasin 1`) against the words of the task."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.detection.detectors.rules.finding import PATTERNS, Finding, broken, quote_action, quote_request
from console.environments.evidence import Evidence
from console.trajectory.checkpoints import CheckpointKind
from console.trajectory.requirements import Line, RequirementKind

HANDLED = PATTERNS["household.handled"]
"""The pattern of an action on a numbered object."""
_PLACING = frozenset({"put", "move", "place"})
_CHANGES = {
    "clean": ("clean", "wash", "rins"),
    "heat": ("hot", "heat", "warm", "cook"),
    "cool": ("cool", "cold", "chill"),
}


def object_not_asked(evidence: Evidence) -> Finding | None:
    """Find an object that is cleaned, heated, cooled or put away although the task does not name it."""
    handled = _handled(evidence)
    if not handled or not (handled["verb"].lower() in _CHANGES or handled["verb"].lower() in _PLACING):
        return None
    if _named(handled["object"], evidence):
        return None
    verb = handled["verb"].lower()
    does = "puts one down" if verb == "put" else f"{verb}s one"
    sentence = f"The task does not name a {handled['object']}; with this action the agent {does}."
    return Finding(1.0, sentence, ("object",), _line(RequirementKind.THING, handled["object"], evidence))


def change_not_asked(evidence: Evidence) -> Finding | None:
    """Find cleaning, heating or cooling that the task does not ask for."""
    handled = _handled(evidence)
    wanted = _CHANGES.get(handled["verb"].lower()) if handled else None
    if not handled or not wanted or any(stem in evidence.instruction for stem in wanted):
        return None
    line = _line(RequirementKind.ATTRIBUTE, handled["verb"], evidence)
    return Finding(1.0, f"The task does not ask the agent to {handled['verb']} anything.", ("change",), line)


def place_not_asked(evidence: Evidence) -> Finding | None:
    """Find an object that is put in a place that the task does not name."""
    handled = _handled(evidence)
    if not handled or handled["verb"].lower() not in _PLACING or not handled["place"]:
        return None
    if _named(handled["place"], evidence):
        return None
    sentence = f"The task does not name a {handled['place']}; the agent puts the {handled['object']} there."
    return Finding(1.0, sentence, ("place",), _line(RequirementKind.OPTION, handled["place"], evidence))


def change_missing(evidence: Evidence) -> Finding | None:
    """Find a trial that ends without the change that the task asks for."""
    done = set(_verbs(evidence))
    if evidence.checkpoint.kind is not CheckpointKind.END or not done:
        return None
    asked = [verb for verb, stems in _CHANGES.items() if re.search(rf"\b(?:{'|'.join(stems)})", evidence.instruction)]
    missing = [verb for verb in asked if verb not in done]
    if not missing:
        return None
    told = f"The task asks the agent to {missing[0]} an object, but no step does so."
    return Finding(1.0, told, ("change",), _line(RequirementKind.ATTRIBUTE, evidence.checkpoint.action, evidence))


def placing_missing(evidence: Evidence) -> Finding | None:
    """Find a trial that ends before the agent has put down every object that the task requires."""
    asked = re.search(r"\b(?:put|place|move)\b", evidence.instruction)
    verbs = list(_verbs(evidence))
    wanted = 2 if re.search(r"\b(?:two|2)\b", evidence.instruction) else 1
    done = sum(verb in _PLACING for verb in verbs)
    if evidence.checkpoint.kind is not CheckpointKind.END or not asked or not verbs or done >= wanted:
        return None
    told = f"The task asks the agent to put {'two objects' if wanted > 1 else 'an object'} somewhere; by the end, "
    line = _line(RequirementKind.THING, evidence.checkpoint.action, evidence)
    return Finding(1.0, f"{told}the agent has put {'only one' if done else 'nothing'} down.", ("placing",), line)


def _line(kind: RequirementKind, shown: str, evidence: Evidence) -> Line | None:
    """Return the broken line in ALFWorld, else None, because a numbered object may be anything elsewhere."""
    if evidence.checkpoint.environment != "alfworld":
        return None
    return broken(kind, "task", quote_request(evidence), quote_action(evidence, shown))


def _handled(evidence: Evidence) -> re.Match[str] | None:
    return HANDLED.match(evidence.checkpoint.action.strip())


def _verbs(evidence: Evidence) -> Iterator[str]:
    for action in (*(act.action for act in evidence.acts if not act.failed), evidence.checkpoint.action):
        if handled := HANDLED.match(action.strip()):
            yield handled["verb"].lower()


def _named(thing: str, evidence: Evidence) -> bool:
    joined = re.sub(r"[^a-z]", "", evidence.instruction)
    return re.sub(r"[^a-z]", "", thing.lower()) in joined
