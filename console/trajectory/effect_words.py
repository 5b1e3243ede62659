"""Words of effects: what a call can do to the world, and the verbs, commands and nouns that show it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files

from console.trajectory.strict_yaml import Words, read_data


class Effect(StrEnum):
    """The effect of a call on the world; the values are shown to people."""

    READ = "read"
    WRITE = "write"
    PAY = "pay"
    SEND = "send"
    DELETE = "delete"
    RUN = "run code"


CHANGING = frozenset(Effect) - {Effect.READ}
"""The effects that change the world."""
IN_WORDS: dict[Effect, str] = {
    Effect.PAY: "moves money",
    Effect.DELETE: "removes or cancels something",
    Effect.SEND: "sends something",
    Effect.RUN: "runs code",
    Effect.WRITE: "changes something",
    Effect.READ: "only reads",
}
"""Effects as verbs for people, the gravest first."""


def gravest(found: frozenset[Effect]) -> Effect:
    """Return the gravest of these effects; the set must not be empty."""
    return next(effect for effect in IN_WORDS if effect in found)


@dataclass(frozen=True, slots=True)
class GraveCommand:
    """A command that needs a review: its text, the reason, and the pattern that finds it in a longer line."""

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
"""Words by which people ask for an effect."""
HANDOVER = WORDS.hands_over
"""Words in a tool's name for handing the conversation over to a person or another agent."""
GRAVE_COMMANDS = WORDS.grave_commands
IRREVERSIBLE, UNREAD_CODE = (
    re.compile("|".join(patterns), re.IGNORECASE) for patterns in (WORDS.irreversible, WORDS.unread_code)
)
"""Commands that remove data for good, and commands that run unreviewed code."""
