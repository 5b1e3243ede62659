"""Effects: the effects of a tool call, derived from the tool's description, its name and its arguments.

Names may have any style and language (`console.trajectory.tools`). This module searches the arguments for shell
commands, SQL, HTTP methods, code, money and messages, which determine the effect more precisely than the name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from console.trajectory.shell_effects import CHANGING, HANDOVER, IN_WORDS, SHELL, VERBS, WORDS, Effect, shell_effects
from console.trajectory.strict_yaml import Pattern, read_data
from console.trajectory.tools import (
    LONGEST_NAME,
    ToolSchema,
    find_schema,
    foreign_effects,
    is_answering_name,
    is_ending_name,
    is_planning_name,
    list_words,
    name_foreign_effects,
)


class Kind(StrEnum):
    """The kind of a call: one word for the agent's act; UNKNOWN if the call does not show its kind."""

    ENDING = "ending"
    ANSWERING = "answering"
    PLANNING = "planning"
    READING = "reading"
    CHANGING = "changing"
    PAYING = "paying"
    SENDING = "sending"
    DELETING = "deleting"
    UNKNOWN = "unknown"


_KINDS = {
    Effect.PAY: Kind.PAYING,
    Effect.DELETE: Kind.DELETING,
    Effect.SEND: Kind.SENDING,
    Effect.RUN: Kind.UNKNOWN,
    Effect.WRITE: Kind.CHANGING,
    Effect.READ: Kind.READING,
}
TURNS = frozenset({Kind.ENDING, Kind.ANSWERING, Kind.PLANNING})
"""The kinds of calls that affect only the conversation."""


_LONG_VERBS = tuple(sorted((verb for verb in VERBS if len(verb) > 3 or verb == "get"), key=len, reverse=True))
_LONGEST = 20_000


def gravest(found: frozenset[Effect]) -> Effect:
    """Return the gravest of these effects; the set must not be empty."""
    return next(effect for effect in IN_WORDS if effect in found)


def find_kind(tool: str, arguments: Mapping[str, Any] | None = None, tools: Sequence[ToolSchema] = ()) -> Kind:
    """Return the kind of a call; UNKNOWN if schema, name and arguments do not show it, or if the call runs code."""
    if (turn := _turn(tool, arguments or {}, find_schema(tools, tool))) is not None:
        return turn
    found = effects(tool, arguments, tools)
    return _KINDS[gravest(found)] if found else Kind.UNKNOWN


def effects(
    tool: str, arguments: Mapping[str, Any] | None = None, tools: Sequence[ToolSchema] = ()
) -> frozenset[Effect]:
    """Return the effects of a call of the tool with these arguments; an empty set means unknown or no effects.

    Omit READ if the call changes something, and RUN if its command only reads (`bash` with `ls`). A call that ends,
    answers or plans has no effect.
    """
    schema = find_schema(tools, tool)
    if _turn(tool, arguments or {}, schema) is not None:
        return frozenset()
    if chosen := _operation_effects(arguments or {}):
        return chosen & CHANGING or chosen
    named = _schema_effects(tool[:LONGEST_NAME], schema)
    told = frozenset(effect for name, value in _texts(arguments or {}) for effect in _of_argument(name, value, named))
    if Effect.RUN in named and told:
        named = frozenset()
    if Effect.READ not in named:
        told |= _argument_name_effects(arguments or {})
    both = named | told
    return both & CHANGING or both


_NOTICES = frozenset({"notify", "send", "inform", "tell"})
"""Verbs of messages without a reply; such a call returns a tool's result."""


def is_message(tool: str) -> bool:
    """Return whether a tool's name means only that the agent talks to its user and waits for a reply."""
    words = list_words(tool)
    return is_answering_name(words) and not _NOTICES & {*words}


def _operation_effects(arguments: Mapping[str, Any]) -> frozenset[Effect]:
    """Return the effects of the verb with which an argument selects one of the tool's operations (`command`: view)."""
    for name, value in arguments.items():
        if name.lower() in _OPERATIONS and isinstance(value, str) and re.fullmatch(r"[^\W\d]{3,40}", value):
            words = list_words(value)
            if words and words[0] not in SHELL and (words[0] in VERBS or len(words) > 1):
                return _name_effects(value)
    return frozenset()


