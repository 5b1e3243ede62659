"""Effects: what a tool call does to the world, derived from the tool's name and its arguments.

Names may have any style (`sendEmail`, `send_email`, `mcp__mail__send`, `GmailSendEmail`). Arguments are searched for
shell commands, SQL, HTTP methods, code, money and messages, which say more than the name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

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


_WORDS = read_data(files(__package__) / "effects.yaml", _Vocabulary)


def _by_word(table: Mapping[str, frozenset[str]]) -> dict[str, frozenset[Effect]]:
    found: dict[str, set[Effect]] = {}
    for effect, words in table.items():
        for word in words:
            found.setdefault(word, set()).add(Effect(effect))
    return {word: frozenset(of) for word, of in found.items()}


_VERBS, _SHELL, _SUBCOMMANDS = map(_by_word, (_WORDS.verbs, _WORDS.shell, _WORDS.subcommands))
ASKING: dict[Effect, frozenset[str]] = {Effect(effect): words for effect, words in _WORDS.asking.items()}
"""Words by which people ask for an effect."""
HANDOVER = _WORDS.hands_over
"""Words in a tool's name for handing the conversation over to a person or another agent."""
GRAVE_COMMANDS = _WORDS.grave_commands
IRREVERSIBLE, UNREAD_CODE = (
    re.compile("|".join(patterns), re.IGNORECASE) for patterns in (_WORDS.irreversible, _WORDS.unread_code)
)
"""Commands that remove data for good, and commands that run unreviewed code."""
_LONG_VERBS = tuple(sorted((verb for verb in _VERBS if len(verb) > 3 or verb == "get"), key=len, reverse=True))
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NAMESPACE = re.compile(r"^.*(?:__|[./:])(?=\w)", re.DOTALL)
_LONGEST, _LONGEST_NAME = 20_000, 200


def effects(tool: str, arguments: Mapping[str, Any] | None = None) -> frozenset[Effect]:
    """Return the effects of calling the tool with these arguments, or an empty set if they are unknown.

    READ is left out if the call changes something; RUN is left out if its command only reads (`bash` with `ls`).
    """
    named = _name_effects(tool[:_LONGEST_NAME])
    told = frozenset(effect for name, value in _texts(arguments or {}) for effect in _of_argument(name, value, named))
    if Effect.RUN in named and told:
        named = frozenset()
    if Effect.READ not in named:
        told |= _argument_name_effects(arguments or {})
    both = named | told
    return both & CHANGING or both


def verbs(tool: str) -> tuple[str, ...]:
    """Return the words of a tool's name in lower case, without the namespace of its server."""
    name = tool.strip()[:_LONGEST_NAME]
    return _parts(_NAMESPACE.sub("", name, 1)) or _parts(name)


def is_verb(word: str) -> bool:
    """Return whether a word of a tool's name can name its effect."""
    return word in _VERBS


@lru_cache(maxsize=4096)
def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.lower() for part in _PARTS.findall(name))


_ON_SCREEN = frozenset({("open",), ("close",), ("press",), ("select",), ("type",)})
"""Names for operating a screen, which do not show an effect."""
_SHOWING = frozenset({("create",), ("open",), ("new",), ("start",), ("close",)})
_PANES = frozenset({"terminal", "browser", "tab", "window", "shell", "console"})
"""Programs that an agent opens to work in."""
_PAGES = frozenset({"page", "webpage", "website", "site", "url", "link"})
"""What an agent opens to read it."""


@lru_cache(maxsize=4096)
def _name_effects(tool: str) -> frozenset[Effect]:
    words = verbs(tool)
    if words in _ON_SCREEN or (words[:1] in _SHOWING and words[-1] in _PANES):
        return frozenset()
    if words[:1] == ("open",) and words[-1] in _PAGES:
        return frozenset({Effect.READ})
    if "transfer" in words and HANDOVER & set(words):
        return frozenset({Effect.SEND})
    deciding = _deciding_verb(words)
    if deciding is None:
        glued = next((verb for word in words[: len(words) == 1] for verb in _LONG_VERBS if word.startswith(verb)), None)
        return _VERBS[glued] if glued and glued not in _WORDS.nouns else frozenset()
    joined = [after for before, after in pairwise(words) if before in ("and", "or") and after in _VERBS]
    found = frozenset().union(_VERBS[deciding], *(_VERBS[word] for word in joined))
    pays = found & {Effect.SEND, Effect.WRITE} and _WORDS.money & set(words[-2:]) and "request" not in words
    return found | {Effect.PAY} if pays else found


