"""Checks of recipients that the agent named instead of the user's recipient, in any script."""

from __future__ import annotations

import re
import unicodedata

from console.detection.detectors.rules.finding import (
    PATTERNS,
    Finding,
    broken,
    one_line,
    quote_action,
    quote_request,
    quote_user,
)
from console.environments.evidence import Evidence
from console.environments.tool_use import TracedCall
from console.trajectory.effects import Effect
from console.trajectory.provenance import Source
from console.trajectory.requirements import Quote, RequirementKind

PERSON = PATTERNS["recipients.person"]
"""The names of arguments for a person."""
SENDER = re.compile(r"^(?:from|sender|source|reply_?to|author|owner)", re.IGNORECASE)
"""The names of arguments for a sender or an origin."""
_WITHOUT_CAPITALS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0590-\u06ff\u0e00-\u0e7f\u0900-\u097f]")
_CAPITAL_WORD = re.compile(r"(?<![.!?:;\n]\s)(?<!^)(?<![^\W_])([^\W\d_][^\W\d_'’-]{1,30})")
_CODE = re.compile(r"[A-Z]{2,4}")
"""A short name in capitals, such as an airport code or a country code, which users seldom write."""
_NAME = re.compile(r"[^\W\d_][\w.'’ -]{0,40}")


def recipient_replaced(evidence: Evidence) -> Finding | None:
    """Find a recipient that the agent named instead of the recipient that the user named."""
    for call in evidence.pending_calls:
        for one in call.arguments:
            if one.source is Source.AGENT and PERSON.search(one.name) and _NAME.fullmatch(one.value.strip()):
                stated = _name_left_out(one.value, call, evidence)
                if stated is not None:
                    told = f'The user named "{one_line(stated.text, 60)}"; the call passes `{one.name}`: '
                    line = broken(RequirementKind.RECIPIENT, one.name, stated, quote_action(evidence, one.value))
                    return Finding(1.0, f"{told}{one_line(one.value, 60)}.", (one.value,), line)
    return None


def _name_left_out(value: str, call: TracedCall, evidence: Evidence) -> Quote | None:
    """Return the name that the user stated and the call leaves out, if it shares no word with the passed name."""
    passed = _folded(" ".join(text for _, text in call.leaves))
    tokens: list[str] = re.findall(r"[^\W\d_]{2,}", _folded(value))
    said = _folded(evidence.user)
    if not tokens or any(token[: max(2, len(token) - 2)] in said for token in tokens):
        return None
    if _WITHOUT_CAPITALS.search(value) and _WITHOUT_CAPITALS.search(evidence.user):
        return quote_request(evidence) if call.effects & {Effect.PAY, Effect.SEND} else None
    if _CODE.fullmatch(value.strip()) or any(c.isdigit() for c in value):
        return None
    if not value.strip()[:1].isupper() or not _is_of_one_script(value, evidence.checkpoint.instruction):
        return None
    names = [word for word in _CAPITAL_WORD.findall(evidence.checkpoint.instruction) if word[0].isupper()]
    left = [word for word in names if _folded(word)[: max(2, len(word) - 2)] not in passed]
    return quote_user(evidence, left[-1]) if left else None


def _is_of_one_script(first: str, second: str) -> bool:
    return bool(re.search(r"[a-z]", _folded(first))) == bool(re.search(r"[a-z]", _folded(second)))


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in plain if not unicodedata.combining(c)).replace("ß", "ss")
