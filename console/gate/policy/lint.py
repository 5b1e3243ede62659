"""Warnings about a valid policy: hidden rules, terms that no decision can meet, and likely mistakes in conditions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from sqlmodel import Session

from console.auth.people import Role, list_groups, list_people, name_key, roles_of
from console.gate.policy.expression import holds, result_tools
from console.gate.policy.rules import LOOSENING, Policy, Rule, Then
from console.trajectory.calls import name_segments

Known = Mapping[str, Collection[str]]
"""The roles and groups (`group:NAME`) of each enabled person, by name key."""

_ROLES = tuple(map(str, (Role.REVIEWER, Role.RESEARCHER, Role.ADMIN)))
_SEPARATORS = (".", "/", ":", "__")
_TEXT = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
_HINTS = re.compile(r"(?<![\w.])hints\.")
_REGEX = re.compile(rf"\.\s*matches\s*\(\s*(?P<text>{_TEXT})\s*\)")
_ARGUMENT = r"args\s*(?:\.\s*(?P<name>\w+)|\[\s*[\"'](?P<key>\w+)[\"']\s*\])"
_NUMBER = r"-?\s*\.?\d"
_RIGHT = re.compile(rf"{_ARGUMENT}\s*(?P<sign><=?|>=?|==)\s*{_NUMBER}")
_LEFT = re.compile(rf"\d\s*(?P<sign><=?|>=?|==)\s*{_ARGUMENT}")


def list_warnings(policy: Policy, known: Known | None = None) -> list[str]:
    """Return a sentence per problem, in the order of the rules; without `known`, names of people are not checked."""
    found: list[str] = []
    for place, rule in enumerate(policy.rules):
        found += _hidden(rule, policy.rules[:place])
        found += _overlaps(rule, policy.rules[:place])
        found += _unmet(rule, known)
        found += _faulty_conditions(rule)
        found += _unrecorded(rule, policy)
        found += _unbelieved(rule, policy)
    return found


def list_known_people(session: Session) -> Known:
    """Return the enabled people for `list_warnings`."""
    people = {
        name_key(one.name): set(map(str, roles_of(one.roles))) for one in list_people(session) if not one.disabled_ms
    }
    for group, members in list_groups(session).items():
        for member in members:
            if name_key(member) in people:
                people[name_key(member)].add(f"group:{name_key(group)}")
    return people


def _hidden(rule: Rule, earlier: Sequence[Rule]) -> Iterator[str]:
    before = next((one for one in earlier if _matches_all(one)), None)
    if before is not None:
        yield f"Rule {rule.name!r} is never reached, since {before.name!r} before it matches every action."


def _matches_all(rule: Rule) -> bool:
    is_narrowed = rule.agent or rule.environment or rule.when or (rule.tool and rule.pattern)
    return not is_narrowed and "*" in (*rule.tool, *rule.pattern)


def _overlaps(rule: Rule, earlier: Sequence[Rule]) -> Iterator[str]:
    """Yield a warning for each earlier rule that allows an action denied by this rule."""
    if rule.then is not Then.DENY:
        return
    for allows in (one for one in earlier if one.then is Then.ALLOW):
        if _meet(allows.agent, rule.agent) and _meet(allows.environment, rule.environment):
            pairs = ((one, other) for one in _tools(allows) for other in _tools(rule) if _share_name(one, other))
            if (pair := next(pairs, None)) is not None:
                yield (
                    f"Rule {allows.name!r} allows ({pair[0]}) before {rule.name!r} denies ({pair[1]}): for a tool that "
                    "both match, the action runs. Put the rule that denies first."
                )


def _meet(some: Sequence[str], others: Sequence[str]) -> bool:
    return not some or not others or any(_intersect(one, other) for one in some for other in others)


def _tools(rule: Rule) -> Sequence[str]:
    """Return the globs over tool names that the rule states in `tool`, or in the heads of its patterns."""
    heads = tuple(_head(pattern) for pattern in rule.pattern)
    return rule.tool or heads or ("*",)


def _head(pattern: str) -> str:
    sign = re.search(r"[=(\[]", pattern)
    head = (pattern[: sign.start()] if sign else pattern).strip()
    return head.rpartition(".")[0] if sign and sign[0] == "=" and "." in head else head


def _share_name(allowed: str, denied: str) -> bool:
    """Return whether a tool name exists that matches both the allowed and the denied glob."""
    if _intersect(allowed, denied):
        return True
    # An allow rule for a last name is also for that name behind any namespace.
    behind = len(name_segments(allowed)) == 1 and len(name_segments(denied)) > 1
    return behind and any(_intersect(f"*{separator}{allowed}", denied) for separator in _SEPARATORS)


def _intersect(one: str, other: str) -> bool:
    """Return whether some text matches both globs, ignoring case."""
    first, second = one.casefold(), other.casefold()

    @cache
    def meets(i: int, j: int) -> bool:
        if i == len(first) and j == len(second):
            return True
        if i < len(first) and first[i] == "*":
            return meets(i + 1, j) or (j < len(second) and meets(i, j + 1))
        if j < len(second) and second[j] == "*":
            return meets(i, j + 1) or (i < len(first) and meets(i + 1, j))
        if i == len(first) or j == len(second):
            return False
        return (first[i] == second[j] or "?" in (first[i], second[j])) and meets(i + 1, j + 1)

    return meets(0, 0)


def _unmet(rule: Rule, known: Known | None) -> Iterator[str]:
    """Yield a warning for each term that prevents every decision from letting the action run."""
    if rule.decisions and not {"approve", "edit"} & {*rule.decisions}:
        yield f"Rule {rule.name!r} offers only {', '.join(rule.decisions)}, so its actions never run. Write then: deny."
    stated = {word: _held(word) for word in rule.who if word != "others"}
    able: set[str] = set()
    for word, held in stated.items():
        own = {key for key, kept in (known or {}).items() if held in kept} if held else {name_key(word)}
        own = own if known is None else own & {*known}
        if known is not None and not own and held not in _ROLES:
            yield f"Rule {rule.name!r} names {word!r}, who is not an enabled person, a role or a group."
        able |= own
    is_counted = len(stated) == len(rule.who) and not rule.widen and (known is not None or not any(stated.values()))
    if rule.who and is_counted and 0 < len(able) < rule.reviews:
        yield f"Rule {rule.name!r} requires {rule.reviews} reviews, but only {len(able)} of its people can decide."
    elif known and not rule.who and rule.then is Then.ASK and len(known) < rule.reviews:
        yield f"Rule {rule.name!r} requires {rule.reviews} reviews, but only {len(known)} people have access."


def _held(word: str) -> str:
    """Return the role or group in a word of `who`, as in `list_known_people`, or "" if the word is a person's name."""
    if word.startswith("group:"):
        return f"group:{name_key(word.removeprefix('group:'))}"
    role = word.removeprefix("role:")
    return role if role in _ROLES else ""


