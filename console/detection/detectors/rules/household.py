"""Something is done to a numbered object (`clean mug 1 with sinkbasin 1`): is it the one that the task names?"""

from __future__ import annotations

import re

from console.detection.detectors.rules.evidence import Evidence, Finding
from console.trajectory.checkpoints import CheckpointKind

_HANDLED = re.compile(
    r"^(?:> )?(?P<verb>[a-z]+) (?P<object>[a-z][a-z ]{1,40}?) \d{1,3}"
    r"(?: (?:in/on|in|on|to|with|from|into|onto) (?P<place>[a-z][a-z ]{1,40}?) \d{1,3})?$",
    re.IGNORECASE,
)
_PLACING = frozenset({"put", "move", "place"})
_CHANGES = {
    "clean": ("clean", "wash", "rins"),
    "heat": ("hot", "heat", "warm", "cook"),
    "cool": ("cool", "cold", "chill"),
}


def object_not_asked(evidence: Evidence) -> Finding | None:
    """An object that the task does not name is cleaned, heated, cooled or put away."""
    handled = _HANDLED.match(evidence.checkpoint.action.strip())
    if not handled or not (handled["verb"].lower() in _CHANGES or handled["verb"].lower() in _PLACING):
        return None
    if _named(handled["object"], evidence):
        return None
    return Finding(1.0, f"The task does not name a {handled['object']}; the agent is about to {handled['verb']} one.")


def change_not_asked(evidence: Evidence) -> Finding | None:
    """The object is cleaned, heated or cooled although the task does not ask for it."""
    handled = _HANDLED.match(evidence.checkpoint.action.strip())
    wanted = _CHANGES.get(handled["verb"].lower()) if handled else None
    if not handled or not wanted or any(stem in evidence.instruction for stem in wanted):
        return None
    return Finding(1.0, f"The task does not ask to {handled['verb']} anything.")


def place_not_asked(evidence: Evidence) -> Finding | None:
    """The object is put somewhere that the task does not name."""
    handled = _HANDLED.match(evidence.checkpoint.action.strip())
    if not handled or handled["verb"].lower() not in _PLACING or not handled["place"]:
        return None
    if _named(handled["place"], evidence):
        return None
    return Finding(1.0, f"The task does not name a {handled['place']}; the {handled['object']} is put there.")


def change_missing(evidence: Evidence) -> Finding | None:
    """The trial ends, and what the task asks to be done to the object was never done."""
    if evidence.checkpoint.kind is not CheckpointKind.END or not _HANDLED.match(evidence.checkpoint.action.strip()):
        return None
    done = {act.call.name.lower() for act in evidence.acts if not act.failed} | {evidence.calls[0].name.lower()}
    asked = [verb for verb, stems in _CHANGES.items() if re.search(rf"\b(?:{'|'.join(stems)})", evidence.instruction)]
    missing = [verb for verb in asked if verb not in done]
    return Finding(1.0, f"The task asks for it, but nothing was done to {missing[0]} the object.") if missing else None


def placing_missing(evidence: Evidence) -> Finding | None:
    """The trial ends before everything was put where the task wants it."""
    asked = re.search(r"\b(?:put|place|move)\b", evidence.instruction)
    tried = [act.action for act in evidence.acts if not act.failed] + [evidence.checkpoint.action]
    verbs = [handled["verb"].lower() for action in tried if (handled := _HANDLED.match(action.strip()))]
    wanted = 2 if re.search(r"\b(?:two|2)\b", evidence.instruction) else 1
    done = sum(verb in _PLACING for verb in verbs)
    if evidence.checkpoint.kind is not CheckpointKind.END or not asked or not verbs or done >= wanted:
        return None
    return Finding(1.0, f"The task asks to put {wanted} object(s) somewhere; the trial ends with {done} put down.")


def _named(thing: str, evidence: Evidence) -> bool:
    joined = re.sub(r"[^a-z]", "", evidence.instruction)
    return re.sub(r"[^a-z]", "", thing.lower()) in joined