_OPERATIONS = frozenset({"action", "operation", "op", "command"})
_TARGET = re.compile(
    r"(?:^|_)(?:ids?|uid|uuid|pid|key|path|file|filename|url|email|phone|number|name|order|account|amount|price|currency"
    r"|product|recipients?|to|channel|container|instance|service|server|job|cmd|command|date)$|[a-z](?:Id|Ids|ID)$"
)
"""Names of arguments that refer to an object outside the conversation."""
_DESCRIBED = read_data(files(__package__) / "descriptions.yaml", dict[str, Pattern])
_TURNS_PATTERNS = [(kind, _DESCRIBED[kind]) for kind in (Kind.ENDING, Kind.ANSWERING, Kind.PLANNING)]


def _turn(tool: str, arguments: Mapping[str, Any], schema: ToolSchema | None) -> Kind | None:
    """Return ENDING, ANSWERING or PLANNING if the call affects only the conversation, else None."""
    needed = (*arguments, *(schema.parameter_names if schema else ()))
    if any(_TARGET.search(name) for name in needed):
        return None
    said = schema.summary if schema else ""
    described = next((kind for kind, pattern in _TURNS_PATTERNS if pattern.search(said)), None)
    if described is not None:
        return described
    words = list_words(tool)
    if is_planning_name(words):
        return Kind.PLANNING
    if said and _described_effects(said) & CHANGING:
        return None
    if is_ending_name(words):
        return Kind.ENDING
    return Kind.ANSWERING if is_answering_name(words) else None


def _schema_effects(tool: str, schema: ToolSchema | None) -> frozenset[Effect]:
    """Return the effects from the description and annotations of the schema, else from the name.

    A read-only description does not override a verb in the name that pays, sends or deletes.
    """
    named = _name_effects(tool)
    if schema is None or _hands_over(list_words(tool)):
        return named
    described = _described_effects(schema.summary)
    if schema.read_only and not described & CHANGING:
        described = frozenset({Effect.READ})
    if described == {Effect.READ} and _plain_effects(tool) & {Effect.PAY, Effect.SEND, Effect.DELETE}:
        return named
    if not (described or named) and (schema.read_only is False or schema.destructive):
        return frozenset({Effect.WRITE})
    return described or named


@lru_cache(maxsize=1024)
def _described_effects(summary: str) -> frozenset[Effect]:
    """Return the effects of the verb at the start of a description, or an empty set."""
    words = list_words(_DESCRIBED["opening"].sub("", summary.replace("/", " "), count=1)[:LONGEST_NAME])
    for word in words[:1]:
        for form in (
            word,
            word.removesuffix("s"),
            word.removesuffix("es"),
            word[:-3] + "y" if word[-3:] == "ies" else "",
        ):
            if form in VERBS and form != "return":
                return VERBS[form]
        return (
            frozenset({Effect.READ}) if word == "returns" else frozenset(map(Effect, name_foreign_effects(words[:2])))
        )
    return frozenset()


def _plain_effects(tool: str) -> frozenset[Effect]:
    """Return the effects of a name's verbs, without verbs that are often nouns."""
    plain = (word for word in list_words(tool) if word in VERBS and word not in WORDS.nouns)
    return frozenset(effect for word in plain for effect in VERBS[word])


def is_verb(word: str) -> bool:
    """Return whether a word of a tool's name is a verb with a known effect, in any supported language."""
    return word in VERBS or bool(foreign_effects(word))


_ON_SCREEN = frozenset({("open",), ("close",), ("press",), ("select",), ("type",)})
"""Names of screen operations; such a name does not show an effect."""
_SHOWING = frozenset({("create",), ("open",), ("new",), ("start",), ("close",)})
_PANES = frozenset({"terminal", "browser", "tab", "window", "shell", "console"})
"""Programs that an agent opens as a workspace."""
_PAGES = frozenset({"page", "webpage", "website", "site", "url", "link"})
"""Objects that an agent opens to read them."""


