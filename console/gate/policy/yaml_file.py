"""A policy as YAML, read strictly: what is unknown, twice there or out of place is refused with its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NoReturn

import yaml

from console.auth.origin import Door
from console.errors import BadInput
from console.gate.policy.expression import check_expression
from console.gate.policy.rules import Policy, PolicyMode, Rule, Then

MAX_TEXT = 65_536
"""Characters of one policy."""
MAX_RULES = 200
DECISIONS = ("approve", "reject", "edit")
"""What a rule may offer; words to the agent and passing an item on let nothing run, so they are always there."""

DOORS = (str(Door.BROWSER), str(Door.CLI), str(Door.PYTHON))
"""The ways that a decision can come in by: a page, a command, a program that has the database open."""

_GLOB = re.compile(r"[\w.*?-]+")
_COMPARED = r"^\s*[\w.*?-]+\s*(?:[<>!]=|[<>]\s*[-+.]?\d[\d.,_]*\s*$)"
_SENSELESS = re.compile(rf"^\s*[!<>=^]|=\s*[<>!=]|{_COMPARED}|\[[!^]?\w-\w[^\[\]]*\]")
_MAX_DEADLINE_S = 30 * 24 * 3600


@lru_cache(maxsize=256)
def read_policy(text: str) -> Policy:
    """The policy that the text says; raises BadInput with the line and the reason."""
    if len(text) > MAX_TEXT:
        raise BadInput(f"The policy has {len(text):,} characters; keep it under {MAX_TEXT:,}.")
    fields = _mapping(_document(text), "a policy", ("default", "rules", "mode", "rollout"))
    rules = _rules(fields["rules"]) if "rules" in fields else ()
    return Policy(
        rules=rules,
        default=Then(_one_of(fields["default"], tuple(Then))) if "default" in fields else Then.ASK,
        mode=PolicyMode(_one_of(fields["mode"], tuple(PolicyMode))) if "mode" in fields else PolicyMode.ENFORCE,
        rollout=_share(fields["rollout"]) if "rollout" in fields else 1.0,
    )


def from_patterns(patterns: Sequence[str]) -> str:
    """The policy of a gate that knows patterns alone: what they match is judged, everything else asks a person."""
    rules = [{"pattern": pattern, "then": str(Then.JUDGE)} for pattern in dict.fromkeys(patterns) if pattern.strip()]
    written: str = yaml.safe_dump({"default": str(Then.ASK), "rules": rules}, sort_keys=False, allow_unicode=True)
    return written


def check_pattern(pattern: str) -> None:
    """Raises BadInput for a pattern that looks like a comparison or a class of characters, since it matches neither."""
    if not pattern.strip() or _SENSELESS.search(pattern):
        raise BadInput(
            f"The pattern {pattern!r} would match its own signs only: patterns know * and ?, and numbers are compared "
            "by a policy (`when: args.amount > 100`)."
        )


def _document(text: str) -> yaml.Node:
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise BadInput("The policy uses an alias (*name); write out what it stands for.")
        found = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as unreadable:
        mark = getattr(unreadable, "problem_mark", None)
        where = f"Line {mark.line + 1}: " if mark else ""
        raise BadInput(f"{where}this is no YAML ({getattr(unreadable, 'problem', None) or unreadable}).") from None
    except (ValueError, RecursionError) as unreadable:
        raise BadInput(f"This is no YAML ({type(unreadable).__name__}).") from None
    if found is None:
        raise BadInput("The policy is empty; say at least `default: ask`.")
    return found


def _rules(node: yaml.Node) -> tuple[Rule, ...]:
    if not isinstance(node, yaml.SequenceNode):
        _refuse(node, "rules is a list, each rule under a dash")
    if len(node.value) > MAX_RULES:
        _refuse(node, f"there are {len(node.value)} rules; a policy has at most {MAX_RULES}")
    rules: list[Rule] = []
    for place, each in enumerate(node.value, 1):
        rule = _rule(each, place)
        if rule.name in [other.name for other in rules] or rule.name == "default":
            _refuse(each, f"the name {rule.name!r} is taken")
        if rules and rules[-1].is_unconditional:
            _refuse(each, f"nothing reaches this rule, since {rules[-1].name!r} before it has no condition")
        rules.append(rule)
    return tuple(rules)


_TERMS = ("reviews", "decisions", "deadline", "who", "doors")


def _rule(node: yaml.Node, place: int) -> Rule:
    fields = _mapping(node, "a rule", ("then", "name", *_READERS))
    if "then" not in fields:
        _refuse(node, f"the rule says no `then`; it is one of {', '.join(Then)}")
    then = Then(_one_of(fields["then"], tuple(Then)))
    if then in (Then.ALLOW, Then.DENY) and (terms := [name for name in _TERMS if name in fields]):
        _refuse(fields[terms[0]], f"{terms[0]} is for rules that may ask a person; nobody decides where it is {then}")
    name = _text(fields["name"]) if "name" in fields else f"rule {place}"
    read: dict[str, Any] = {
        _COLUMNS.get(field, field): _READERS[field](value) for field, value in fields.items() if field in _READERS
    }
    return Rule(name=name, then=then, **read)


def _mapping(node: yaml.Node, what: str, known: Sequence[str]) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        _refuse(node, f"{what} is written as `name: value` lines")
    fields: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value not in known:
            _refuse(key, f"{str(key.value)[:40]!r} is no field of {what}; there are {', '.join(known)}")
        if key.value in fields:
            _refuse(key, f"{key.value} is there twice")
        fields[key.value] = value
    return fields


def _text(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null" or not node.value.strip():
        _refuse(node, "a text is expected here")
    if len(node.value) > 2_000 or not node.value.replace("\n", " ").isprintable():
        _refuse(node, "the text is too long, or holds signs that cannot be shown")
    return str(node.value).strip()


def _texts(node: yaml.Node) -> tuple[str, ...]:
    if not isinstance(node, yaml.SequenceNode):
        return (_text(node),)
    if not node.value:
        _refuse(node, "the list is empty, so the rule would never match")
    return tuple(_text(each) for each in node.value)


def _tools(node: yaml.Node) -> tuple[str, ...]:
    globs = _texts(node)
    for glob in globs:
        if not _GLOB.fullmatch(glob):
            _refuse(node, f"{glob!r} is no tool's name: letters, digits and . _ - with * and ?")
    return globs


def _condition(node: yaml.Node) -> str:
    text = _text(node)
    try:
        check_expression(text)
    except BadInput as refused:
        _refuse(node, str(refused).rstrip("."))
    return text


def _each_of(node: yaml.Node, words: Sequence[str], what: str) -> tuple[str, ...]:
    found = _texts(node)
    for each in found:
        if each not in words:
            _refuse(node, f"{each!r} is no {what}; there are {', '.join(words)}")
    return found


def _reviews(node: yaml.Node) -> int:
    if node.tag != "tag:yaml.org,2002:int" or not str(node.value).isdecimal() or not 1 <= int(node.value) <= 20:
        _refuse(node, "reviews is a whole number from 1 to 20")
    return int(node.value)


def _deadline(node: yaml.Node) -> float:
    is_number = node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
    try:
        seconds = float(node.value) if is_number else -1.0
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= _MAX_DEADLINE_S:
        _refuse(node, "deadline is a number of seconds, more than 0 and at most 1,800")
    return seconds


def _share(node: yaml.Node) -> float:
    found = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)\s*%", str(node.value))
    if not isinstance(node, yaml.ScalarNode) or not found or not 0 < float(found[1]) <= 100:
        _refuse(node, "rollout is a share of tasks such as 25%")
    return float(found[1]) / 100


def _one_of(node: yaml.Node, words: Sequence[str]) -> str:
    if not isinstance(node, yaml.ScalarNode) or node.value not in words:
        _refuse(node, f"{node.value if isinstance(node, yaml.ScalarNode) else 'this'!r} is none of {', '.join(words)}")
    return str(node.value)


def _refuse(node: yaml.Node, reason: str) -> NoReturn:
    raise BadInput(f"Line {node.start_mark.line + 1}: {reason}.")


_READERS: Mapping[str, Callable[[yaml.Node], Any]] = {
    "tool": _tools,
    "pattern": _texts,
    "agent": _texts,
    "environment": _texts,
    "when": _condition,
    "because": _text,
    "reviews": _reviews,
    "decisions": partial(_each_of, words=DECISIONS, what="decision that a rule offers"),
    "deadline": _deadline,
    "who": _texts,
    "doors": partial(_each_of, words=DOORS, what="way that a decision comes in by"),
}
_COLUMNS = {"deadline": "deadline_s"}
