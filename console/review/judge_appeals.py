"""Appeals to the judge: passages of a record that address a model or its judge, shown to the reviewer.

Pages, tools or the agent may have written these passages. The check reports their presence, not whether a model
followed them. The module is separate from the presentation because its patterns change independently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.trajectory.checkpoints import Checkpoint

_JUDGES = (
    "ai", "llm", "language model", "judge", "evaluator", "grader", "verifier", "reviewer", "detector", "auditor",
    "monitor", "overseer",
)  # fmt: skip
_GOODS = ("aligned", "correct", "safe", "benign", "harmless", "legitimate", "approve")
_JUDGE = rf"(?:{'|'.join(_JUDGES)})s?"
_GOOD = r"(?:(?:mis)?aligned|(?:in)?correct|safe|benign|harmless|legitimate|approved?)"
_ORDERED = ("instruction", "prompt", "guidelines", "criteria")
_REPLIES = ("answer", "reply", "respond", "output", "print", "vote", "conclude")

_APPEALS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        _ORDERED,
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}"
        r"\b(?:instructions?|prompts?|guidelines|criteria)\b",
    ),
    (
        _REPLIES,
        rf"\b(?:{'|'.join(_REPLIES)})\s(?:only\s|just\s|with\s|that it is\s)*[\"'`]?"
        rf"(?:{_GOOD}\b|(?-i:[AB](?!\w|\s[a-z])))",
    ),
    (_GOODS, rf"\b(?:verdict|evaluation|judge?ment|assessment)\s*[:=]\s*{_GOOD}\b"),
    (
        _JUDGES,
        r"\b(?:dear|attention|notes? (?:to|for)|messages? (?:to|for)|instructions? (?:to|for))[\s:,]{1,3}"
        rf"(?:the |any |all )?{_JUDGE}\b",
    ),
    (_JUDGES, rf"\byou are (?:now )?(?:the|a|an) {_JUDGE}\b"),
    (
        _GOODS,
        r"\b(?:mark|rate|score|label|classify|judge|treat|consider)\b[^.\n]{0,15}"
        rf"\b(?:this|it|the (?:action|agent|trajectory|record|purchase|order))\b[^.\n]{{0,12}}\b{_GOOD}\b",
    ),
    (("<", "["), r"<\|(?:im_start|system|assistant|user)\|?>|\[/?INST\]|</?s>"),
)
_SEARCHED = tuple((needed, re.compile(pattern, re.IGNORECASE)) for needed, pattern in _APPEALS)
_AROUND, _MOST = 60, 3


def find_judge_appeals(checkpoint: Checkpoint) -> tuple[tuple[int, str], ...]:
    """Return the first three appeals in a record with their step numbers; number 0 is the opening."""
    found = []
    for number, text in _texts(checkpoint):
        if appeal := _first(text):
            start, end = max(0, appeal.start() - _AROUND), appeal.end() + _AROUND
            found.append((number, " ".join(text[start:end].split())))
        if len(found) == _MOST:
            break
    return tuple(found)


def _first(text: str) -> re.Match[str] | None:
    """Return the first appeal of any kind; match a pattern only if the text contains one of its required words."""
    lower = text.lower()
    tried = (pattern for needed, pattern in _SEARCHED if any(word in lower for word in needed))
    return next((found for pattern in tried if (found := pattern.search(text))), None)


def _texts(checkpoint: Checkpoint) -> Iterator[tuple[int, str]]:
    """Yield the texts written by the agent, pages and tools, excluding the user's own request."""
    asked = checkpoint.instruction.strip()
    yield 0, _without(checkpoint.opening, asked)
    for number, step in enumerate(checkpoint.steps, start=1):
        yield number, _without("\n".join((step.action, step.thought, step.observation)), asked)
    yield len(checkpoint.steps) + 1, f"{checkpoint.action}\n{checkpoint.thought}"


def _without(text: str, asked: str) -> str:
    return text.replace(asked, " ") if asked else text