@lru_cache(maxsize=4096)
def _name_effects(tool: str) -> frozenset[Effect]:
    words = list_words(tool)
    if words in _ON_SCREEN or (words[:1] in _SHOWING and words[-1] in _PANES):
        return frozenset()
    if words[:1] == ("open",) and words[-1] in _PAGES:
        return frozenset({Effect.READ})
    if _hands_over(words):
        return frozenset({Effect.SEND})
    deciding = _deciding_verb(words)
    foreign = name_foreign_effects(words) if deciding is None or deciding in WORDS.nouns else frozenset()
    if foreign:
        return frozenset(map(Effect, foreign))
    if deciding is None:
        glued = next((verb for word in words[: len(words) == 1] for verb in _LONG_VERBS if word.startswith(verb)), None)
        return VERBS[glued] if glued and glued not in WORDS.nouns else frozenset()
    joined = [after for before, after in pairwise(words) if before in ("and", "or") and after in VERBS]
    found = frozenset().union(VERBS[deciding], *(VERBS[word] for word in joined))
    pays = found & {Effect.SEND, Effect.WRITE} and WORDS.money & set(words[-2:]) and "request" not in words
    return found | {Effect.PAY} if pays else found


def _hands_over(words: tuple[str, ...]) -> bool:
    return "transfer" in words and bool(HANDOVER & set(words))


def _deciding_verb(words: tuple[str, ...]) -> str | None:
    """Return the verb that determines the effect: the first plain verb, or a noun-like verb that is first or alone."""
    known = [word for word in words if word in VERBS]
    plain = [word for word in known if word not in WORDS.nouns]
    is_report = len(words) > 1 and words[-1] in WORDS.reports
    if known and known[0] == words[0] and known[0] in WORDS.nouns and not is_report:
        return known[0]
    if plain:
        return plain[0]
    if words and words[-1] in WORDS.reports:
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
    """Return the effects of one argument, or an empty set if it has no command, statement or method."""
    key = name.lower()
    if key in ("method", "http_method", "verb") and value.lower() in _METHODS:
        return frozenset({_METHODS[value.lower()]})
    if _WITH_CHANGE.match(value):
        return frozenset({Effect.WRITE})
    if statements := list(_SQL.finditer(value)):
        return frozenset(_SQL_EFFECTS[statement.lastgroup or "read"] for statement in statements)
    if key in _CODE_NAMES:
        return frozenset({Effect.RUN}) | frozenset(effect for effect, pattern in _CODE if pattern.search(value))
    if key in _COMMAND_NAMES or (key in ("argument", "input", "query") and Effect.RUN in named):
        return shell_effects(value) or frozenset({Effect.RUN})
    return frozenset()


_CODE = (
    (Effect.DELETE, re.compile(r"\b(?:os\.(?:remove|unlink|rmdir)|shutil\.rmtree|\.unlink\(|fs\.(?:unlink|rm)\w*)")),
    (Effect.WRITE, re.compile(r"open\([^)\n]{1,200},\s*['\"][wax]|\.write_text\(|\.to_csv\(|fs\.writeFile")),
    (Effect.SEND, re.compile(r"\b(?:requests|httpx|axios)\.(?:post|put|patch)|smtplib|\.sendmail\(|socket\.connect")),
)


_MONEY = frozenset({"amount", "price", "total", "sum", "payment", "value_usd", "amount_usd"})
_RECIPIENTS_WORDS = """
to recipient recipients recipient_id to_email to_address receiver payee payee_id to_account to_account_number
iban cc bcc channel phone_number email_to recipient_email
"""
RECIPIENTS = frozenset(_RECIPIENTS_WORDS.split())
"""Names of arguments that contain a recipient."""
_WORDS_TO_OTHERS = frozenset({"body", "message", "content", "text", "subject", "msg", "html"})


def _argument_name_effects(arguments: Mapping[str, Any]) -> frozenset[Effect]:
    keys = {key.lower() for key in arguments}
    if not keys & RECIPIENTS:
        return frozenset()
    found = {Effect.PAY} if keys & _MONEY else set()
    return frozenset(found | ({Effect.SEND} if keys & _WORDS_TO_OTHERS else set()))