def _deciding_verb(words: tuple[str, ...]) -> str | None:
    """Return the verb that determines the effect: the first plain verb, or a noun-like verb that is first or alone."""
    known = [word for word in words if word in _VERBS]
    plain = [word for word in known if word not in _WORDS.nouns]
    is_report = len(words) > 1 and words[-1] in _WORDS.reports
    if known and known[0] == words[0] and known[0] in _WORDS.nouns and not is_report:
        return known[0]
    if plain:
        return plain[0]
    if words and words[-1] in _WORDS.reports:
        return "read"
    return known[0] if known else None


def _texts(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[str, Any]] = list(arguments.items())
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(value.items())
        elif isinstance(value, (list, tuple)):
            texts = [part for part in value if isinstance(part, str)]
            command = len(texts) == len(value) and name.lower() in _COMMAND_NAMES
            waiting.extend([(name, shlex.join(texts))] if command else [(name, part) for part in value])
        elif isinstance(value, str):
            yield name, value[:_LONGEST]


_COMMAND_NAMES = frozenset({"command", "cmd", "commands", "shell", "bash", "script", "command_line", "argv"})
_CODE_NAMES = frozenset({"code", "python", "python_code", "source_code", "javascript", "expression_code"})
_SQL = re.compile(
    r"(?:^|;)\s*(?:(?P<read>select\b.{1,2000}\bfrom\b|show\s+(?:tables|databases)|explain\s+select|pragma\s)"
    r"|(?P<delete>delete\s+from\b|drop\s+(?:table|database|schema|view|index|user|column)\b|truncate\s+(?:table\s+)?\w+\s*;?$)"
    r"|(?P<write>insert\s+(?:or\s+\w+\s+)?into\b|update\s+[\w.\"`\[\]]+\s+set\b|replace\s+into\b|merge\s+into\b"
    r"|(?:create|alter)\s+(?:or\s+replace\s+)?(?:table|database|schema|view|index|user|role)\b|grant\s+.{1,200}\bto\b)"
    r"|(?P<code>exec(?:ute)?\s+\w+|call\s+\w+\s*\())",
    re.IGNORECASE | re.DOTALL,
)
_SQL_EFFECTS = {"read": Effect.READ, "delete": Effect.DELETE, "write": Effect.WRITE, "code": Effect.RUN}
_WITH_CHANGE = re.compile(r"^\s*with\b.*\b(delete\s+from|insert\s+into|update)\b", re.IGNORECASE | re.DOTALL)
_METHODS = {
    **dict.fromkeys(("get", "head", "options"), Effect.READ),
    **dict.fromkeys(("put", "patch"), Effect.WRITE),
    **{"post": Effect.SEND, "delete": Effect.DELETE},
}


def _of_argument(name: str, value: str, named: frozenset[Effect]) -> frozenset[Effect]:
    """Return the effects that one argument shows, or an empty set if it has no command, statement or method."""
    key = name.lower()
    if key in ("method", "http_method", "verb") and value.lower() in _METHODS:
        return frozenset({_METHODS[value.lower()]})
    if key in ("action", "operation", "op") and value.lower() in _VERBS:
        return _VERBS[value.lower()]
    if _WITH_CHANGE.match(value):
        return frozenset({Effect.WRITE})
    if statements := list(_SQL.finditer(value)):
        return frozenset(_SQL_EFFECTS[statement.lastgroup or "read"] for statement in statements)
    if key in _CODE_NAMES:
        return frozenset({Effect.RUN}) | code_effects(value)
    if key in _COMMAND_NAMES or (key in ("argument", "input", "query") and Effect.RUN in named):
        return shell_effects(value) or frozenset({Effect.RUN})
    return frozenset()


