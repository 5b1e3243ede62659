"""Patterns for replies that decline to answer in words, in many languages."""

from __future__ import annotations

import re
from importlib.resources import files

from console.llm.messages import Reply
from console.trajectory.strict_yaml import read_data

_LABELLED = re.compile(
    r"^\W*(?:verdict|answer|step\s*\d+|task|reason|status)\b.{0,20}[:=]", re.IGNORECASE | re.MULTILINE
)
_LONGEST_REFUSAL, _OPENING, _SHOWN = 1_500, 300, 120
_REFUSAL = re.compile(
    "|".join(read_data(files(__package__) / "declined.yaml", tuple[str, ...])), re.IGNORECASE | re.DOTALL
)


def find_refusal(reply: Reply) -> str:
    """Return the first sentence of a reply that declines to answer in words, or "" for any other reply."""
    texts = [text.strip() for text in reply.texts]
    if not all(is_refusal(text) for text in texts):
        return ""
    first = " ".join(re.split(r"(?<=[.!?。！？])\s*", texts[0], maxsplit=1)[0].split())
    return first if len(first) <= _SHOWN else first[: _SHOWN - 1].rstrip() + "…"


def is_refusal(text: str) -> bool:
    """Return whether a reply declines to answer in words."""
    plain = text[:_OPENING].replace("’", "'")
    return 0 < len(text) <= _LONGEST_REFUSAL and bool(_REFUSAL.search(plain)) and not _LABELLED.search(text)
