"""Checks of actions on numbered objects (`clean mug 1 with sinkbasin 1`) against the words of the task."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from console.detection.detectors.rules.finding import PATTERNS, Finding, broken, quote_action, quote_request
from console.environments.evidence import Evidence
from console.trajectory.checkpoints import CheckpointKind
from console.trajectory.requirements import Line, Quote, Requirement, RequirementKind, Standing
from console.trajectory.requirements.sentences import HOUSEHOLD, SECOND

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
    said = re.search(rf"\b(?:{'|'.join(_CHANGES[missing[0]])})\w*", evidence.instruction)
    return Finding(1.0, told, ("change",), _end_line(RequirementKind.ATTRIBUTE, said, evidence))


def placing_missing(evidence: Evidence) -> Finding | None:
    """Find a trial that ends before the agent has put down every object that the task requires."""
    asked = re.search(r"\b(?:put|place|move)\b", evidence.instruction)
    verbs = list(_verbs(evidence))
    wanted = _count_wanted(evidence)
    done = sum(verb in _PLACING for verb in verbs)
    if evidence.checkpoint.kind is not CheckpointKind.END or not asked or not verbs or done >= wanted:
        return None
    told = f"The task asks the agent to put {'two objects' if wanted > 1 else 'an object'} somewhere; by the end, "
    line = _end_line(RequirementKind.THING, _find_placing(evidence), evidence)
    return Finding(1.0, f"{told}the agent has put {'only one' if done else 'nothing'} down.", ("placing",), line)


def _line(kind: RequirementKind, shown: str, evidence: Evidence) -> Line | None:
    """Return the broken line in ALFWorld, else None, because a numbered object may be anything elsewhere."""
    if evidence.checkpoint.environment != "alfworld":
        return None
    return broken(kind, "task", quote_request(evidence), quote_action(evidence, shown))


def list_done(evidence: Evidence, broken: Collection[RequirementKind]) -> Iterator[Line]:
    """Yield the lines of the parts of a task: those that the critical action does, and at the trial's end all.

    `broken` are the kinds of the broken lines, which need no other line.
    """
    done, is_changed = list(_list_done_actions(evidence)), True
    for kind, said, verbs, wanted in _list_parts(evidence):
        found = [quote for verb, thing, quote in done if verb in verbs and _named(thing, evidence)]
        handled = {" ".join(quote.text.split()[1:3]) for quote in found}
        shown = found[-1] if len(handled) >= wanted else None
        # An object that still needs a change is not the one that has to be put down.
        is_changed = is_changed and (bool(shown) or kind is not RequirementKind.ATTRIBUTE)
        shown = shown if is_changed else None
        is_end = evidence.checkpoint.kind is CheckpointKind.END
        if kind not in broken and (is_end or (shown and shown.step == evidence.pending.step)):
            yield replace(_part(kind, said, shown, evidence), rule=SECOND if shown and wanted > 1 else HOUSEHOLD)


_LAMP = re.compile(r"\b(?:look at|examine)\b.*\b(?:under|with|in|by)\b.*lamp")


def _list_parts(evidence: Evidence) -> Iterator[tuple[RequirementKind, re.Match[str], Collection[str], int]]:
    """Yield (kind, words of the task, verbs that do it, number of objects) of each part of a task."""
    for verb, stems in _CHANGES.items():
        if said := re.search(rf"\b(?:{'|'.join(stems)})\w*", evidence.instruction):
            yield RequirementKind.ATTRIBUTE, said, {verb}, 1
    if said := _find_placing(evidence):
        yield RequirementKind.THING, said, _PLACING, _count_wanted(evidence)
    if said := _LAMP.search(evidence.instruction):
        yield RequirementKind.THING, said, {"use"}, 1


def _find_placing(evidence: Evidence) -> re.Match[str] | None:
    """Return the words of a task for what is put where, without a change that belongs to it (`a cool pan`)."""
    adjective = "|".join(stem for stems in _CHANGES.values() for stem in stems)
    after = re.search(rf"\b(?:put|place|move) (?:\w+ )?(?:{adjective})\w* (\w.*\w)", evidence.instruction)
    start = after.start(1) if after else 0
    return re.compile(r"\w.*\w" if after else r"\b(?:put|place|move)\b.*\w").search(evidence.instruction, start)


def _end_line(kind: RequirementKind, said: re.Match[str] | None, evidence: Evidence) -> Line | None:
    """Return the broken line of a part of the task that no action did before the trial's end, in ALFWorld."""
    if evidence.checkpoint.environment != "alfworld" or said is None:
        return None
    shown = quote_action(evidence, evidence.checkpoint.action)
    return replace(_part(kind, said, shown, evidence), standing=Standing.BROKEN)


def _part(kind: RequirementKind, said: re.Match[str], shown: Quote | None, evidence: Evidence) -> Line:
    quote = Quote(evidence.checkpoint.instruction[said.start() : said.end()], said.start(), said.end())
    standing = Standing.MET if shown else Standing.NOT_SHOWN
    return Line(Requirement(kind, "task", quote.text, quote), standing, shown, HOUSEHOLD)


def _list_done_actions(evidence: Evidence) -> Iterator[tuple[str, str, Quote]]:
    """Yield (verb, object, quote) of each action on a numbered object that did not fail, the last action included."""
    acts = [(act.step, act.action) for act in evidence.acts if not act.failed]
    for step, action in (*acts, (evidence.pending.step, evidence.checkpoint.action)):
        if handled := HANDLED.match(action.strip()):
            yield handled["verb"].lower(), handled["object"], quote_action(evidence, action.strip(), step)


def _count_wanted(evidence: Evidence) -> int:
    return 2 if re.search(r"\b(?:two|2)\b", evidence.instruction) else 1


def _handled(evidence: Evidence) -> re.Match[str] | None:
    return HANDLED.match(evidence.checkpoint.action.strip())


def _verbs(evidence: Evidence) -> Iterator[str]:
    for action in (*(act.action for act in evidence.acts if not act.failed), evidence.checkpoint.action):
        if handled := HANDLED.match(action.strip()):
            yield handled["verb"].lower()


def _named(thing: str, evidence: Evidence) -> bool:
    joined = re.sub(r"[^a-z]", "", evidence.instruction)
    return re.sub(r"[^a-z]", "", thing.lower()) in joined