def _faulty_conditions(rule: Rule) -> Iterator[str]:
    for found in _REGEX.finditer(rule.when):
        # The evaluator itself tells whether the expression can be used.
        if holds(f"tool.matches({found['text']})", {"tool": ""}) is None:
            yield f"Rule {rule.name!r} uses {found['text']}, an invalid regular expression; the rule always asks."
    if rule.then in LOOSENING:
        for name in _bounded_above(rule.when):
            yield (
                f"Rule {rule.name!r} limits args.{name} from above only, so a negative number passes. Add "
                f"args.{name} >= 0."
            )


def _unrecorded(rule: Rule, policy: Policy) -> Iterator[str]:
    """Yield a warning for each tool whose recorded results the rule needs but whose calls the policy allows at once."""
    for tool in result_tools(rule.when) if rule.then in LOOSENING else ():
        naming = (each for each in policy.rules if any(_intersect(glob, tool) for glob in _tools(each)))
        first = next(naming, None)
        if (first.then if first else policy.default) is Then.ALLOW:
            who = f"rule {first.name!r}" if first else "`default`"
            yield (
                f"Rule {rule.name!r} needs recorded results of {tool!r}, but {who} allows it at once, so none is "
                "recorded. Use `then: judge` there."
            )


def _unbelieved(rule: Rule, policy: Policy) -> Iterator[str]:
    if _HINTS.search(rule.when) and not policy.hints_from:
        yield (
            f"Rule {rule.name!r} reads hints, but the policy trusts no agent's hints. Add the name of your gateway's "
            "agent: `hints_from: [NAME]`."
        )


def _bounded_above(condition: str) -> list[str]:
    """Return the arguments that the condition compares with an upper limit but with no lower limit."""
    above: dict[str, None] = {}
    below: set[str] = set()
    for compared, is_left in ((_RIGHT, False), (_LEFT, True)):
        for found in compared.finditer(condition):
            name, is_less = found["name"] or found["key"], found["sign"].startswith("<")
            if is_less != is_left and found["sign"] != "==":
                above[name] = None
            else:
                below.add(name)
    return [name for name in above if name not in below]
