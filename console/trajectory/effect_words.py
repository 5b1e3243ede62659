"""Words of effects: the possible effects of a call, and the verbs, commands and nouns that indicate an effect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files

from console.trajectory.strict_yaml import Words, read_data


class Effect(StrEnum):
    """The effect of a call on the world; pages show the values."""

    READ = "read"
    WRITE = "write"
    PAY = "pay"
    SEND = "send"
    DELETE = "delete"
    RUN = "run code"


CHANGING = frozenset(Effect) - {Effect.READ}
"""The effects that change data or the world."""
IN_WORDS: dict[Effect, str] = {
    Effect.PAY: "moves money",
    Effect.DELETE: "removes or cancels something",
    Effect.SEND: "sends something",
    Effect.RUN: "runs code",
    Effect.WRITE: "changes something",
    Effect.READ: "only reads",
}
"""Phrases for the effects, the gravest effect first."""


def gravest(found: frozenset[Effect]) -> Effect:
    """Return the gravest of these effects; the set must not be empty."""
    return next(effect for effect in IN_WORDS if effect in found)


@dataclass(frozen=True, slots=True)
class GraveCommand:
    """A command that needs a review: its text, the reason, and the pattern to find it in a longer line."""

    typed: str
    why: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    verbs: dict[str, Words]
    nouns: Words
    reports: Words
    money: Words
    hands_over: Words
    shell: dict[str, Words]
    subcommands: dict[str, Words]
    asking: dict[str, Words]
    grave_commands: tuple[GraveCommand, ...]
    irreversible: tuple[str, ...]
    unread_code: tuple[str, ...]


WORDS = read_data(files(__package__) / "effects.yaml", _Vocabulary)


def _by_word(table: Mapping[str, frozenset[str]]) -> dict[str, frozenset[Effect]]:
    found: dict[str, set[Effect]] = {}
    for effect, words in table.items():
        for word in words:
            found.setdefault(word, set()).add(Effect(effect))
    return {word: frozenset(of) for word, of in found.items()}


VERBS, SHELL, SUBCOMMANDS = map(_by_word, (WORDS.verbs, WORDS.shell, WORDS.subcommands))
ASKING: dict[Effect, frozenset[str]] = {Effect(effect): words for effect, words in WORDS.asking.items()}
"""Words for each effect in a request."""
HANDOVER = WORDS.hands_over
"""Words in a tool's name for a handover of the conversation to a person or another agent."""
GRAVE_COMMANDS = WORDS.grave_commands
IRREVERSIBLE, UNREAD_CODE = (
    re.compile("|".join(patterns), re.IGNORECASE) for patterns in (WORDS.irreversible, WORDS.unread_code)
)
"""Patterns for commands that remove data permanently, and for commands that run unreviewed code."""
