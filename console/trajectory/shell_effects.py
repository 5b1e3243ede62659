"""Possible effects of a call, the words that indicate an effect, and the effects of a line of shell commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
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


_SEPARATORS = re.compile(r"\|\||&&|[;\n|&]|\$\(|`")
_REDIRECT = re.compile(r"(?<![0-9&=<-])(?:[12]|&)?>{1,2}\s*(?!&)(?!/dev/null)[\w./~$\"']")
_BEFORE = frozenset({"sudo", "env", "time", "nohup", "command", "nice", "doas", "then", "do", "else", "xargs"})
_ASSIGNED = re.compile(r"^[A-Za-z_]\w*=")
_SENDING_CURL = re.compile(r"\s(?:-d|--data\S*|-F|--form|-T|--upload-file|--post-\w+)\b|-X\s*(?:POST|PUT|PATCH)|--json")


def shell_effects(line: str) -> frozenset[Effect]:
    """Return the effects of all commands in a shell line; include READ only if every command only reads."""
    line = _inner_line(line)
    quoted = re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", lambda found: found[0].translate(_HIDDEN), line)
    found = frozenset(effect for part in _SEPARATORS.split(quoted) for effect in _command(part))
    if _REDIRECT.search(quoted):
        found |= {Effect.WRITE}
    return found & CHANGING or found


_WRAPPED = re.compile(r"\s*(?:/[\w/]*/)?(?:ba|z|da|k)?sh\s+-[a-z]*c\s+(?=\S)", re.DOTALL)


def _inner_line(line: str) -> str:
    """Return the commands that a shell is started with, as in `bash -lc 'ls'`; else the line itself."""
    if found := _WRAPPED.match(line):
        with suppress(ValueError):
            words = shlex.split(line[found.end() :])
            return words[0] if len(words) == 1 else line
    return line


_HIDDEN = str.maketrans(dict.fromkeys(";|&>\n", " "))


def _command(part: str) -> frozenset[Effect]:
    words = part.replace("(", " ").replace(")", " ").split()
    while words and (words[0] in _BEFORE or _ASSIGNED.match(words[0])):
        words = words[1:]
    if not words:
        return frozenset()
    head, rest = words[0].strip("'\"").rsplit("/", 1)[-1], words[1:]
    if words[0].startswith(("./", "~/")):
        return frozenset({Effect.RUN})
    if head in ("curl", "wget"):
        return _web(part, rest)
    if head in ("find", "sed"):
        return _find_or_sed_effects(head, rest)
    return _subcommand_effects(head, rest) or SHELL.get(head) or SHELL.get(head.split(".")[0], frozenset())


def _web(part: str, rest: list[str]) -> frozenset[Effect]:
    if re.search(r"-X\s*DELETE", part):
        return frozenset({Effect.DELETE})
    if _SENDING_CURL.search(part):
        return frozenset({Effect.SEND})
    keeps = {"-o", "-O", "--output"} & set(rest)
    return frozenset({Effect.WRITE if keeps else Effect.READ})


def _find_or_sed_effects(head: str, rest: list[str]) -> frozenset[Effect]:
    """Return the effects of `find` or `sed`, which only read unless an option makes them change files."""
    if head == "find" and ("-delete" in rest or {"rm", "shred"} & set(rest)):
        return frozenset({Effect.DELETE})
    changes = head == "sed" and any(word.startswith(("-i", "--in-place")) for word in rest)
    return frozenset({Effect.WRITE if changes or "-exec" in rest else Effect.READ})


WITH_SUBCOMMANDS_WORDS = """
git pip pip3 pipx npm yarn pnpm apt apt-get yum dnf brew conda cargo gem go docker kubectl terraform helm aws
gcloud az uv poetry systemctl service
"""
WITH_SUBCOMMANDS = frozenset(WITH_SUBCOMMANDS_WORDS.split())


def _subcommand_effects(head: str, rest: list[str]) -> frozenset[Effect]:
    """Return the effects of the first known subcommand, else WRITE; return an empty set for unlisted programs.

    In git, options that force, reset or delete add DELETE, except for adding, committing, starting and applying.
    """
    if head not in WITH_SUBCOMMANDS:
        return frozenset()
    if head == "git" and rest[:1] in (["add"], ["commit"], ["start"], ["apply"]):
        return frozenset({Effect.WRITE})
    found = next((SUBCOMMANDS[word] for word in rest[:3] if word in SUBCOMMANDS), frozenset({Effect.WRITE}))
    forces = head == "git" and {"--hard", "--force", "-f", "-D", "--delete"} & set(rest)
    return found | {Effect.DELETE} if forces else found