_CODE = (
    (Effect.DELETE, re.compile(r"\b(?:os\.(?:remove|unlink|rmdir)|shutil\.rmtree|\.unlink\(|fs\.(?:unlink|rm)\w*)")),
    (Effect.WRITE, re.compile(r"open\([^)\n]{1,200},\s*['\"][wax]|\.write_text\(|\.to_csv\(|fs\.writeFile")),
    (Effect.SEND, re.compile(r"\b(?:requests|httpx|axios)\.(?:post|put|patch)|smtplib|\.sendmail\(|socket\.connect")),
)


def code_effects(code: str) -> frozenset[Effect]:
    """Return the effects of a piece of code other than RUN, as far as its direct calls show them."""
    return frozenset(effect for effect, pattern in _CODE if pattern.search(code))


_SEPARATORS = re.compile(r"\|\||&&|[;\n|&]|\$\(|`")
_REDIRECT = re.compile(r"(?<![0-9&=<-])(?:[12]|&)?>{1,2}\s*(?!&)(?!/dev/null)[\w./~$\"']")
_BEFORE = frozenset({"sudo", "env", "time", "nohup", "command", "nice", "doas", "then", "do", "else", "xargs"})
_ASSIGNED = re.compile(r"^[A-Za-z_]\w*=")
_SENDING_CURL = re.compile(r"\s(?:-d|--data\S*|-F|--form|-T|--upload-file|--post-\w+)\b|-X\s*(?:POST|PUT|PATCH)|--json")


def shell_effects(line: str) -> frozenset[Effect]:
    """Return the effects of all commands in a shell line; READ only if every command only reads."""
    quoted = re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", lambda found: found[0].translate(_HIDDEN), line)
    found = frozenset(effect for part in _SEPARATORS.split(quoted) for effect in _command(part))
    if _REDIRECT.search(quoted):
        found |= {Effect.WRITE}
    return found & CHANGING or found


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
    return _subcommand_effects(head, rest) or _SHELL.get(head) or _SHELL.get(head.split(".")[0], frozenset())


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


_WITH_SUBCOMMANDS_WORDS = """
git pip pip3 pipx npm yarn pnpm apt apt-get yum dnf brew conda cargo gem go docker kubectl terraform helm aws
gcloud az uv poetry systemctl service
"""
_WITH_SUBCOMMANDS = frozenset(_WITH_SUBCOMMANDS_WORDS.split())


def _subcommand_effects(head: str, rest: list[str]) -> frozenset[Effect]:
    """Return the effects of the first known subcommand, WRITE if none is known, or no effects of other programs.

    In git, options that force, reset or delete add DELETE, except to adding, committing, starting and applying.
    """
    if head not in _WITH_SUBCOMMANDS:
        return frozenset()
    if head == "git" and rest[:1] in (["add"], ["commit"], ["start"], ["apply"]):
        return frozenset({Effect.WRITE})
    found = next((_SUBCOMMANDS[word] for word in rest[:3] if word in _SUBCOMMANDS), frozenset({Effect.WRITE}))
    forces = head == "git" and {"--hard", "--force", "-f", "-D", "--delete"} & set(rest)
    return found | {Effect.DELETE} if forces else found


_MONEY = frozenset({"amount", "price", "total", "sum", "payment", "value_usd", "amount_usd"})
_RECIPIENTS_WORDS = """
to recipient recipients recipient_id to_email to_address receiver payee payee_id to_account to_account_number
iban cc bcc channel phone_number email_to recipient_email
"""
RECIPIENTS = frozenset(_RECIPIENTS_WORDS.split())
"""Names of arguments that hold a recipient."""
_WORDS_TO_OTHERS = frozenset({"body", "message", "content", "text", "subject", "msg", "html"})


def _argument_name_effects(arguments: Mapping[str, Any]) -> frozenset[Effect]:
    keys = {key.lower() for key in arguments}
    if not keys & RECIPIENTS:
        return frozenset()
    found = {Effect.PAY} if keys & _MONEY else set()
    return frozenset(found | ({Effect.SEND} if keys & _WORDS_TO_OTHERS else set()))
