"""Rules and policies: the first rule that matches a call says what becomes of it, the strictest of several calls wins.

A rule whose conditions cannot be told (an argument is missing, the action is no call) ends in `ask`: it is never
passed over for a later one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache, partial

from console.auth.origin import Door
from console.gate.policy.expression import holds
from console.gate.policy.tool_calls import MAX_ARGUMENTS, ActionPart, action_parts
from console.trajectory import checkpoints
from console.trajectory.checkpoints import is_critical


class Then(StrEnum):
    """What becomes of a check, the strictest last: it runs, a detector judges it, a person is asked, it never runs."""

    ALLOW = "allow"
    JUDGE = "judge"
    ASK = "ask"
    DENY = "deny"


class PolicyMode(StrEnum):
    """Whether the rules decide, or only record what they would have done."""

    ENFORCE = "enforce"
    SHADOW = "shadow"


DEFAULT = "default"
"""The name that stands for a rule where none matched."""
STRICTNESS = tuple(Then)
UNSTATED_DOORS = (str(Door.BROWSER), str(Door.PYTHON))
"""The ways that a decision may come in by where a rule names none: a command asks for no session."""
DEADLINE_S = 1_800
"""The longest that anybody waits for a person; what is decided later does not count."""
_Whole = Callable[[tuple[str, ...]], bool]
"""Whether patterns match the action as a whole."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Conditions, all of which must hold (an empty one always does), what follows, and the terms of a decision.

    `tool`, `agent`, `environment` and `pattern` are globs of which one must match. `deadline_s` is in seconds, `doors`
    are the ways that a decision may come in by.
    """

    name: str
    then: Then
    tool: tuple[str, ...] = ()
    pattern: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    when: str = ""
    because: str = ""
    reviews: int = 1
    decisions: tuple[str, ...] = ()
    deadline_s: float | None = None
    who: tuple[str, ...] = ()
    doors: tuple[str, ...] = ()

    @property
    def is_unconditional(self) -> bool:
        """Whether it matches every check."""
        return not (self.tool or self.pattern or self.agent or self.environment or self.when)


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order, and what becomes of a check that none of them matches.

    `rollout` is the share of tasks, in (0, 1], that go by it; others go by the version before, or the common one.
    """

    rules: tuple[Rule, ...] = ()
    default: Then = Then.ASK
    mode: PolicyMode = PolicyMode.ENFORCE
    rollout: float = 1.0


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """What rules may speak of: the action as text, who asks, in which environment, for which task."""

    action: str
    agent: str = ""
    environment: str = ""
    task: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a policy says of one check: by which rule, for which tool, and on which terms a person decides."""

    then: Then
    rule: str
    tool: str = ""
    because: str = ""
    reviews: int = 1
    decisions: tuple[str, ...] = ()
    deadline_s: float | None = None
    who: tuple[str, ...] | None = None
    """Names and roles of those who may decide; None for anybody, empty for nobody."""
    doors: tuple[str, ...] = UNSTATED_DOORS
    """The ways that their decisions may come in by; empty for none."""


def ruling(policy: Policy, facts: CheckFacts, further: Sequence[str] = ()) -> Ruling:
    """What the policy says; an action that it allows and a `further` pattern matches, or that is long, is judged."""
    # Asked once for all parts: an action of many lines would be read as often as it has lines.
    whole = cache(partial(is_critical, facts.action))
    found = _strictest([_ruled(policy, facts, part, whole) for part in action_parts(facts.action)])
    is_long = len(facts.action) > MAX_ARGUMENTS
    if found.then is Then.ALLOW and further and (is_long or is_critical(facts.action, further)):
        return replace(found, then=Then.JUDGE)
    return found


def _strictest(found: Sequence[Ruling]) -> Ruling:
    first = max(found, key=lambda one: STRICTNESS.index(one.then))
    asking = [one for one in found if one.then in (Then.JUDGE, Then.ASK)]
    if len(asking) < 2 or first.then is Then.DENY:
        return first
    return replace(
        first,
        reviews=max(one.reviews for one in asking),
        decisions=_decisions(asking),
        deadline_s=min((one.deadline_s for one in asking if one.deadline_s is not None), default=None),
        who=_common(one.who for one in asking),
        doors=_common(one.doors for one in asking) or (),
    )


def _decisions(asking: Sequence[Ruling]) -> tuple[str, ...]:
    """The decisions that all of them offer; where they have none in common, the one that lets nothing run."""
    offered = _common(one.decisions or None for one in asking)
    return () if offered is None else offered or ("reject",)


def _common(lists: Iterable[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    stated = [each for each in lists if each is not None]
    return tuple(one for one in stated[0] if all(one in each for each in stated)) if stated else None


def _ruled(policy: Policy, facts: CheckFacts, part: ActionPart, whole: _Whole) -> Ruling:
    tool = part.call.names[-1] if part.call else ""
    for rule in policy.rules:
        matches = _matches(rule, facts, part, whole)
        if matches is None:
            return _of(replace(rule, then=Then.ASK), tool)
        if matches:
            return _of(rule, tool)
    return Ruling(policy.default, DEFAULT, tool)


def _of(rule: Rule, tool: str) -> Ruling:
    terms = (rule.reviews, rule.decisions, rule.deadline_s, rule.who or None, rule.doors or UNSTATED_DOORS)
    return Ruling(rule.then, rule.name, tool, rule.because, *terms)


def _matches(rule: Rule, facts: CheckFacts, part: ActionPart, whole: _Whole) -> bool | None:
    """Whether all conditions hold, None where it cannot be told."""
    if rule.agent and not _is_like((facts.agent,), rule.agent):
        return False
    if rule.environment and not _is_like((facts.environment,), rule.environment):
        return False
    if rule.pattern and not _fits(rule, part, whole):
        return False
    if rule.pattern and rule.then is Then.ALLOW and part.call is None and {*"([{"} & {*part.text}:
        return None
    if rule.tool and part.call is None:
        return None
    if rule.tool and part.call and not _is_like(part.call.names, rule.tool):
        return False
    return holds(rule.when, _variables(facts, part)) if rule.when else True


def _fits(rule: Rule, part: ActionPart, whole: _Whole) -> bool:
    """A pattern over the part; one that does not allow may also match the action as a whole.

    One that asks or denies finds a tool's name behind its namespaces too.
    """
    if is_critical(part.text, rule.pattern):
        return True
    if rule.then is not Then.ALLOW and whole(rule.pattern):
        return True
    names = part.call.names if part.call else ()
    # A thought is critical nowhere else, but here whatever stands behind it may run.
    return rule.then in (Then.ASK, Then.DENY) and _is_like((part.text.strip(), *names), rule.pattern)


def _variables(facts: CheckFacts, part: ActionPart) -> dict[str, object]:
    """What a condition may read; without a call there are neither `args` nor `tool`, and nobody can tell."""
    found: dict[str, object] = {"agent": facts.agent, "environment": facts.environment, "task": facts.task}
    if part.call is not None:
        found |= {"args": dict(part.call.arguments), "tool": part.call.names[-1]}
    return found


def _is_like(names: Sequence[str], globs: tuple[str, ...]) -> bool:
    return any(_glob(globs).fullmatch(name) for name in names)


@lru_cache(maxsize=1_024)
def _glob(globs: tuple[str, ...]) -> re.Pattern[str]:
    return checkpoints.globs(globs)
