"""Refusals of optional parameters, in the wordings of the large providers: which one a complaint is about.

It stands apart from the endpoint because wordings change more often than the way to speak to one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

CHAT = "chat/completions"
"""Stands for the whole form of the request: a model that only speaks the Responses API refuses it."""
LENGTHS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
_DROPPABLE = (
    "top_logprobs", "logprobs", "max_completion_tokens", "max_tokens", "max_output_tokens", "temperature", "top_p",
    "seed",     "response_format", "reasoning_effort", "n",
)  # fmt: skip
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


def not_offered(status: int, message: str, param: object, body: Mapping[str, Any]) -> str | None:
    """The optional parameter of the body that the endpoint complains about; CHAT where it wants another form.

    None where the complaint is about something else, such as the key or a prompt that is too long.
    """
    if "input" not in body and status in (400, 404) and _OTHER_FORM.search(message):
        return CHAT
    if status not in _REFUSING:
        return None
    names = {_IN_RESPONSES.get(name, name) for name in body}
    named = _named(message, param, [name for name in _DROPPABLE if name in names])
    if named in LENGTHS:
        return named if _UNKNOWN.search(message) and not _TOO_LONG.search(message) else None
    return named if named and (_UNKNOWN.search(message) or (status < 500 and _VALUE.search(message))) else None


def _named(message: str, param: object, sent: list[str]) -> str | None:
    """The parameter that is named: by the field for it, in quotation marks, as a word, or in the provider's word."""
    field = _IN_RESPONSES.get(str(param).split(".")[0], param)
    if isinstance(field, str) and field in sent:
        return field
    quoted = [name for name in sent if re.search(rf"""['"`]{name}['"`]""", message, re.IGNORECASE)]
    words = [name for name in sent if len(name) > 1 and re.search(rf"\b{name}\b", message, re.IGNORECASE)]
    meant = [name for name in sent if name in _OTHER_NAMES and _OTHER_NAMES[name].search(message)]
    return next(iter([*quoted, *words, *meant]), None)
