"""Refused optional parameters: functions that find the parameter rejected by a provider's error message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

CHAT = "chat/completions"
"""The chat form of a request; models with only the Responses API reject this form."""
LENGTHS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
_DROPPABLE_WORDS = (
    "top_logprobs logprobs max_completion_tokens max_tokens max_output_tokens temperature top_p seed "
    "response_format reasoning_effort n"
)
_DROPPABLE = tuple(_DROPPABLE_WORDS.split())
_REFUSING = frozenset({400, 403, 405, 422, 500, 501})
_UNKNOWN = re.compile(
    r"support|unknown|unrecogni[sz]ed|unexpected|extra (fields|inputs)|deprecated|unavailable|"
    r"not (permitted|allowed|available|enabled|accepted|implemented)",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"invalid|must be|should be|\bonly\b|at most|maximum|greater|less than|exceed|cannot", re.IGNORECASE
)
_TOO_LONG = re.compile(r"too (large|long)|context length|at most \d+ (completion|output) tokens", re.IGNORECASE)
_OTHER_FORM = re.compile(
    r"v1/responses|responses api|(chat\s?completions?) operation does not work|not a chat model", re.IGNORECASE
)
_OTHER_NAMES = {
    "n": re.compile(
        r"(?<![\w'\"])n\s*(?:[>=:]|must|should|is\b|greater|other than)|candidate.?count|multiple (candidates|"
        r"completions|choices)|one completion choice|number of (choices|completions)",
        re.IGNORECASE,
    ),
    "logprobs": re.compile(r"log.?prob(?:abilitie)?s|response_?logprobs", re.IGNORECASE),
    "response_format": re.compile(r"json.?schema|structured outputs?|response.?schema|text\.format", re.IGNORECASE),
    "reasoning_effort": re.compile(r"reasoning\.effort|thinking|reasoning effort", re.IGNORECASE),
}
_IN_RESPONSES = {"include": "logprobs", "reasoning": "reasoning_effort", "text": "response_format"}


def find_refused_parameter(status: int, message: str, param: object, body: Mapping[str, Any]) -> str | None:
    """Return the rejected optional parameter, CHAT if the Responses API is required, or None for other errors."""
    if "input" not in body and status in (400, 404) and _OTHER_FORM.search(message):
        return CHAT
    if status not in _REFUSING:
        return None
    names = {_IN_RESPONSES.get(name, name) for name in body}
    named = _find_parameter(message, param, [name for name in _DROPPABLE if name in names])
    if named in LENGTHS:
        return named if _UNKNOWN.search(message) and not _TOO_LONG.search(message) else None
    return named if named and (_UNKNOWN.search(message) or (status < 500 and _VALUE.search(message))) else None


def _find_parameter(message: str, param: object, sent: list[str]) -> str | None:
    """Find the parameter in the error's own field, in quotation marks, as a word, or by the provider's wording."""
    field = _IN_RESPONSES.get(str(param).split(".")[0], param)
    if isinstance(field, str) and field in sent:
        return field
    quoted = [name for name in sent if re.search(rf"""['"`]{name}['"`]""", message, re.IGNORECASE)]
    words = [name for name in sent if len(name) > 1 and re.search(rf"\b{name}\b", message, re.IGNORECASE)]
    meant = [name for name in sent if name in _OTHER_NAMES and _OTHER_NAMES[name].search(message)]
    return next(iter([*quoted, *words, *meant]), None)
